"""The rows in the database do not depend on the steps in which a log is indexed."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.recording.log_format import END, STREAM_NAMES, UNDELIVERED
from acp_proxy.store.indexing import line_masking
from acp_proxy.store.indexing.indexer import Indexer
from tests.support.capture_logs import reader
from tests.support.indexed_rows import dump, new_database, query, stream_bytes
from tests.support.log_writer import LogWriter, behind
from tests.support.strategies import lines

if TYPE_CHECKING:
    from collections.abc import Iterator

Chunks = list[tuple[int, bytes]]

WHOLE = 1 << 30

streams = st.integers(1, 3)
random_chunks = st.lists(
    st.tuples(
        streams,
        st.binary(max_size=30) | st.sampled_from([b"\n", b"\r\n", b"a\n\r\nb", b'{"id":1', b"}\n"]),
    ),
    max_size=12,
)


@st.composite
def conversations(draw: st.DrawFn) -> Chunks:
    """Draws messages of all streams, whose bytes are interleaved and cut into chunks anywhere."""
    waiting = {}
    for stream in (1, 2, 3):
        rest = b"\n".join(draw(st.lists(lines(), max_size=5)))
        waiting[stream] = rest + draw(st.sampled_from([b"", b"\n"]))
    chunks: Chunks = []
    while any(waiting.values()):
        stream = draw(st.sampled_from([stream for stream, rest in waiting.items() if rest]))
        size = draw(st.integers(1, 120))
        chunks.append((stream, waiting[stream][:size]))
        waiting[stream] = waiting[stream][size:]
    return chunks


def joined(chunks: Chunks, stream: int) -> bytes:
    """Returns all bytes of a stream."""
    return b"".join(chunk for s, chunk in chunks if s == stream)


@contextlib.contextmanager
def log_of(chunks: Chunks, ends: set[int]) -> Iterator[LogWriter]:
    """Yields a capture log of chunks, in which some streams end, and the recorder may be killed."""
    with TemporaryDirectory() as directory, LogWriter(Path(directory, "x.db")) as recorder:
        for stream, chunk in chunks:
            recorder.chunk(stream, chunk)
        for stream in ends:
            recorder.event(END, stream, reason="end of file")
        if len(ends) == 3:
            recorder.close()
        yield recorder


def index(recorder: LogWriter, connection: sqlite3.Connection, limits: list[int]) -> None:
    """Indexes a whole log; each batch has a new indexer, as after a crash."""
    with reader(recorder.log_path) as log:
        batch = 0
        while Indexer(connection, log).step(limits[batch % len(limits)]):
            batch += 1
        Indexer(connection, log).settle()


def rows_of(recorder: LogWriter, limits: list[int]) -> dict[str, list[Any]]:
    """Returns all rows of an indexed log."""
    with new_database() as connection:
        index(recorder, connection, limits)
        return dump(connection)


@given(
    random_chunks | conversations(),
    st.sets(streams),
    st.lists(st.sampled_from([1, 40, 100, 300, 1000]), min_size=1, max_size=4),
)
def test_any_batches_give_the_same_rows(chunks: Chunks, ends: set[int], limits: list[int]) -> None:
    """The database rows do not depend on the steps in which the recorder reads its capture log."""
    with log_of(chunks, ends) as recorder:
        assert rows_of(recorder, limits) == rows_of(recorder, [WHOLE])


@given(random_chunks | conversations(), st.sets(streams), st.sampled_from([1, 100, WHOLE]))
def test_the_rows_hold_the_streams(chunks: Chunks, ends: set[int], limit: int) -> None:
    """The frames that the indexer stores for a stream add up to the bytes of the stream."""
    with log_of(chunks, ends) as recorder, new_database() as connection:
        index(recorder, connection, [limit])
        for stream in (1, 2, 3):
            assert stream_bytes(connection, STREAM_NAMES[stream]) == joined(chunks, stream)
        numbers = query(connection, "SELECT seq FROM frames UNION ALL SELECT seq FROM events")
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
        sizes = query(connection, "SELECT size - length(raw) FROM frames")
        assert not any(sizes)


@given(conversations(), st.sets(streams), st.sampled_from([1, 100, WHOLE]), st.integers(2, 60))
def test_large_lines_are_indexed_as_lines(
    chunks: Chunks, ends: set[int], limit: int, large: int
) -> None:
    """If a line is too large for memory, the indexer stores its frame with all bytes."""
    read_from_line = {"kind", "method", "rpc_id", "exchange", "session", "turn", "tool_call"}
    read_from_line |= {"terminal", "parse_error"}

    def frames(connection: sqlite3.Connection) -> list[dict[str, Any]]:
        cursor = connection.execute("SELECT * FROM frames ORDER BY seq")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        return [{k: v for k, v in row.items() if k not in read_from_line} for row in rows]

    with log_of(chunks, ends) as recorder, new_database() as small, new_database() as usual:
        with mock.patch.multiple(line_masking, LARGE_LINE=large, LINE_EDGE=large):
            index(recorder, small, [limit])
        index(recorder, usual, [WHOLE])
        assert frames(small) == frames(usual)


@given(random_chunks, streams, st.integers(0, 80), st.booleans(), st.sampled_from([1, WHOLE]))
def test_the_last_bytes_of_a_stream_are_undelivered(
    chunks: Chunks, stream: int, lost: int, ended: bool, limit: int
) -> None:
    """If the last bytes of a stream were lost, the recorder marks their frames as undelivered."""
    with log_of(chunks, set()) as recorder, new_database() as connection:
        recorder.event(UNDELIVERED, stream, bytes=lost)
        if ended:
            recorder.event(END, stream, reason="the reader is gone")
        index(recorder, connection, [limit])
        sql = "SELECT delivered FROM frames WHERE stream = ? ORDER BY seq"
        for other in (1, 2, 3):
            whole = joined(chunks, other)
            arrived = len(whole) - lost if other == stream else len(whole)
            expected, place = [], 0
            for line in lines_of(whole):
                missing = min(len(line), max(0, place + len(line) - arrived))
                expected.append(
                    "full" if not missing else "none" if missing == len(line) else "partial"
                )
                place += len(line)
            assert query(connection, sql, STREAM_NAMES[other]) == expected


def lines_of(whole: bytes) -> list[bytes]:
    """Returns the lines in some bytes."""
    parts = [part + b"\n" for part in whole.split(b"\n")]
    return [*parts[:-1], parts[-1][:-1]] if parts[-1] != b"\n" else parts[:-1]


class Flaky:
    """A connection to SQLite whose commits sometimes fail, as if the database was locked."""

    def __init__(self, connection: sqlite3.Connection, failures: list[bool]) -> None:
        self._connection = connection
        self._failures = failures

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        """Commits, or raises the error of a locked database."""
        if self._failures and self._failures.pop():
            raise sqlite3.OperationalError("database is locked")
        self._connection.commit()


@given(
    conversations(),
    st.sampled_from([1, 100, 1000]),
    st.lists(st.booleans(), max_size=12),
    st.booleans(),
)
def test_commits_may_fail(
    chunks: Chunks, limit: int, failures: list[bool], same_indexer: bool
) -> None:
    """If some commits to the database fail, the indexer still stores each frame once."""
    with log_of(chunks, {1, 2, 3}) as recorder, new_database() as connection:
        with reader(recorder.log_path) as log:
            flaky = cast("sqlite3.Connection", Flaky(connection, failures))
            machine = Indexer(flaky, log)
            while behind(machine):
                with contextlib.suppress(sqlite3.OperationalError):
                    machine.step(limit)
                offsets = query(connection, "SELECT log_offset FROM indexing") or [0]
                assert behind(machine) == log.end - offsets[0]
                if not same_indexer:
                    machine = Indexer(flaky, log)
            failures.clear()
            machine.settle()
        assert dump(connection) == rows_of(recorder, [WHOLE])
