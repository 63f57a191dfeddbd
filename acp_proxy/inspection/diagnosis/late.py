"""Updates that came after the end of a turn, found by where turns begin and end.

Between the end of one turn of a session and its next prompt there are few updates, and the index
finds them by their session and number, however long the recording is.
"""

import json
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from acp_proxy.inspection.diagnosis.lines import LARGEST
from acp_proxy.store.reader import RecordingReader

REPLAYING = ("session/load", "session/resume", "session/fork")
"""Requests before whose answer an agent streams a session's history."""
_MOST = 10_000
_LAST = 1 << 62

Span = tuple[int, int]
Row = dict[str, Any]


@frozen
class Late:
    """An update in a session that had no open turn any more."""

    seq: int
    turn: int
    """The last turn of the session."""
    end_seq: int
    after_ns: int


@frozen
class _Gap:
    """What lies between the end of a turn and the next prompt of its session."""

    session: str | None
    turn: int
    first: int
    """The frame that ended the turn."""
    last: int
    """The next prompt."""


def late_updates(reader: RecordingReader) -> Iterator[Late]:
    """Yields the first ten thousand candidates, in order; what they are, their payloads tell."""
    gaps = list(_gaps(reader))
    if not gaps:
        return
    spans = json.dumps([[gap.session, gap.first, gap.last] for gap in gaps])
    rows = reader.query(
        "SELECT g.key AS gap, f.seq, f.t_ns, f.session FROM json_each(?) AS g JOIN frames AS f"
        " ON f.session IS json_extract(g.value, '$[0]') AND f.method = 'session/update'"
        " AND f.seq > json_extract(g.value, '$[1]') AND f.seq < json_extract(g.value, '$[2]')"
        " WHERE f.stream = 'to-client' AND f.kind = 'notification'"
        f" ORDER BY f.seq LIMIT {_MOST}",
        (spans,),
    )
    found = sorted([*rows, *_in_batches(reader, gaps)], key=lambda row: row["seq"])
    ends = _times(reader, {gaps[row["gap"]].first for row in found})
    histories = _histories(reader) if found else {}
    for row in found:
        gap = gaps[row["gap"]]
        spans_ = histories.get(row["session"], [])
        if not any(first < row["seq"] < last for first, last in spans_):
            after = row["t_ns"] - ends.get(gap.first, row["t_ns"])
            yield Late(row["seq"], gap.turn, gap.first, after)


def _in_batches(reader: RecordingReader, gaps: list[_Gap]) -> Iterator[Row]:
    """The candidates among the messages of batches, each batch once."""
    if not reader.first_of_kind("batch"):
        return
    sql = (
        "SELECT seq, t_ns, stream, raw FROM frames WHERE kind = 'batch' AND seq > ?"
        f" AND stream = 'to-client' AND size <= {LARGEST} ORDER BY seq LIMIT {_MOST}"
    )
    for batch in reader.query(sql, (min(gap.first for gap in gaps),)):
        for message in reader.members(batch):
            if message["method"] == "session/update" and message["turn"] is None:
                for number, gap in enumerate(gaps):
                    is_within = gap.first < batch["seq"] < gap.last
                    if gap.session == message["session"] and is_within:
                        yield {**message, "gap": number}


def _gaps(reader: RecordingReader) -> Iterator[_Gap]:
    """The stretches in which a session that had a turn has none."""
    by_session: dict[str | None, list[Row]] = {}
    for row in reader.query("SELECT id, session, prompt_seq, end_seq FROM turns ORDER BY id"):
        by_session.setdefault(row["session"], []).append(row)
    for session, turns in by_session.items():
        covered = 0
        for turn, later in zip(turns, [*turns[1:], None], strict=True):
            end = _LAST if turn["end_seq"] is None else turn["end_seq"]
            if end >= covered:
                covered, last = end, turn["id"]
            following = _LAST if later is None else later["prompt_seq"]
            if following > covered + 1:
                yield _Gap(session, last, covered, following)


def _times(reader: RecordingReader, seqs: set[int]) -> dict[int, int]:
    sql = "SELECT seq, t_ns FROM frames WHERE seq IN (SELECT value FROM json_each(?))"
    return {row["seq"]: row["t_ns"] for row in reader.query(sql, (json.dumps([*seqs]),))}


def _histories(reader: RecordingReader) -> dict[str | None, list[Span]]:
    """The stretches in which a session's history was streamed."""
    marks = ", ".join("?" * len(REPLAYING))
    found: dict[str | None, list[Span]] = {}
    for row in reader.query(
        f"SELECT session, request_seq, response_seq FROM exchanges WHERE method IN ({marks})",
        REPLAYING,
    ):
        last = _LAST if row["response_seq"] is None else row["response_seq"]
        found.setdefault(row["session"], []).append((row["request_seq"], last))
    return found
