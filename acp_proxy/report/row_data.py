"""Reads the data of each row of a report: columns, cells, and the bytes of its line.

Each value of a column is stored as a code, an unsigned number:

- The code of null is 0.
- The code of a number is its zigzag encoding plus 1, so that small numbers of either sign need few
  bytes.
- The code of a text is its index in a list plus 1.

A column of differences stores, for each number, its difference from the previous number in the
column; nulls between the two do not count.

The codes of a column are written as planes of bytes, which compress well: the lowest bytes of all
rows, then the next bytes, and so on, as many as the largest code needs.
"""

import base64
from array import array
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from sys import byteorder
from typing import Any, NamedTuple

from acp_proxy.base.limits import REMEMBERED_CALLS, SHOWN_BYTES
from acp_proxy.explain.hints import HintReader
from acp_proxy.explain.log.folding import RunFinder, chunk_in
from acp_proxy.explain.log.timeline import TimelineLine, chunk_text, event_line, frame_line
from acp_proxy.explain.observed_faults import delivered_instead
from acp_proxy.explain.origins import is_known
from acp_proxy.explain.pauses import Pauses
from acp_proxy.explain.stats.turn_times import Part, waiting_part
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row, is_excerpt

_WORD = 8
"""The size in bytes of an array's item, which has room for the code of any 63-bit number."""


def number_codes(values: Sequence[int | None]) -> list[int]:
    """Returns the code of each number; 0 for None."""
    return [0 if v is None else (v << 1) + 1 if v >= 0 else -v << 1 for v in values]


def differences(values: Sequence[int | None]) -> Iterator[int | None]:
    """Yields the first number, and then the difference of each number from the previous number."""
    before = 0
    for value in values:
        if value is None:
            yield None
        else:
            yield value - before
            before = value


def planes(codes: Sequence[int]) -> tuple[int, bytes]:
    """Returns the number of planes of a column, and the bytes of all planes.

    Args:
        codes: the code of each row's value.
    """
    width = (max(codes, default=0).bit_length() + 7) // 8
    if width <= 1:
        return width, bytes(codes) if width else b""
    if width <= _WORD:
        items = array("Q", codes)
        if byteorder == "big":
            items.byteswap()
        data, size = items.tobytes(), _WORD
    else:
        data, size = b"".join(code.to_bytes(width, "little") for code in codes), width
    return width, b"".join(data[plane::size] for plane in range(width))


