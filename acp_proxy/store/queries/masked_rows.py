"""Masks a recording while it is being read, if it was recorded without masking.

All lines are searched once, in order, before anything is shown. Masked lines, events and fired
faults are stored in a temporary database, ``masked``. The views of a recording (`views`) contain
the masked rows instead of the rows of the file, so readers need no code for masking.
`MaskedRows.mask_again` masks rows that are stored already, after a secret has become known.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.limits import LARGE_LINE, LAST_NUMBER, PIECE, WHOLE_VALUE
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.recording import Recording
from acp_proxy.redaction.edits import Edits, apply, apply_to_pieces
from acp_proxy.redaction.json_strings import decoded_base64
from acp_proxy.redaction.markers import MARKER, Markers, kind_in
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.store.indexing.line_masking import masked_fields
from acp_proxy.store.tables.checked_values import limited
from acp_proxy.store.tables.schema import NEWLINE_CODES, STREAMS
from acp_proxy.store.tables.views import MASKED, MASKED_LINES, first_place

_TOGETHER = 16
"""How many lines are searched together."""
_TABLES = (
    "frame_rows (seq INTEGER PRIMARY KEY, raw BLOB)",
    "events (seq INTEGER PRIMARY KEY, data TEXT)",
    "faults_fired (place INTEGER PRIMARY KEY, received BLOB, delivered BLOB)",
)
_MESSAGES = frozenset(code for code, stream in STREAMS.items() if stream is not Stream.STDERR)
_TEXTS = (
    "cwd", "end_reason", "fault_plan", "note", "client_name", "client_version", "agent_name",
    "agent_version",
)  # fmt: skip
"""Columns of the table ``recording`` that may contain text of a peer or a user."""

Watch = Callable[[Iterable[Any], int], Iterable[Any]]
"""A function that yields the given rows and shows the progress. Its second argument is the total
number of rows."""


@frozen
class Level:
    """The options that decide what is masked; see `Redactor`."""

    private: bool = False
    """Whether prompts, messages and contents of files are masked too."""
    paths: tuple[tuple[str, ...], ...] = ()
    """The JSON pointers of further values that are masked."""
    extra: tuple[Any, ...] = ()
    """Further patterns whose matches are masked."""

    @property
    def name(self) -> str:
        """The value of ``recording.redaction`` for this level."""
        return "private" if self.private else "secrets"


def mask(
    connection: sqlite3.Connection,
    schemas: tuple[str, ...],
    marker_key: str,
    level: Level | None = None,
    known: Mapping[str, str] | None = None,
) -> "MaskedRows":
    """Attaches a database for masked rows to a connection. Returns the `MaskedRows` that fills it.

    Args:
        connection: the recording.
        schemas: the databases with rows: the tail, if there is one, and the file.
        marker_key: the key of the markers, in hexadecimal digits.
        level: what to mask; secrets by default.
        known: known secrets, each with its marker.

    Raises:
        sqlite3.Error: a temporary file cannot be created.
    """
    chosen = level or Level()
    markers = Markers(bytes.fromhex(marker_key))
    values = {value: markers.of(kind_in(old), value) for value, old in (known or {}).items()}
    state = RedactorState(marker_key, values=values)
    redactor = Redactor(state, private=chosen.private, paths=chosen.paths, extra=chosen.extra)
    return MaskedRows(connection, redactor, schemas, level)


def masked_recording(recording: Recording, redactor: Redactor) -> Recording:
    """Returns a copy of a recording's row in which the secrets are masked.

    Args:
        recording: the row of the recording.
        redactor: the redactor that has read the rows of this recording.
    """
    masked = redactor.command(recording.words)
    is_same = masked == recording.words
    changes: dict[str, Any] = {} if is_same else {"command": json.dumps(masked, ensure_ascii=False)}
    for name in _TEXTS:
        value = getattr(recording, name)
        if isinstance(value, str):
            changes[name] = redactor.text(value)
    return evolve(recording, **changes)


class MaskedRows:
    """The masked rows of one recording.

    Args:
        connection: the recording.
        redactor: finds the secrets.
        schemas: the databases with rows: the tail, if there is one, and the file.
        level: what to mask; secrets by default.

    Attributes:
        count: how many values were masked.
        made: the markers that replace the masked values.
        masked_again: the highest number of a row that was masked again, because a secret in this
            row was recognized only in a later row; 0 if no row was masked again.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        redactor: Redactor,
        schemas: tuple[str, ...],
        level: Level | None = None,
    ) -> None:
        self._connection = connection
        self._redactor = redactor
        self._schemas = schemas[::-1]
        self._level, self._is_asked = (level or Level()).name, level is not None
        self._after, self._until = 0, LAST_NUMBER
        self._learned = 0
        """The last row in which a new secret was recognized, if earlier rows must be masked
        again."""
        self._fired_after = dict.fromkeys(schemas, 0)
        self._recordings: dict[Recording, Recording] = {}
        self._of_row = redactor.again()
        self.count = self.masked_again = 0
        self.made: set[str] = set()
        connection.execute(f"ATTACH '' AS {MASKED}")  # a temporary file, in memory while small
        for table in _TABLES:
            connection.execute(f"CREATE TABLE {MASKED}.{table}")

    def read(self, watch: Watch | None = None) -> None:
        """Masks the rows that were added since the last call.

        Args:
            watch: a function that shows the progress.

        Raises:
            sqlite3.Error: the file is damaged, or the masked rows cannot be stored.
        """
        is_own = not self._connection.in_transaction  # otherwise the caller commits
        self._read_all(watch)
        self.count = self._redactor.count
        if self._learned:
            self.mask_again(self._redactor, self._learned, watch)
            self._learned = 0
        if is_own:
            self._connection.commit()

    def mask_again(self, redactor: Redactor, until: int, watch: Watch | None = None) -> None:
        """Masks all rows up to ``until`` a second time, because later rows have revealed secrets.

        Args:
            redactor: the redactor that has read these rows, and therefore knows the secrets.
            until: the number of the last row to mask.
            watch: as for `read`.
        """
        self.masked_again = max(self.masked_again, until)
        kept = self._redactor, self._after, self._until, self._fired_after
        self._redactor, self._after, self._until = redactor.again(), 0, until
        self._fired_after = dict.fromkeys(self._schemas, 0)
        self._recordings, self._of_row = {}, self._redactor
        try:
            self._read_all(watch)
        finally:
            self._redactor, self._after, self._until, self._fired_after = kept

    def _read_all(self, watch: Watch | None) -> None:
        for schema in self._schemas:
            rows: Iterable[Any] = self._rows(schema)
            self._read(schema, rows if watch is None else watch(rows, self._size(schema)))

    @property
    def values(self) -> dict[str, str]:
        """The secrets that were found so far, each with its marker."""
        return self._redactor.snapshot().values

    def recording(self, recording: Recording) -> Recording:
        """Returns a copy of the recording's row in which the secrets are masked."""
        known = self._recordings.get(recording)
        if known is None:
            known = masked_recording(recording, self._of_row)
            self._note(str(recording), str(known))
            is_private = recording.redaction == "private"
            if (known != recording or self.count or self._is_asked) and not is_private:
                known = evolve(known, redaction=self._level)
            self._recordings = {recording: known}
        return known

    def _size(self, schema: str) -> int:
        sql = f"SELECT count(*) FROM {schema}.frame_rows WHERE seq > ? AND seq <= ?"
        return int(self._connection.execute(sql, (self._after, self._until)).fetchone()[0])

    def _rows(self, schema: str) -> sqlite3.Cursor:
        return self._connection.execute(
            f"SELECT seq, flags & 3, iif(length(raw) <= {LARGE_LINE}, raw, NULL), length(raw)"
            f" FROM {schema}.frame_rows WHERE seq > ? AND seq <= ? ORDER BY seq",
            (self._after, self._until),
        )

    def _read(self, schema: str, rows: Iterable[Any]) -> None:
        others = self._others(schema)
        upcoming = next(others, None)
        made = self._made(schema)
        remaining = iter(rows)
        # With a level, the watch may limit the time of each row, so rows are masked one by one.
        together = 1 if self._is_asked else _TOGETHER
        known = self._redactor.known
        while some := list(islice(remaining, together)):
            last = some[-1][0]
            is_alone = upcoming is None or upcoming[0] >= last
            if is_alone and self._hold_nothing(some, made):
                self._after = max(self._after, last)
                continue
            for seq, code, raw, size in some:
                while upcoming is not None and upcoming[0] < seq:
                    upcoming[1]()
                    upcoming = next(others, None)
                self._after = max(self._after, seq)
                self._frame_row(schema, seq, code, raw, size, is_made=seq in made)
            if self._redactor.known > known:
                known, self._learned = self._redactor.known, last
        while upcoming is not None:
            upcoming[1]()
            upcoming = next(others, None)
        if self._redactor.known > known:
            self._learned = self._after

    def _hold_nothing(self, rows: list[Any], made: set[int]) -> bool:
        """Whether a single search shows that several consecutive rows have nothing to mask."""
        lines = [raw for _, code, raw, _ in rows if code in _MESSAGES and type(raw) is bytes]
        if len(lines) < len(rows) or not made.isdisjoint(seq for seq, _, _, _ in rows):
            return False
        return self._redactor.holds_nothing(lines)

    def _frame_row(
        self, schema: str, seq: int, code: int, raw: Any, size: Any, *, is_made: bool
    ) -> None:
        stream = STREAMS.get(code)
        if stream is None or not isinstance(size, int):
            return  # no recorder has written this row, and no reader shows it
        if not isinstance(raw, bytes):
            pieces = partial(self._pieces, schema, seq)
            if edits := self._redactor.large(stream, pieces):
                self._keep_large(seq, size, pieces, edits)
                self._note_edits(edits)
            return
        if is_made:
            edits = self._redactor.changed(stream, raw)
        else:
            edits = self._redactor.line(stream, raw, partial(self._following, schema, seq, code))
        if edits:
            sql = f"REPLACE INTO {MASKED}.frame_rows VALUES (?, ?)"
            self._connection.execute(sql, (seq, apply(raw, edits)))
            self._note_edits(edits)

    def _others(self, schema: str) -> Iterator[tuple[int, Callable[[], None]]]:
        """Returns pairs: a number, and a function that masks an event or a fired fault.

        The number is the number of the event, or of the frame on which the fault fired. The caller
        has to call each function before it masks a frame with a higher number.
        """
        execute = self._connection.execute
        bounds = self._after, self._until
        events = execute(f"SELECT seq FROM {schema}.events WHERE seq > ? AND seq <= ?", bounds)
        others = [(seq, partial(self._event, schema, seq)) for (seq,) in events]
        fired = execute(
            f"SELECT rowid, seq FROM {schema}.faults_fired WHERE rowid > ? AND seq <= ?"
            " ORDER BY rowid",
            (self._fired_after[schema], self._until),
        )
        for place, seq in fired:
            self._fired_after[schema] = place
            if isinstance(seq, int):
                others.append((seq, partial(self._fired, schema, place, seq)))
        others.sort(key=lambda pair: pair[0])
        self._after = max([self._after, *(seq for seq, _ in others)])
        return iter(others)

    def _made(self, schema: str) -> set[int]:
        """Returns the numbers of injected frames. Their chunks continue no earlier text."""
        sql = f"SELECT seq FROM {schema}.faults_fired WHERE received IS NULL"
        return {seq for (seq,) in self._connection.execute(sql)}

    def _following(self, schema: str, seq: int, code: int) -> Iterator[bytes]:
        """Yields the lines of a stream after the frame ``seq``, except injected lines."""
        for each in self._schemas[self._schemas.index(schema) :]:
            rows = self._connection.execute(
                f"SELECT raw FROM {each}.frame_rows WHERE seq > ? AND flags & 3 = ?"
                f" AND length(raw) <= {LARGE_LINE} AND seq NOT IN"
                f" (SELECT seq FROM {each}.faults_fired WHERE received IS NULL) ORDER BY seq",
                (seq, code),
            )
            yield from (raw for (raw,) in rows if isinstance(raw, bytes))

    def _pieces(self, schema: str, seq: int) -> Iterator[bytes]:
        blobopen = self._connection.blobopen
        with blobopen("frame_rows", "raw", seq, readonly=True, name=schema) as blob:
            while piece := blob.read(PIECE):
                yield piece

    def _keep_large(
        self, seq: int, size: int, pieces: Callable[[], Iterable[bytes]], edits: Edits
    ) -> None:
        size += sum(len(edit.new) - (edit.end - edit.start) for edit in edits)
        sql = f"REPLACE INTO {MASKED}.frame_rows VALUES (?, zeroblob(?))"
        with limited(self._connection):
            self._connection.execute(sql, (seq, size))
        with self._connection.blobopen("frame_rows", "raw", seq, name=MASKED) as blob:
            for piece in apply_to_pieces(pieces(), edits):
                blob.write(piece)

    def _event(self, schema: str, seq: int) -> None:
        sql = f"SELECT data FROM {schema}.events WHERE seq = ?"
        (data,) = self._connection.execute(sql, (seq,)).fetchone()
        try:
            fields = json.loads(data)
        except (ValueError, TypeError, RecursionError):
            return
        if isinstance(fields, dict) and (masked := masked_fields(self._redactor, fields)) != fields:
            values = (seq, json.dumps(masked))
            self._connection.execute(f"REPLACE INTO {MASKED}.events VALUES (?, ?)", values)
            self._note(data, values[1])

    def _fired(self, schema: str, place: int, seq: int) -> None:
        """Masks the received and the delivered bytes of a fired fault.

        Bytes that equal the bytes of the frame are replaced by the masked frame.
        """
        columns = (
            f"CASE WHEN length({name}) <= {WHOLE_VALUE} THEN {name} END"
            for name in ("received", "delivered")
        )
        received, delivered = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM {schema}.faults_fired WHERE rowid = ?", (place,)
        ).fetchone()
        stream, raw, masked = self._frame(seq)
        values = [
            value
            if not isinstance(value, bytes)
            else masked + value[len(raw) :]
            if value[: len(raw)] == raw and value[len(raw) :] in NEWLINE_CODES
            else self._alone(stream, value)
            for value in (received, delivered)
        ]
        if values != [received, delivered]:
            sql = f"REPLACE INTO {MASKED}.faults_fired VALUES (?, ?, ?)"
            self._connection.execute(sql, (place + first_place(schema), *values))

    def _frame(self, seq: int) -> tuple[Stream, bytes, bytes]:
        """Returns the stream, the line and the masked line of a frame.

        Both lines are empty if the line is too large, or if there is no such frame.
        """
        for schema in self._schemas:
            row = self._connection.execute(
                f"SELECT f.flags & 3, f.raw, {MASKED_LINES.line} FROM {schema}.frame_rows AS f"
                f" WHERE f.seq = ? AND length(f.raw) <= {WHOLE_VALUE}",
                (seq,),
            ).fetchone()
            if row is not None and isinstance(row[1], bytes):
                return STREAMS.get(row[0], Stream.STDERR), row[1], row[2]
        return Stream.TO_CLIENT, b"", b""

    def _alone(self, stream: Stream, line: bytes) -> bytes:
        raw = line.removesuffix(b"\n").removesuffix(b"\r")
        edits = self._redactor.changed(stream, raw)
        self._note_edits(edits)
        return apply(raw, edits) + line[len(raw) :]

    def _note_edits(self, edits: Edits) -> None:
        for edit in edits:
            text = edit.new.decode("utf-8", "replace")
            self._note("", text if MARKER.search(text) else decoded_base64(text) or "")

    def _note(self, before: str, after: str) -> None:
        known = {match[0] for match in MARKER.finditer(before)}
        self.made |= {match[0] for match in MARKER.finditer(after)} - known
