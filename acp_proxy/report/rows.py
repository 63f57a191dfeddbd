"""Reads what a report has of each row of a recording: columns, cells, the bytes of its line."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define, field, frozen

from acp_proxy.inspection.fault_effects import delivered_instead
from acp_proxy.inspection.folding import RunFinder, chunk_in
from acp_proxy.inspection.hints import HintReader
from acp_proxy.inspection.timeline import TimelineLine, event_line, frame_line
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.report.delivery_times import delivery_delays
from acp_proxy.store.checked_values import Row, is_excerpt
from acp_proxy.store.reader import RecordingReader

NUMBERS = (
    "arrival_ns", "turn", "size", "length", "request_seq", "response_seq", "latency_ns", "run",
    "flags", "delay_ns",
)  # fmt: skip
"""Columns of numbers."""
DIFFERENCES = ("seq", "t_ns", "exchange")
"""Columns of numbers that are stored as differences."""
TEXTS = (
    "stream", "kind", "method", "session", "tool_call", "terminal", "newline", "delivered",
    "fault", "answer_session", "answer_terminal", "update", "tone",
)  # fmt: skip
"""Columns of texts."""
COLUMNS = (
    "seq", "t_ns", "arrival_ns", "stream", "kind", "method", "exchange", "session", "turn",
    "tool_call", "terminal", "size", "length", "newline", "delivered", "fault", "request_seq",
    "response_seq", "latency_ns", "answer_session", "answer_terminal", "update", "run", "tone",
    "flags", "delay_ns",
)  # fmt: skip
"""All columns in their order; `docs/report-data.md` says what they are."""

FIRED, MADE_UP, CHANGED, MASKED, IN_PIECES = 1, 2, 4, 8, 16
"""Bits of ``flags``."""


@frozen
class ReportRow:
    """A row as a report has it."""

    values: dict[str, Any]
    """By the names of `COLUMNS`, but ``run``."""
    cells: list[Any]
    """text, rpc_id, parse_error and what fired."""
    data: bytes | None
    """Its bytes; None if they are to be read in pieces."""
    is_joined: bool
    """Whether it continues the run of the row before."""
    members: list[dict[str, Any]]
    """The messages of a batch."""


@define
class RowReader:
    """Reads what a report has of each row; the rows come in their order.

    Args:
        reader: their recording.
    """

    reader: RecordingReader
    _hints: HintReader = field(init=False)
    _delays: dict[int, int] = field(init=False)
    _runs: RunFinder = field(factory=RunFinder)

    def __attrs_post_init__(self) -> None:
        self._hints = HintReader(self.reader)
        self._delays = delivery_delays(self.reader)

    def read(self, row: Row) -> ReportRow:
        """Returns what a report has of the next row of `RecordingReader.rows`."""
        if "raw" not in row:
            self._runs.continues(row, None)
            return _event(row)
        chunk = chunk_in(row)
        is_joined = self._runs.continues(row, chunk)
        line = frame_line(row, live=self.reader.live, hints=self._hints.of(row))
        in_pieces = is_excerpt(row)
        more = {
            "length": row["size"],
            "flags": _flags(row),
            "delay_ns": self._delays.get(row["seq"]),
        }
        return ReportRow(
            {**_values(row, line), **more},
            _cells(row, line),
            None if in_pieces else row["raw"],
            is_joined,
            list(self._members(row)),
        )

    def _members(self, batch: Row) -> Iterator[dict[str, Any]]:
        offset = 0
        for member in batch.get("members", ()):
            own = {**member, "newline": None, "fault": None, "delivered": "full"}
            line = frame_line(own, live=self.reader.live, hints=self._hints.of(own))
            raw = member["raw"]
            found = batch["raw"].find(raw, offset)
            offset = found + len(raw)
            text, rpc_id, parse_error, _ = _cells(own, line)
            yield {
                **_values(own, line),
                "text": text,
                "rpc_id": rpc_id,
                "parse_error": parse_error,
                "offset": found,
                "length": len(raw),
            }


def _values(row: Row, line: TimelineLine) -> dict[str, Any]:
    method = row["method"]
    is_update = method == UPDATE and row["kind"] == Kind.NOTIFICATION
    update = line.cells.method if is_update and line.cells.method != UPDATE else None
    return {
        "seq": row["seq"],
        "t_ns": row["t_ns"],
        "arrival_ns": row["t_ns"] - row["t_first_ns"],
        "stream": row["stream"],
        "kind": row["kind"],
        "method": method,
        "exchange": row["exchange"],
        "session": row["session"],
        "turn": row["turn"],
        "tool_call": row["tool_call"],
        "terminal": row["terminal"],
        "size": row["size"],
        "newline": row["newline"],
        "delivered": row["delivered"],
        "fault": row["fault"],
        "request_seq": row["request_seq"],
        "response_seq": row["response_seq"],
        "latency_ns": row["latency_ns"],
        "answer_session": row["answer_session"],
        "answer_terminal": row["answer_terminal"],
        "update": update,
        "tone": line.tone.value,
    }


def _flags(row: Row) -> int:
    fired = row.get("fired") or ()
    flags = FIRED if fired else 0
    if any(one["made"] for one in fired):
        flags |= MADE_UP
    if row["fault"] is not None and (
        row["delivered"] != "full" or delivered_instead(row) is not None
    ):
        flags |= CHANGED
    if row["masked"]:
        flags |= MASKED
    return flags | (IN_PIECES if is_excerpt(row) else 0)


def _cells(row: Row, line: TimelineLine) -> list[Any]:
    fired = [_fired(one) for one in row.get("fired") or ()]
    return [line.text, row["rpc_id"], row["parse_error"], fired or None]


def _fired(one: Mapping[str, Any]) -> dict[str, Any]:
    found = {"rule": one["rule"], "action": one["action"], "made": bool(one["made"])}
    delivered, text, encoded = one["delivered"], None, None
    if isinstance(delivered, bytes):
        try:
            text = delivered.decode()
        except UnicodeDecodeError:
            encoded = base64.b64encode(delivered).decode()
    return {**found, "delivered": text, "base64": encoded, "size": one["size"]}


def _event(row: Row) -> ReportRow:
    line = event_line(row)
    data = row["data"].encode()
    values = {
        **dict.fromkeys(COLUMNS),
        "seq": row["seq"],
        "t_ns": row["t_ns"],
        "stream": "event",
        "kind": row["kind"],
        "length": len(data),
        "tone": line.tone.value,
        "flags": 0,
    }
    return ReportRow(values, [line.text, None, None, None], data, False, [])
