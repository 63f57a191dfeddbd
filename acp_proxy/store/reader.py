"""Opens a recording to look at it: finished, left behind by a crash, or still being written.

A reader never waits for the indexer and never needs to write. Where a log is left, it asks the
log's lock whether the recorder lives. If not, and if it may write, it finishes the recording;
otherwise it frames what is beyond the stored offset itself, with the indexer's own code, into
temporary tables. The text form becomes rows of a temporary database. In any case `frames`,
`exchanges`, `turns`, `events` and `recording` name all there is.
"""

import contextlib
import fcntl
import heapq
import json
import operator
import os
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.capture.log import HEADER_SIZE, START
from acp_proxy.errors import DamagedRecording, NotARecording, UnreadableRecording
from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.forms import converter
from acp_proxy.recording import FrameHead, Payload, Recording
from acp_proxy.store import database
from acp_proxy.store.frame_table import FrameTable
from acp_proxy.store.importer import new_rows
from acp_proxy.store.indexer import Indexer
from acp_proxy.store.log_reader import LogMoved, LogReader
from acp_proxy.store.row_types import Mistyped, check_types
from acp_proxy.store.schema import VIEWS, frames_select
from acp_proxy.store.transcript import is_transcript, read_transcript

_TABLES = ("recording", "labels", "frame_rows", "exchanges", "turns", "events", "indexing")
_TRIES = 20
LARGEST = 4 << 20
"""Bytes of a line from which on a search does not hold it."""

_BROKEN = (sqlite3.Error, ValueError, ArithmeticError, MemoryError, OSError)
"""What reading files raises that somebody, or a bad disk, has written."""