class Texts:
    """The distinct texts of all columns, numbered in the order of their first use."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {None: 0}
        self._new: list[str] = []

    def codes(self, values: Sequence[str | None]) -> list[int]:
        """Returns the code of each text; 0 for None.

        Args:
            values: the texts; None for a row without a text.
        """
        known = self._codes
        for text in dict.fromkeys(values):
            if text not in known and text is not None:
                known[text] = len(known)
                self._new.append(text)
        return [*map(known.__getitem__, values)]

    def take_new(self) -> list[str]:
        """Returns the texts that are new since the last call."""
        new, self._new = self._new, []
        return new


OWN_COLUMNS = ("seq", "t_ns", "arrival_ns", "size", "length")
"""Columns of numbers whose values nearly always differ from row to row."""
SHARED_COLUMNS = (
    "stream", "kind", "method", "exchange", "session", "turn", "tool_call", "terminal", "newline",
    "delivered", "fault", "request_seq", "response_seq", "latency_ns", "answer_session",
    "answer_terminal", "update", "tone", "flags", "from", "to", "fate", "call", "delay_ns",
)  # fmt: skip
"""Columns whose values are often the same in consecutive rows."""
DIFFERENCES = ("seq", "t_ns", "exchange")
"""Columns of numbers that are stored as differences between consecutive rows."""
TEXTS = (
    "stream", "kind", "method", "session", "tool_call", "terminal", "newline", "delivered",
    "fault", "answer_session", "answer_terminal", "update", "tone", "from", "to", "fate",
)  # fmt: skip
"""Columns of texts."""

FIRED, MADE_UP, CHANGED, MASKED, IN_PIECES = 1, 2, 4, 8, 16
"""The bits of the column ``flags``."""
_OVERTAKING = ("keep_order", "reorder", "reply")
"""Words that only occur in a plan of faults that may send frames out of order."""


class ReportRow(NamedTuple):
    """A row of a report; a tuple, since there may be a million rows."""

    own: tuple[int, int, int | None, int | None, int]
    """The values of `OWN_COLUMNS`."""
    shared: tuple[Any, ...]
    """The values of `SHARED_COLUMNS`."""
    cells: list[Any]
    """The cells of the row: text, rpc_id, parse_error and fired rules. Nulls at the end are left
    out."""
    data: bytes | None
    """The bytes of the line; None if they must be read in pieces."""
    is_joined: bool
    """Whether the row is a chunk that continues the run of the row before."""
    members: list[dict[str, Any]]
    """The messages of a batch."""


_NO_MEMBERS: list[dict[str, Any]] = []
_labels_of = itemgetter(
    "exchange", "terminal", "newline", "rpc_id", "parse_error", "masked", "request_seq",
    "response_seq", "latency_ns", "answer_session", "answer_terminal",
)  # fmt: skip
"""Returns the labels of a row that may differ among the chunks of one run."""


class RowReader:
    """Reads the data of each row, in order.

    Args:
        reader: the recording of the rows.
        has_payloads: whether cells contain the bytes that faults sent in place of a frame.
    """

    def __init__(self, reader: RecordingReader, *, has_payloads: bool = True) -> None:
        self._hints = HintReader(reader)
        self._runs = RunFinder(Pauses(reader))
        self._most_delivered = SHOWN_BYTES if has_payloads else -1
        self._notes = reader.recording.row_notes  # a row with a note is in no run
        plan = reader.recording.fault_plan or ""
        self._keeps_order = not any(word in plan for word in _OVERTAKING)
        """Whether no fault can send a frame before an earlier frame."""
        self._sent_ns: dict[str, int] = {}
        """For each stream, the time when its latest delayed frame was sent."""
        self._is_open = reader.is_open
        self._has_sizes = is_known(reader.recording, "size")
        self._calls: dict[tuple[str | None, str], tuple[int, int]] = {}
        """For each session and id of a tool call: where the latest call with this id begins, and
        the number of this call's first frame."""
        self._labels: tuple[Any, ...] | None = None
        """The labels of the previous row if this row is a chunk with text; otherwise None."""
        self._shared: tuple[Any, ...] = ()
        """The shared values of the previous row. The next row has the same shared values if its
        labels equal the labels of the previous row."""
        self._cells: list[Any] = []

    def read(self, row: Row) -> ReportRow:
        """Returns the data of the next row of `Rows.rows`."""
        chunk = chunk_in(row)
        is_joined = self._runs.continues(row, None if row["seq"] in self._notes else chunk)
        if "raw" not in row:
            return _event(row)
        t_ns, size = row["t_ns"], row["size"]
        own = row["seq"], t_ns, t_ns - row["t_first_ns"], size if self._has_sizes else None, size
        text = chunk_text(row, chunk)
        labels = None if text is None else _labels_of(row)
        if is_joined and text is not None and labels == self._labels and not self._sent_ns:
            cells = [text, *self._cells[1:]]
            return ReportRow(own, self._shared, cells, row["raw"], True, _NO_MEMBERS)
        line = self._line(row)
        self._labels, self._cells = labels, self._cells_of(row, line)
        self._shared = *_shared(row, line), self._first_of_call(row), self._delay_ns(row)
        members = [*self._members(row)] if "members" in row else _NO_MEMBERS
        data = None if is_excerpt(row) else row["raw"]
        return ReportRow(own, self._shared, self._cells, data, is_joined, members)

    def _delay_ns(self, row: Row) -> int | None:
        """Returns how long a frame was delayed; None without a known delay."""
        stream, t_ns = row["stream"], row["t_ns"]
        late = [ns for f in row.get("fired") or () if (ns := f["late_ns"]) is not None]
        if not late and row["delivered"] != "none" and stream in self._sent_ns:
            late = [self._sent_ns[stream] - t_ns]  # an earlier late frame held this frame up
        late_ns = max(late, default=0)
        if late_ns > 0 and self._keeps_order:
            self._sent_ns[stream] = t_ns + late_ns
        return late_ns if late_ns > 0 else None

    def _first_of_call(self, row: Row) -> int | None:
        """Returns the number of the first frame of a row's tool call; None without a tool call."""
        call, seq = row["tool_call"], row["seq"]
        if call is None:
            return None
        key = (row["session"], call)
        start, _ = self._hints.span(*key, seq)
        known = self._calls.get(key)
        if known is None or known[0] != start:  # an agent may use an id again
            known = self._calls[key] = start, seq
            if len(self._calls) > REMEMBERED_CALLS:
                del self._calls[next(iter(self._calls))]
        return known[1]

    def _line(self, row: Row) -> TimelineLine:
        return frame_line(row, live=self._is_open, hints=self._hints.of(row))

    def _members(self, batch: Row) -> Iterator[dict[str, Any]]:
        offset = 0
        for member in batch["members"]:
            own = {**member, "newline": None, "fault": None, "delivered": "full", "fired": []}
            line = self._line(own)
            raw = member["raw"]
            offset = batch["raw"].index(raw, offset)
            cells = [*self._cells_of(own, line), None, None, None]
            yield {
                "seq": own["seq"],
                "t_ns": own["t_ns"],
                **dict(zip(SHARED_COLUMNS, _shared(own, line), strict=False)),
                "fault": batch["fault"],
                "size": len(raw),
                "text": cells[0],
                "rpc_id": cells[1],
                "parse_error": cells[2],
                "offset": offset,
                "length": len(raw),
            }
            offset += len(raw)

    def _cells_of(self, row: Row, line: TimelineLine) -> list[Any]:
        fired = [_fired(firing, self._most_delivered) for firing in row.get("fired") or ()]
        cells = [line.text, row["rpc_id"], row["parse_error"], fired or None]
        while len(cells) > 1 and cells[-1] is None:
            cells.pop()
        return cells


