"""A secret that is recognized late is also masked in rows that were written before."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_proxy.record.capture.new_recording import secret_hashes
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import MARKER_KEY, TO_CLIENT
from acp_proxy.redaction.markers import MARKER
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.indexing.earlier_rows import mask_earlier
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.indexing.indexer_state import load_state
from acp_proxy.store.reader import RecordingReader
from tests.support.capture_logs import reader
from tests.support.command_line import run
from tests.support.indexed_rows import TABLES, query
from tests.support.log_writer import LogWriter, line, notification, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

SECRET = "Zq81xplKsecR7tv/+Yb"
KEY = "0123456789abcdef" * 2


def new_session() -> dict[str, Any]:
    """Returns a request that passes a secret to an MCP server."""
    server = {"name": "x", "command": "y", "args": [], "env": [{"name": "MODE", "value": SECRET}]}
    return request(1, "session/new", cwd="/srv/project", mcpServers=[server])


def write(recorder: LogWriter, *, with_secret: bool = True) -> None:
    """Writes a conversation that contains a secret before the message that reveals it."""
    info = {"name": f"editor of {SECRET}", "version": "1"}
    recorder.to_agent(request(0, "initialize", protocolVersion=1, clientInfo=info))
    recorder.to_client(result(0, protocolVersion=1))
    recorder.stderr(f"started with {SECRET}")
    recorder.to_client(b"no JSON, but " + SECRET.encode() + b"\n")
    recorder._record(capture_log.PART, TO_CLIENT, line(notification("x", text=SECRET)))
    recorder.event(capture_log.MADE, TO_CLIENT, rule="r", action="inject")
    for piece in ("it is ", SECRET[:5], SECRET[5:9], SECRET[9:], " as you see"):
        recorder.to_client(update("s1", "agent_message_chunk", content=text(piece)))
    recorder.to_agent(request(7, "session/prompt", sessionId=SECRET, prompt=[text(SECRET)]))
    recorder.event(capture_log.NOTE, action="x", reason=f"because of {SECRET}")
    if with_secret:
        recorder.to_agent(new_session())
    recorder.to_client(result(1, sessionId="s1"))
    recorder.end()
    recorder.close()


def masking_log(path: Path, **start: Any) -> LogWriter:
    """Returns the log of a recorder that masks secrets."""
    fields = {"redaction": "secrets", MARKER_KEY: KEY, "arg": ["agent", SECRET], **start}
    return LogWriter(path, **fields)


def rows(path: Path) -> list[Any]:
    """Returns the columns of rows that masking must not change."""
    columns = "seq, flags & 63, kind, t_ns, lag_ns, method, rpc_id, exchange, session, turn"
    with closing(sqlite3.connect(path)) as connection:
        return [
            query(connection, f"SELECT {columns} FROM frame_rows ORDER BY seq"),
            *(query(connection, f"SELECT * FROM {t}") for t in ("labels", "exchanges", "turns")),
        ]


def test_nothing_recorded_earlier_shows_a_secret(tmp_path: Path) -> None:
    """If a recorder recognizes a secret late, it also masks the secret in earlier frames."""
    path, plain = tmp_path / "x.db", tmp_path / "y.db"
    for place, level in ((path, "secrets"), (plain, "none")):
        with masking_log(place, redaction=level, name="x") as recorder:
            write(recorder)
            recorder.finish()
    # The id of a session stays: in its frame, the labels and their index, an exchange and a turn.
    assert path.read_bytes().count(SECRET.encode()) == 5
    assert rows(path) == rows(plain)
    with RecordingReader(path) as opened:
        lines = [row["raw"] for row in opened.frames()]
        assert b"it is " in b"".join(lines)
        assert str(opened.recording.client_name).startswith("editor of [redacted:env:")
        assert SECRET not in opened.recording.command
        marked = [row["seq"] for row in opened.frames() if row["masked"]]
        assert marked == [2, 4, 5, 6, 8, 9, 10, 12, 14]


def test_a_killed_recording_is_masked_when_it_is_finished(tmp_path: Path) -> None:
    """A command that finishes a killed recording masks secrets in its earlier frames."""
    with masking_log(tmp_path / "x.db") as recorder:
        write(recorder)
        recorder.index()
        assert SECRET.encode() in (tmp_path / "x.db").read_bytes()
    with RecordingReader(tmp_path / "x.db"):
        assert not (tmp_path / "x.db.log").exists()
    assert (tmp_path / "x.db").read_bytes().count(SECRET.encode()) == 5


def texts(opened: RecordingReader) -> str:
    """Returns all text that a reader shows of a recording, without the secret session id."""
    lines = b"\n".join(row["raw"] for row in opened.frames())
    parts = [lines.decode(), *(row["data"] for row in opened.events()), repr(opened.recording)]
    return "\n".join(parts).replace(f'"sessionId":"{SECRET}"', "")


@pytest.mark.parametrize("is_indexed", [False, True])
def test_a_late_secret_of_a_running_recording_is_masked(tmp_path: Path, is_indexed: bool) -> None:
    """If a secret in a running recording is recognized late, commands mask it in earlier frames."""
    with masking_log(tmp_path / "x.db") as recorder:
        recorder.to_client(update("s1", "agent_message_chunk", content=text(f"it is {SECRET}")))
        write(recorder)
        if is_indexed:
            recorder.index()
        with RecordingReader(tmp_path / "x.db") as opened:
            assert opened.live
            assert SECRET not in texts(opened)
        with RecordingReader(tmp_path / "x.db", unredacted=True) as opened:
            assert opened.masked_rows is None


def test_a_follower_masks_a_late_secret(tmp_path: Path) -> None:
    """If a secret is recognized late, a command that follows the recording then masks it."""
    with masking_log(tmp_path / "x.db") as recorder:
        recorder.to_agent(new_session())
        recorder.stderr("the other is Qq92xplKsecR7tv+Zc")
        with RecordingReader(tmp_path / "x.db") as opened:
            assert "Qq92xplKsecR7tv+Zc" in texts(opened)
            recorder.to_agent(request(2, "x", env={"OTHER": "Qq92xplKsecR7tv+Zc"}))
            opened.refresh()
            assert "Qq92xplKsecR7tv+Zc" not in texts(opened)


def test_a_recording_that_was_not_masked(tmp_path: Path) -> None:
    """If a recorder stored secrets unmasked, commands mask them when they read the recording."""
    with masking_log(tmp_path / "x.db", redaction="none") as recorder:
        write(recorder)
        recorder.finish()
    with RecordingReader(tmp_path / "x.db") as opened:
        assert SECRET not in texts(opened)
        lines = [*write_text_form(opened)]
    assert SECRET.encode() not in b"".join(lines).replace(b'"sessionId":"' + SECRET.encode(), b"")


def test_what_takes_too_long_is_left_to_the_next_reader(tmp_path: Path) -> None:
    """If masking earlier rows takes too long, a later command continues it."""

    def watch(rows: Iterable[Any], _: int) -> Iterator[Any]:
        yield from islice(rows, 3)
        raise TimeoutError

    path = tmp_path / "x.db"
    with masking_log(path) as recorder:
        write(recorder)
        with closing(recorder._database()) as connection, reader(recorder.log_path) as log:
            indexer = Indexer(connection, log)
            while indexer.step():
                pass
            before = connection.execute("SELECT * FROM frame_rows").fetchall()
            with pytest.raises(TimeoutError):
                mask_earlier(indexer, watch)
            assert connection.execute("SELECT * FROM frame_rows").fetchall() == before
            assert load_state(connection).search_before > 2
            mask_earlier(indexer)
            assert load_state(connection).search_before == 0


CHUNKS = st.lists(st.text("ab1 -=/\n", max_size=8), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(CHUNKS, st.booleans())
def test_without_a_secret_no_byte_changes(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str], with_env: bool
) -> None:
    """A recording without secrets has the same rows, whether or not it is masked."""
    directory = tmp_path_factory.mktemp("rows")
    tables = []
    for level in ("none", "secrets"):
        with LogWriter(directory / f"{level}.db", redaction=level, name="x", marker_key=KEY) as log:
            log.stderr("started with 1, true and /srv/project")
            if with_env:
                env = [{"name": "VERBOSE", "value": "1"}, {"name": "MODE", "value": "production"}]
                server = {"name": "x", "command": "y", "args": ["-v"], "env": env}
                log.to_agent(request(1, "session/new", cwd="/srv/project", mcpServers=[server]))
            for piece in pieces:
                log.to_client(update("s1", "agent_message_chunk", content=text(piece)))
            log.end()
            log.close()
            log.finish()
        with closing(sqlite3.connect(directory / f"{level}.db")) as connection:
            connection.execute("UPDATE recording SET redaction = ''")
            connection.execute("UPDATE events SET data = json_remove(data, '$.redaction')")
            tables.append([query(connection, f"SELECT * FROM {table}") for table in TABLES])
    assert tables[0] == tables[1]


def test_an_import_masks_earlier_messages(tmp_path: Path) -> None:
    """`import` masks a secret also in messages before the one that reveals the secret."""
    said = update("s1", "agent_message_chunk", content=text(f"it is {SECRET}"))
    messages = [("<", said), (">", new_session()), ("<", result(1, sessionId="s1"))]
    log = "".join(f"{mark} {json.dumps(message)}\n" for mark, message in messages)
    (tmp_path / "x.txt").write_text(log)
    path = tmp_path / "x.db"
    assert run("inspect", "import", tmp_path / "x.txt", "-o", path).exit_code == 0
    assert SECRET.encode() not in path.read_bytes()
    with RecordingReader(path) as opened:
        assert texts(opened).count("[redacted:env:") == 2


def hashed(*values: str) -> list[str]:
    """Returns hashes, as in a log, of secret values in the recorder's environment."""
    environment = {f"MY_{n}_TOKEN": value for n, value in enumerate(values)}
    return secret_hashes(environment, bytes.fromhex(KEY))


