"""Opens a recording for reading: finished, left behind by a crash, or still being written.

A reader never waits for the indexer and never needs to write:

- If the recorder is gone and the reader may write, the reader finishes the recording.
- Otherwise the tail of the log is indexed into temporary tables.
- A text form is read into a temporary database.

In all cases the tables `frames`, `exchanges`, `turns`, `events` and `recording` cover the whole
recording.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve

from acp_proxy.base import system
from acp_proxy.base.errors import DamagedRecording, LogMoved, NotARecording, UnreadableRecording
from acp_proxy.base.plain_files import is_plain, open_plain, reason
from acp_proxy.protocol.dialects import FORMER_REASON, Evidence
from acp_proxy.protocol.jsonrpc import Kind, Stream, read
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files import database
from acp_proxy.store.files.database import is_sqlite, new_rows
from acp_proxy.store.files.side_files import WAL, check_plain, check_side_files
from acp_proxy.store.log import damaged_log
from acp_proxy.store.rows import Rows
from acp_proxy.store.tables.views import LEVELS, attach_tail, is_masked, make_views

if TYPE_CHECKING:
    from acp_proxy.store.log.log_reader import LogReader
    from acp_proxy.store.log.log_recovery import LogTail
    from acp_proxy.store.queries.masked_rows import Level, Watch

# Code for logs and the text form is imported only when needed, so that a replay starts sooner.

_MARKER_KEY = os.urandom(16).hex()
"""One key for all recordings of a command, so that equal secrets have equal markers in a diff."""
_TRIES = 20
_MOST_READ = 3000
"""The number of frames that are read to detect a dialect again."""
_LONGEST_PAUSE_S = 0.1


class RecordingReader(Rows):
    """One recording, open for reading; a context manager.

    Attributes:
        live: whether the recorder is still running.
        warning: a problem with the file that the user should know about, or None.
        unredacted: whether secrets in the file are shown.
    """

    def __init__(
        self,
        path: Path,
        source: Iterable[bytes] | None = None,
        *,
        unredacted: bool = False,
        level: "Level | None" = None,
        known: Mapping[str, str] | None = None,
        watch: "Watch | None" = None,
    ) -> None:
        """Opens the recording whose database or text form is at ``path``.

        Args:
            path: the path, also for error messages. While there is a log, the file need not exist.
            source: the lines of the recording's text form, which are read instead of a file.
            unredacted: whether to show the secrets in the file. If not, a recording that was not
                masked when it was made is masked now.
            level: what to mask, even if the recording was masked when it was made.
            known: further secrets to mask, each with its marker. These secrets are masked even if
                the recording was masked when it was made.
            watch: a function that shows the progress of masking.

        Raises:
            UnreadableRecording: see `errors`.
        """
        self.path = path
        self._place = path.resolve() if path.is_symlink() else path
        self._source = source
        self.live = False
        self.warning: str | None = None
        self.unredacted = unredacted
        self._level, self._known, self._watch = level, known or {}, watch
        self._tail: LogTail | None = None
        self._recording: Recording | None = None
        self.tables = []
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
        """The only row of the table ``recording``; read once, or each time if there is a tail."""
        if self._tail is not None:
            return super().recording
        if self._recording is None:
            self._recording = self._detected_again(super().recording)
        return self._recording

    def _detected_again(self, recording: Recording) -> Recording:
        """Detects the dialect again if an earlier version may have mistaken v1 for the draft."""
        if recording.dialect_reason != FORMER_REASON:
            return recording
        evidence = Evidence()
        for head in islice(self.heads(with_lines=True), _MOST_READ):
            if head.raw is not None and head.stream != Stream.STDERR:
                is_answer = head.kind in (Kind.RESPONSE, Kind.ERROR)
                evidence.take(read(head.raw), head.method if is_answer else None)
        dialect, why = evidence.best() or (recording.dialect, recording.dialect_reason)
        return evolve(recording, dialect=dialect, dialect_reason=why)

    @property
    def is_open(self) -> bool:
        """Whether a request without a recorded answer may have got one, or may still get one."""
        return self.recording.is_open(live=self.live)

    @property
    def newest(self) -> int:
        """The number of the newest frame or event while the recorder runs, else 0."""
        return self._tail.newest if self._tail is not None else 0

    @property
    def known_secrets(self) -> dict[str, str]:
        """The secrets that this reader masks, each with its marker."""
        return {} if self.masked_rows is None else self.masked_rows.values

    @property
    def masked_again(self) -> int:
        """The highest number of a row that was masked again; 0 if no row was masked again.

        A row is masked again if a secret in this row is recognized only in a later row. So while
        the recorder runs, the number may grow.
        """
        late = 0 if self._tail is None else self._tail.indexer.state.search_before
        return max(late, 0 if self.masked_rows is None else self.masked_rows.masked_again)

    @property
    def is_masked(self) -> bool:
        """Whether the recording was masked when it was made."""
        return self.recording.redaction in LEVELS and self.masked_rows is None

    def in_one_place(self) -> "RecordingReader":
        """Returns a reader that has all rows in the main tables: this reader, or a copy.

        A copy is needed while the latest frames are only in the log. The copy is closed with this
        reader.
        """
        if self._tail is None:
            return self
        from acp_proxy.store.copies.text_export import write_text_form

        copy = RecordingReader(self.path, write_text_form(self), unredacted=True)
        return self._files.enter_context(copy)

    def refresh(self, must_stop: Callable[[], bool] = bool) -> None:
        """Reads what was added to a live recording. Takes little time if there is nothing new.

        Args:
            must_stop: returns whether to stop early; called repeatedly while rows are read.
        """
        if self._tail is None:
            return
        try:
            with self._closed_on_failure():
                self._tail.read(must_stop)
                self._mask()
                if self._tail.has_recorder:
                    return
        except LogMoved:
            pass
        self.close()
        self._open()

    def _open(self) -> None:
        self._is_copied = False
        for attempt in range(_TRIES):
            before = self._state_of_files()
            try:
                with self._closed_on_failure():
                    self._open_once()
                return
            except LogMoved:
                self.close()
                # A log is empty while its recorder makes or empties it. On a busy machine the
                # recorder can lose the processor just then.
                time.sleep(min(0.001 * 2**attempt, _LONGEST_PAUSE_S))
            except DamagedRecording:
                # The recorder, or a reader that finishes its work, may have changed the files.
                if self._source is not None or self._state_of_files() == before:
                    raise
        raise UnreadableRecording(self.path, "its log is empty, or changes too often to be read")

    def _state_of_files(self) -> list[tuple[int, int, int] | None]:
        """Returns inode, size and modification time of the database and the files beside it."""
        states: list[tuple[int, int, int] | None] = []
        for suffix in ("", LOG_SUFFIX, WAL):
            try:
                status = os.lstat(f"{self._place}{suffix}")
            except OSError:
                states.append(None)
            else:
                states.append((status.st_ino, status.st_size, status.st_mtime_ns))
        return states

    @contextlib.contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        """Closes all files if an error occurs. The error names the file if the file is broken."""
        try:
            yield
        except LogMoved:
            raise
        except database.BROKEN as e:
            self.close()
            code = getattr(e, "sqlite_errorcode", None)
            if code == sqlite3.SQLITE_READONLY and not self._is_copied:
                self._is_copied = True  # indexing the tail has to label rows of the file again
                raise LogMoved from None
            raise database.unreadable(self.path, e) from None
        except BaseException:
            self.close()
            raise

    def _open_once(self) -> None:
        log_path = Path(f"{self._place}{LOG_SUFFIX}")
        self._tail, self.live, self.masked_rows = None, False, None
        self._recording, self._masked_before = None, 0
        if self._source is not None or is_text(self.path) or self._should_be_text():
            self._open_text()
            return
        if os.path.lexists(log_path):
            self._open_with_log(log_path)
        else:
            self._open_plain()

    def _should_be_text(self) -> bool:
        """Whether a plain file has the suffix of a text form, and is not a database."""
        return self.path.suffix == ".jsonl" and is_plain(self.path) and not is_sqlite(self.path)

    def _open_with_log(self, log_path: Path) -> None:
        from acp_proxy.store.log import log_recovery

        try:
            fd = log_recovery.open_log(log_path)
        except FileNotFoundError:
            self._open_plain()
            return
        except OSError as e:
            raise NotARecording(log_path, reason(e)) from None
        self._files.callback(os.close, fd)
        check_plain(self._place)
        check_side_files(self._place, to_write=False)
        log = log_recovery.read_log(self._place, fd, log_path)
        if log_recovery.is_free(fd) and log_recovery.finish_dead(self._place, fd, log_path):
            self.close()
            self._open_plain()
            return
        # A database that another process may write to must not be opened as immutable.
        # The lock is kept until the reader is closed, so that nobody else finishes the recording.
        in_use = not system.share_lock(fd)
        if not in_use and not log_recovery.is_at(log_path, fd):
            raise LogMoved
        self.live = in_use and log_recovery.is_live(fd)
        self._open_with_tail(log, in_use=in_use)

    def _open_plain(self) -> None:
        if not self.path.exists():
            raise NotARecording(self.path, "no such file")
        self._own(database.open_readonly(self.path))
        if Path(f"{self._place}{WAL}").exists() and not database.is_empty(self.connection):
            self.connection.close()
            database.fold(self._place)
            self._own(database.open_readonly(self.path))
        if database.is_empty(self.connection):
            raise NotARecording(self.path, "it is empty")
        self._name_rows()
        if self.recording.state in ("recording", "unindexed"):
            self.warning = f"{self.path}{LOG_SUFFIX} is missing: frames not yet indexed are lost"
        if kept := damaged_log.files(self._place):
            self._warn_of_damage(kept[0])

    def _open_text(self) -> None:
        from acp_proxy.store.copies.text_import import read_text_form

        try:
            source = self._source or self._files.enter_context(open_plain(self.path))
            self._own(new_rows())
            read_text_form(source, self.path, self.connection)
        except sqlite3.Error as e:  # of the temporary database
            raise UnreadableRecording(self.path, f"its rows cannot be kept ({e})") from None
        self._name_rows()
        if self.recording.state in ("recording", "unindexed"):
            self.warning = f"{self.path} was exported before the recording had ended"

    def _warn_of_damage(self, where: Path) -> None:
        """Adds the unreadable parts of the log to the warning, if there are any."""
        if spans := damaged_log.places(self.connection):
            text = damaged_log.warning(self.path, spans, where)
            self.warning = f"{self.warning}; {text}" if self.warning else text

    def _own(self, connection: sqlite3.Connection) -> None:
        self.connection = self._files.enter_context(contextlib.closing(connection))

    def _open_with_tail(self, log: "LogReader", *, in_use: bool) -> None:
        from acp_proxy.store.log.log_recovery import LogTail

        present = None
        if self._place.exists() and self._place.stat().st_size:
            self._own(database.open_readonly(self._place, in_use=in_use))
            if in_use:
                present = database.open_readonly(self._place, in_use=True)
                self._files.callback(present.close)
            if self._is_copied:
                copy = sqlite3.connect("", check_same_thread=False)
                self.connection.backup(copy)
                self._own(copy)
        else:
            self._own(sqlite3.connect(":memory:", check_same_thread=False))
        # The recorder may have created the file but not the tables yet.
        if database.is_empty(self.connection):
            self._own(sqlite3.connect(":memory:", check_same_thread=False))
            database.migrate(self.connection)
            present = None
        attach_tail(self.connection)
        self._tail = LogTail(self.connection, log, present or self.connection)
        self._tail.read()
        if not self.live:
            self._tail.settle()
        self._name_rows()
        if not self.live:
            self._warn_of_damage(Path(f"{self.path}{LOG_SUFFIX}"))
        self._mask()

    def _name_rows(self) -> None:
        """Creates the views that queries use. Masks the rows, unless a tail must be read first."""
        has_tail = self._tail is not None
        late = None if self._tail is None or self.unredacted else self._tail.indexer
        if (late and late.state.search_before) or self._is_masked_here(("main",)):
            from acp_proxy.store.queries.masked_rows import mask

            schemas = ("tail", "main") if has_tail else ("main",)
            known = {**self._known}
            if late and late.masking:
                known |= late.masking.redactor.snapshot().values
            self.masked_rows = mask(self.connection, schemas, _MARKER_KEY, self._level, known)
        is_masked_here = self.masked_rows is not None
        self.tables = make_views(self.connection, tail=has_tail, masked=is_masked_here)
        if not has_tail:
            self._mask()

    def _mask(self) -> None:
        """Masks the rows that were added since the last call."""
        tail, masked = self._tail, self.masked_rows
        schemas = ("tail", "main") if tail is not None else ("main",)
        if masked is None:
            return
        if self._is_masked_here(schemas):
            masked.read(self._watch)
        elif tail is not None and (masking := tail.indexer.masking) is not None:
            until, before = tail.indexer.state.search_before, self._masked_before
            if until > before:
                masked.mask_again(masking.redactor, until - 1, self._watch)
            self._masked_before = max(until, before)

    def _is_masked_here(self, schemas: tuple[str, ...]) -> bool:
        """Whether this reader itself masks the secrets in the rows."""
        if self.unredacted:
            return False
        if self._level is not None or self._known:
            return True
        return not any(is_masked(self.connection, schema) for schema in schemas)


def is_text(path: Path) -> bool:
    """Whether a file is a text form of a recording. False for a database."""
    if database.is_sqlite(path):
        return False
    from acp_proxy.store.copies.text_import import is_text_form

    return is_text_form(path)