def _shared(row: Row, line: TimelineLine) -> tuple[Any, ...]:
    """Returns the values of all columns in `SHARED_COLUMNS` except the last two."""
    method = row["method"]
    is_update = method == UPDATE and row["kind"] == Kind.NOTIFICATION
    update = line.cells.method if is_update and line.cells.method != UPDATE else None
    flags = _flags(row)
    return (
        row["stream"], row["kind"], method, row["exchange"], row["session"], row["turn"],
        row["tool_call"], row["terminal"], row["newline"], row["delivered"], row["fault"],
        row["request_seq"], row["response_seq"], row["latency_ns"], row["answer_session"],
        row["answer_terminal"], update, line.tone, flags, *_ends(row), _fate(row, flags),
    )  # fmt: skip


def _ends(row: Row) -> tuple[str | None, str | None]:
    """Returns the sender of a message, and who has to act on it; (None, None) for stderr."""
    stream, kind = row["stream"], row["kind"]
    part = waiting_part(row["method"])
    answering = "client" if part is Part.OTHER else part.value
    if stream == "to-client":
        return "agent", answering if kind == Kind.REQUEST else "client"
    if stream == "to-agent":
        return answering if kind in (Kind.RESPONSE, Kind.ERROR) else "client", "agent"
    return None, None


def _fate(row: Row, flags: int) -> str | None:
    """Returns what happened to a frame, such as ``dropped``; None if it was delivered unchanged."""
    if flags & MADE_UP:
        return "injected"
    if row["delivered"] == "none":
        return "undelivered" if row["fault"] is None else "dropped"
    if flags & CHANGED:
        return "changed"
    return "undelivered" if row["delivered"] == "partial" else None


def _flags(row: Row) -> int:
    flags = MASKED if row["masked"] else 0
    if is_excerpt(row):
        flags |= IN_PIECES
    if row["fault"] is None:
        return flags
    fired = row.get("fired") or ()
    if fired:
        flags |= FIRED
    if any(firing["made"] for firing in fired):
        flags |= MADE_UP
    if row["delivered"] != "full" or delivered_instead(row) is not None:
        flags |= CHANGED
    return flags


def _fired(firing: Mapping[str, Any], most: int) -> dict[str, Any]:
    member = {"rule": firing["rule"], "action": firing["action"], "made": bool(firing["made"])}
    delivered, text, encoded = firing["delivered"], None, None
    if isinstance(delivered, bytes) and len(delivered) <= most:
        try:
            text = delivered.decode()
        except UnicodeDecodeError:
            encoded = base64.b64encode(delivered).decode()
    return {**member, "delivered": text, "base64": encoded, "size": firing["size"]}


_EVENT: dict[str, Any] = {**dict.fromkeys(SHARED_COLUMNS), "stream": "event", "flags": 0}


def _event(row: Row) -> ReportRow:
    line = event_line(row)
    data = row["data"].encode()
    shared = {**_EVENT, "kind": row["kind"], "tone": line.tone}
    own = (row["seq"], row["t_ns"], None, None, len(data))
    return ReportRow(own, (*shared.values(),), [line.text], data, False, _NO_MEMBERS)