class RecordingReader:
    """One recording, open for reading; a context manager.

    Attributes:
        path: the database's path, whether or not it exists yet; or that of the text form.
        live: whether its recorder is still running.
        warning: something that the user should know about the file, or None.
    """

    def __init__(self, path: Path, source: Iterable[bytes] | None = None) -> None:
        """Opens the recording whose database or text form is at ``path``.

        Args:
            path: its place, or what to call it in complaints.
            source: the lines of its text form, to be read in place of a file.

        Raises:
            UnreadableRecording: see `errors`.
        """
        self.path = path
        self._source = source
        self.live = False
        self.warning: str | None = None
        self._log: LogReader | None = None
        self._tail: Indexer | None = None
        self._tail_start = 0
        self._tables: list[FrameTable] = []
        self._files = contextlib.ExitStack()
        self._open()

    def __enter__(self) -> "RecordingReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the files."""
        self._files.close()

    @property
    def recording(self) -> Recording:
        """The recording's one row.

        Raises:
            DamagedRecording: there is none.
        """
        for row in self.query("SELECT * FROM recording LIMIT 1"):
            try:
                recording = converter.structure(row, Recording)
                datetime.fromisoformat(recording.started_at)
                datetime.fromisoformat(recording.ended_at or recording.started_at)
                " ".join(json.loads(recording.command))
            except Exception:  # whatever a foreign or damaged value makes them raise
                break
            return recording
        raise DamagedRecording(self.path, "it does not say what was recorded")

    def query(self, sql: str, parameters: Any = ()) -> Iterator[dict[str, Any]]:
        """Runs a SELECT over the contract's names and streams its rows.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        database_ = Database(self.connection, execute_plugins=False, recursive_triggers=False)
        with self._damage_told():
            for row in database_.query(sql, parameters):
                check_types(row)
                yield row

    def frames(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams the frames that a filter means, beyond number ``after``, without holding them.

        A request and its response also have the numbers and the latency of their exchange
        (``request_seq``, ``response_seq``, ``latency_ns``). Rows come first and then the tail,
        which is later.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            for table in self._tables:
                yield from filter(chosen.matches, table.frames(after, chosen.condition))

    def rows(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams frames and events in one order; an event has ``data`` and no ``raw``.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        events = self.query("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,))
        happened = filter(chosen.matches, events)
        return heapq.merge(self.frames(chosen, after), happened, key=operator.itemgetter("seq"))

    def heads(self, chosen: Filter = EVERYTHING) -> Iterator[FrameHead]:
        """Streams the frames that a filter means without their payloads, far quicker than `frames`.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            for table in self._tables:
                heads = table.heads(chosen.condition)
                if heads is None:
                    frames = filter(chosen.matches, table.frames(0, chosen.condition))
                    heads = map(_head, frames)
                yield from heads

    def payloads(self, chosen: Filter = EVERYTHING) -> Iterator[Payload]:
        """Streams the lines that a filter means with little else; those beyond `LARGEST` without.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            for table in self._tables:
                payloads = table.payloads(chosen.condition, LARGEST)
                if payloads is None:
                    frames = filter(chosen.matches, table.frames(0, chosen.condition))
                    payloads = map(_payload, frames)
                yield from payloads

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads the line of a frame piece by piece, however large it is.

        Raises:
            UnreadableRecording: the file is damaged, or has no such frame.
        """
        with self._damage_told():
            held = f"SELECT 1 FROM {self._tables[-1].rows} WHERE seq = ?"
            last = self.connection.execute(held, (seq,)).fetchone()
            yield from self._tables[-1 if last else 0].pieces(seq)

    def count(self) -> int:
        """How many frames there are, the tail included.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            return sum(table.count() for table in self._tables)

    @contextlib.contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, Mistyped) as e:
            raise database.unreadable(self.path, e) from None

    @property
    def newest(self) -> int:
        """The number of the newest frame or event while the recorder runs, else 0."""
        return self._tail.memory.next_seq - 1 if self._tail is not None else 0

    def refresh(self) -> None:
        """Brings a live recording up to date; cheap while nothing new came.

        Raises:
            UnreadableRecording: see `errors`.
        """
        if self._tail is None or self._log is None:
            return
        with self._told_apart():
            try:
                self._read_tail()
                if not _is_free(self._log.fd):
                    return
            except LogMoved:
                pass
        self.close()
        self._open()

    def _open(self) -> None:
        for _ in range(_TRIES):
            try:
                with self._told_apart():
                    self._open_once()
                return
            except LogMoved:
                self.close()
        raise UnreadableRecording(self.path, "its log is empty, or keeps moving")

    @contextlib.contextmanager
    def _told_apart(self) -> Iterator[None]:
        """Closes everything on any failure; says of a broken file that it is broken."""
        try:
            yield
        except LogMoved:
            raise
        except _BROKEN as e:
            self.close()
            raise database.unreadable(self.path, e) from None
        except BaseException:
            self.close()
            raise

    def _open_once(self) -> None:
        log_path = Path(f"{self.path}{LOG_SUFFIX}")
        self._log, self._tail, self.live = None, None, False
        if self._source is not None or is_transcript(self.path):
            self._open_text()
            return
        try:
            fd = _open_log(log_path)
        except FileNotFoundError:
            self._open_plain()
            return
        except OSError as e:
            raise NotARecording(log_path, (e.strerror or str(e)).lower()) from None
        self._files.callback(os.close, fd)
        self._log = self._read_log(fd, log_path)
        if _is_free(fd) and self._finish(fd, log_path):
            self.close()
            self._log = None
            self._open_plain()
            return
        self.live = not _is_free(fd)
        self._open_with_tail()

    def _read_log(self, fd: int, log_path: Path) -> LogReader:
        """Makes sure that the log is one and can become a recording, before anybody touches it.

        Raises:
            LogMoved: it is empty; its recorder may be about to write its first record.
        """
        try:
            log = LogReader(fd)
        except (ValueError, OSError) as e:
            raise NotARecording(log_path, str(e)) from None
        if self.path.exists() and self.path.stat().st_size:
            return log
        if log.end < log.base + HEADER_SIZE:
            raise LogMoved
        if log.base:
            raise UnreadableRecording(log_path, f"it is only an end, and {self.path} is missing")
        if not any(record.kind == START for record in log.records(0, HEADER_SIZE)):
            raise UnreadableRecording(log_path, "it does not say what was recorded")
        return log

    def _open_plain(self) -> None:
        if not self.path.exists():
            raise NotARecording(self.path, "no such file")
        connection = database.open_readonly(self.path)
        if Path(f"{self.path}-wal").exists():
            connection.close()
            database.fold(self.path)
            connection = database.open_readonly(self.path)
        self._own(connection)
        if database.is_empty(connection):
            raise NotARecording(self.path, "it is empty")
        self._make_views(tail=False)
        if self.recording.state in ("recording", "unindexed"):
            self.warning = f"{self.path}{LOG_SUFFIX} is missing: what was not indexed yet is lost"

    def _open_text(self) -> None:
        try:
            source = self._source or self._files.enter_context(self.path.open("rb"))
            self._own(new_rows())
            read_transcript(source, self.path, self.connection)
        except sqlite3.Error as e:  # of a file that is ours alone
            raise UnreadableRecording(self.path, f"its rows cannot be kept ({e})") from None
        self._make_views(tail=False)
        if self.recording.state in ("recording", "unindexed"):
            self.warning = f"{self.path} was exported before the recording had ended"

    def _own(self, connection: sqlite3.Connection) -> None:
        self.connection = self._files.enter_context(contextlib.closing(connection))

    def _finish(self, fd: int, log_path: Path) -> bool:
        """Indexes what a dead recorder left and removes its log; False if we may not."""
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        try:
            if not log_path.exists():  # somebody else finished it since we opened it
                return True
            if self.path.exists() and self.path.stat().st_size:
                database.open_readonly(self.path).close()
            finish(self.path, LogReader(fd))
            log_path.unlink()
        except _BROKEN:
            fcntl.flock(fd, fcntl.LOCK_UN)
            return False
        return True

    def _open_with_tail(self) -> None:
        assert self._log is not None
        if self.path.exists() and self.path.stat().st_size:
            self._own(database.open_readonly(self.path))
        else:
            self._own(sqlite3.connect(":memory:", check_same_thread=False))
        if database.is_empty(self.connection):
            self._own(sqlite3.connect(":memory:", check_same_thread=False))
            database.migrate(self.connection)
        self.connection.execute("ATTACH '' AS tail")  # a temporary file, in memory while small
        for table in _TABLES:
            self._make_tail_table(table)
        self.connection.commit()
        self._tail = Indexer(self.connection, self._log, schema="tail")
        self._tail_start = self._tail.memory.offset
        _check_order(self._tail)
        self._make_views(tail=True)
        self._read_tail()
        if not self.live:
            self.connection.commit()
            self._tail.settle()

    def _read_tail(self) -> None:
        """Frames what is new in the log, then holds on to the rows that go with it.

        Raises:
            LogMoved: the recorder has indexed meanwhile, so rows and tail overlap or gape.
        """
        assert self._log is not None
        assert self._tail is not None
        self.connection.commit()
        self._log.check()
        while self._tail.step(1 << 20):
            pass
        self._log.check()
        self.connection.execute("BEGIN")
        row = self.connection.execute("SELECT log_offset FROM main.indexing").fetchone()
        if (row[0] if row else 0) != self._tail_start:
            raise LogMoved

    def _make_tail_table(self, table: str) -> None:
        sql = self.connection.execute(
            "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        if sql is None:
            raise DamagedRecording(self.path, f"it has no table {table}")
        body = sql[0][sql[0].index("(") :]
        self.connection.execute(f"CREATE TABLE tail.{table} {body}")

    def _make_views(self, *, tail: bool) -> None:
        """Makes the contract's names here: views found in a file are somebody else's code."""
        views = {}
        self._tables = [FrameTable(self.connection, "main.frame_rows", "main.labels")]
        if tail:
            labels = "(SELECT * FROM main.labels UNION ALL SELECT * FROM tail.labels)"
            rows = "(SELECT * FROM main.frame_rows UNION ALL SELECT * FROM tail.frame_rows)"
            self._tables.append(FrameTable(self.connection, "tail.frame_rows", labels))
            views["frame_rows"] = rows[1:-1]
            views["frames"] = frames_select(rows, labels)
            views["events"] = "SELECT * FROM main.events UNION ALL SELECT * FROM tail.events"
            views["recording"] = self._merged_recording()
            for table in ("exchanges", "turns"):
                views[table] = (
                    f"SELECT * FROM tail.{table} UNION ALL SELECT * FROM main.{table}"
                    f" WHERE id NOT IN (SELECT id FROM tail.{table})"
                )
        else:
            views["frames"] = frames_select("main.frame_rows", "main.labels")
        for name in ("timeline", "unanswered", "latency"):
            views[name] = VIEWS[name]
        for name, select in views.items():
            self.connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
        self.connection.commit()

    def _merged_recording(self) -> str:
        """What the tail knows of the recording; what a person may edit stands in the rows."""
        columns = self.connection.execute("SELECT name FROM pragma_table_info('recording', 'main')")
        edited = {name: f"coalesce(m.{name}, t.{name}) AS {name}" for name in ("name", "note")}
        quoted = [
            edited.get(name) or f't."{name.replace(chr(34), 2 * chr(34))}"' for (name,) in columns
        ]
        return (
            f"SELECT {', '.join(quoted)} FROM tail.recording AS t"
            " LEFT JOIN main.recording AS m ON m.id = t.id UNION ALL SELECT * FROM main.recording"
            " WHERE id NOT IN (SELECT id FROM tail.recording)"
        )


def _head(row: dict[str, Any]) -> FrameHead:
    return FrameHead._make(row[name] for name in FrameHead._fields)


def _payload(row: dict[str, Any]) -> Payload:
    return Payload._make(row[name] for name in Payload._fields)


def finish(path: Path, log: LogReader) -> None:
    """Indexes all of a log whose recorder is gone, and closes the database.

    Raises:
        OSError: the database cannot be made.
        sqlite3.Error: it cannot be written.
        ValueError: it cannot be understood, or is not the log's.
    """
    connection = database.create(path)
    try:
        indexer = Indexer(connection, log)
        _check_order(indexer)
        while indexer.step(1 << 20):
            pass
        indexer.settle()
        database.close(connection)
    finally:
        connection.close()


def is_finished_or_dead(path: Path) -> bool:
    """Whether there is a recording of ours at ``path`` and no recorder lives; indexes nothing."""
    try:
        ours = path.exists() and not _is_blank(path)
        fd = _open_log(Path(f"{path}{LOG_SUFFIX}"))
    except FileNotFoundError:
        return ours
    except (OSError, sqlite3.Error, UnreadableRecording):
        return False
    try:
        return LogReader(fd).end > 0 and _is_free(fd)
    except (OSError, ValueError):
        return False
    finally:
        os.close(fd)


def _is_blank(path: Path) -> bool:
    with contextlib.closing(database.open_readonly(path)) as connection:
        return database.is_empty(connection)


def _check_order(indexer: Indexer) -> None:
    """Makes sure that the log goes on where the rows end.

    Raises:
        ValueError: it begins later.
    """
    if indexer.memory.offset < indexer.log.base:
        raise ValueError(
            f"its log begins at byte {indexer.log.base}, its rows end at {indexer.memory.offset}"
        )


def _open_log(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as e:
        if isinstance(e, FileNotFoundError):
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _is_free(fd: int) -> bool:
    """Whether the recorder that held the log's lock is gone."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    fcntl.flock(fd, fcntl.LOCK_UN)
    return True
