"""Writes capture logs as a recorder does, with a clock that tests control.

Each record takes a millisecond, and the recording began at `STARTED_AT`. The log is locked while
the writer is open, as a running recorder locks it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import (
    BASE,
    BASE_SIZE,
    HEADER,
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    pack_fields,
)
from acp_proxy.store.files import database
from acp_proxy.store.indexing.earlier_rows import mask_earlier
from acp_proxy.store.indexing.indexer import BATCH, Indexer
from acp_proxy.store.log.log_reader import LogReader
from tests.support.indexed_rows import empty_database, new_database

if TYPE_CHECKING:
    import sqlite3
    from types import TracebackType

WALL_NS = 1_750_000_000 * 10**9
STARTED_AT = "2025-06-15T15:06:40.000000+00:00"
ORIGIN_NS = 5 * 10**9
MS = 10**6


class LogWriter:
    """A capture log that a test writes; without `close`, it looks as if its recorder was killed.

    Attributes:
        path: the path of the database, which may not exist yet.
        log_path: the path of the log.
        t_ns: the time since the start of the recording.
    """

    def __init__(self, path: Path, **start: Any) -> None:
        self.path = path
        self._began_ns = began_ns = start.pop("began_ns", ORIGIN_NS)
        self.log_path = Path(f"{path}.log")
        self.t_ns = 0
        self._fd = os.open(self.log_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(self._fd, base_record(0))
        fields = {
            "id": "c0ffee000001",
            "name": path.stem,
            "tool_version": "0.1.0",
            "wall": WALL_NS,
            "origin": began_ns,
            "arg": ["agent", "--acp"],
            "cwd": "/srv/project",
            "platform": "Linux x86_64",
            "dialect": "auto",
            "redaction": "none",
            "connection_id": "c0ffee000001",
            "pid": 4711,
        }
        self.event(capture_log.START, **{**fields, **start})

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.abandon()

    def abandon(self) -> None:
        """Closes and unlocks the log without its last records, as if the recorder was killed."""
        with contextlib.suppress(OSError):
            os.close(self._fd)
        self._fd = -1

    def to_agent(self, *messages: Any) -> None:
        """Writes messages of the client, each in a separate chunk."""
        for message in messages:
            self.chunk(TO_AGENT, line(message))

    def to_client(self, *messages: Any) -> None:
        """Writes messages of the agent, each in a separate chunk."""
        for message in messages:
            self.chunk(TO_CLIENT, line(message))

    def stderr(self, text: str) -> None:
        """Writes a line of the agent's stderr."""
        self.chunk(STDERR, text.encode() + b"\n")

    def chunk(self, stream: int, data: bytes) -> None:
        """Writes a chunk of a stream."""
        self._record(capture_log.DATA, stream, data)

    def event(self, kind: int, stream: int = 0, **fields: Any) -> None:
        """Writes an event, with its fields."""
        self._record(kind, stream, pack_fields(fields))

    def end(self, code: int = 0) -> None:
        """Writes the end of all streams and the agent's exit."""
        for stream in (TO_AGENT, TO_CLIENT, STDERR):
            self.event(capture_log.END, stream, reason="end of file")
        self.event(capture_log.EXIT, code=code)

    def close(self, reason: str = "the client closed its end") -> None:
        """Writes the last record, which makes the recording complete."""
        self.event(capture_log.CLOSE, reason=reason)

    def index(self, most: int = sys.maxsize) -> None:
        """Turns the log into rows of the database, as a recorder does when it is quiet.

        Args:
            most: about how many bytes of the log to index.
        """
        with contextlib.closing(self._database()) as connection:
            indexer = Indexer(connection, LogReader(self._fd))
            while most > 0 and (indexed := indexer.step(min(most, BATCH))):
                most -= indexed

    def trim(self) -> None:
        """Empties the log, all of whose records must be rows of the database already."""
        upto = LogReader(self._fd).end
        with contextlib.closing(self._database()) as connection:
            masking = Indexer(connection, LogReader(self._fd)).masking_record()
        os.ftruncate(self._fd, 0)
        os.write(self._fd, base_record(upto))
        if masking:
            self._record(capture_log.MASKING, 0, masking)

    def finish(self) -> None:
        """Indexes the rest of the log, closes the database and removes the log."""
        if self.path.exists():
            connection = self._database()
            self._finish(connection)
            database.close(connection)
        else:  # in memory, which is faster
            with new_database() as connection:
                connection.execute("PRAGMA secure_delete=ON")  # as `database.create` sets it
                self._finish(connection)
                self._place(connection.serialize())
        self.log_path.unlink()

    def _finish(self, connection: sqlite3.Connection) -> None:
        indexer = Indexer(connection, LogReader(self._fd))
        while indexer.step():
            pass
        indexer.settle()
        mask_earlier(indexer)

    def _database(self) -> sqlite3.Connection:
        if not self.path.exists():
            self._place(empty_database())
        return database.create(self.path)

    def _place(self, data: bytes) -> None:
        self.path.touch(0o600)
        self.path.write_bytes(data)

    def _record(self, kind: int, stream: int, payload: bytes) -> None:
        header = HEADER.pack(
            capture_log.MAGIC, kind, stream, len(payload), self._began_ns + self.t_ns
        )
        os.write(self._fd, header + payload)
        self.t_ns += MS