@pytest.mark.parametrize("size", [1, 3, 8, 200])
def test_a_value_of_the_recorders_environment(tmp_path: Path, size: int) -> None:
    """A secret in the environment of a recorder is masked in every message."""
    path, value = tmp_path / "x.db", "Xk27fYqpLm92vbTa/c0R"
    with masking_log(path, secret_hash=hashed(value, "another-0f-them")) as recorder:
        assert value[:8].encode() not in recorder.log_path.read_bytes()
        for at in range(0, len(value), size):
            piece = value[at : at + size]
            recorder.to_client(update("s1", "agent_message_chunk", content=text(piece)))
        recorder.to_agent(request(2, "session/prompt", sessionId="s1", prompt=[text(value)]))
        recorder.stderr(f"with {value}.")
        recorder.end()
        recorder.close()
        recorder.index()
        recorder.finish()
    content = path.read_bytes()
    assert value.encode() not in content
    with RecordingReader(path) as opened:
        said = [json.loads(row["raw"]) for row in opened.frames() if row["stream"] == "to-client"]
        whole = "".join(each["params"]["update"]["content"]["text"] for each in said)
        assert MARKER.sub("M", whole) in ("M", value[:1] + "M", value[:2] + "M")
        assert "secret_hash" not in texts(opened)