def behind(indexer: Indexer) -> int:
    """Returns how many bytes of a log are not in committed rows yet."""
    return indexer.log.end - indexer.state.offset


def base_record(offset: int) -> bytes:
    """Returns the first record of a log, which says how many bytes were removed before it."""
    record = HEADER.pack(capture_log.MAGIC, BASE, 0, 8, 0) + offset.to_bytes(8, "little")
    assert len(record) == BASE_SIZE
    return record


def line(message: Any) -> bytes:
    """Returns a message as a line; bytes are returned unchanged."""
    if isinstance(message, bytes):
        return message
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def request(rpc_id: Any, method: str, **params: Any) -> dict[str, Any]:
    """Returns a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": rpc_id, "method": method, "params": params}


def notification(method: str, **params: Any) -> dict[str, Any]:
    """Returns a JSON-RPC notification."""
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(rpc_id: Any, **value: Any) -> dict[str, Any]:
    """Returns a JSON-RPC response with a result."""
    return {"jsonrpc": "2.0", "id": rpc_id, "result": value}


def error(rpc_id: Any, code: int, message: str) -> dict[str, Any]:
    """Returns a JSON-RPC response with an error."""
    return {"jsonrpc": "2.0", "id": rpc_id, "error": {"code": code, "message": message}}


def text(content: str) -> dict[str, Any]:
    """Returns a content block of text."""
    return {"type": "text", "text": content}


def update(session: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Returns the notification of a session update."""
    return notification(
        "session/update", sessionId=session, update={"sessionUpdate": kind, **fields}
    )


def handshake(recorder: LogWriter) -> None:
    """Writes `initialize` and its response into a log."""
    recorder.to_agent(
        request(0, "initialize", protocolVersion=1, clientInfo={"name": "ed", "version": "1.2"})
    )
    recorder.to_client(result(0, protocolVersion=1, agentInfo={"name": "ag", "version": "3.4"}))


def write_conversation(recorder: LogWriter) -> None:
    """Writes a session with a turn, a tool call, a permission, an error and an open request.

    Each line below has the number of its frame or event in the recording; the start is number 1.
    """
    handshake(recorder)  # 2, 3
    recorder.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[]))  # 4
    recorder.to_client(result(1, sessionId="s-1"))  # 5
    recorder.to_agent(
        request(2, "session/prompt", sessionId="s-1", prompt=[text("hello 你好")])
    )  # 6
    recorder.to_client(
        update("s-1", "agent_message_chunk", content=text("Hi")),  # 7
        update("s-1", "tool_call", toolCallId="c-1", title="Edit", status="pending"),  # 8
        request(
            0,
            "session/request_permission",
            sessionId="s-1",
            toolCall={"toolCallId": "c-1", "title": "Edit"},
            options=[{"optionId": "y", "kind": "allow_once"}],
        ),  # 9
    )
    recorder.to_agent(result(0, outcome={"outcome": "selected", "optionId": "y"}))  # 10
    recorder.to_client(
        request(1, "fs/read_text_file", sessionId="s-1", path="/srv/project/a.py"),  # 11
    )
    recorder.to_agent(error(1, -32001, "no such file"))  # 12
    recorder.stderr("agent: careful")  # 13
    recorder.to_client(
        update("s-1", "tool_call_update", toolCallId="c-1", status="completed"),  # 14
        result(2, stopReason="end_turn"),  # 15
    )
    recorder.to_agent(request(3, "session/set_mode", sessionId="s-1", modeId="code"))  # 16
    recorder.to_client(b"not json\r\n", b"\n", b"unfinished")  # 17, 18; 20 when it ends
    recorder.end(code=3)  # 19 to-agent, 20 the unfinished line, 21 to-client, 22 stderr, 23 exit


def record_conversation(path: Path, **start: Any) -> Path:
    """Makes a complete recording of `write_conversation`, as a single file."""
    with LogWriter(path, **start) as recorder:
        write_conversation(recorder)
        recorder.close()
        recorder.finish()
    return path
