"""What other rooms ask of a recording, as functions named for what they return.

This is where SQL for the command line, the diff and the engines stands; `inspection_queries` has
what only `inspection` asks. Each function takes an open recording, reads as little as its answer
needs, and raises `UnreadableRecording` if the file is damaged or locked.
"""

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acp_proxy.recording import RecordedEvent
from acp_proxy.store.rows import Rows


class AnsweredRequest(NamedTuple):
    """A request that has its answer."""

    exchange: int
    method: str | None
    direction: str
    latency_ns: int


class TurnSpan(NamedTuple):
    """Where a turn stands: the numbers of the frames that begin and end it."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    """None if it never ended."""


def answered_requests(rows: Rows) -> Iterator[AnsweredRequest]:
    """Yields the requests that have an answer, in the order in which they were sent."""
    sql = (
        "SELECT id, method, direction, latency_ns FROM exchanges"
        " WHERE latency_ns IS NOT NULL ORDER BY request_seq"
    )
    return (AnsweredRequest(*row.values()) for row in rows.query(sql))


def exchanges_open_during(rows: Rows, spans: Iterable[tuple[int, int]]) -> set[int]:
    """Finds the answered exchanges that were open in one of some spans of time.

    Args:
        rows: the recording.
        spans: start and end, in nanoseconds since the recording began.

    Returns:
        The numbers of the exchanges.
    """
    sql = (
        "SELECT DISTINCT e.id FROM exchanges AS e JOIN frames AS f ON f.seq = e.request_seq"
        " JOIN json_each(?) AS span WHERE f.t_ns < json_extract(span.value, '$[1]')"
        " AND f.t_ns + e.latency_ns > json_extract(span.value, '$[0]')"
    )
    return {row["id"] for row in rows.query(sql, (json.dumps([*spans]),))}


def request_methods(rows: Rows) -> set[str]:
    """Returns the methods of all requests."""
    sql = "SELECT DISTINCT method FROM exchanges WHERE method IS NOT NULL"
    return {row["method"] for row in rows.query(sql)}


def events(rows: Rows, *kinds: str) -> Iterator[RecordedEvent]:
    """Yields events in recorded order.

    Args:
        rows: the recording.
        kinds: of the events; all kinds if none is given.
    """
    chosen = f"WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
    sql = f"SELECT seq, t_ns, kind, data FROM events {chosen} ORDER BY seq"
    for row in rows.query(sql, kinds):
        yield RecordedEvent(row["seq"], row["t_ns"], row["kind"], json.loads(row["data"]))


def clock_origin_ns(rows: Rows) -> int | None:
    """Returns what the recorder's monotonic clock showed at the start; None if it is not known."""
    for event in events(rows, "start"):
        origin = event.data.get("origin")
        return origin if isinstance(origin, int) else None
    return None


def turn_spans(rows: Rows) -> list[TurnSpan]:
    """Returns where each turn stands, in order."""
    sql = "SELECT id, session, prompt_seq, end_seq FROM turns ORDER BY id"
    return [TurnSpan(*row.values()) for row in rows.query(sql)]


def turn_count(rows: Rows) -> int:
    """Returns how many turns there are."""
    return next(rows.query("SELECT count(*) AS n FROM turns"))["n"]  # type: ignore[no-any-return]


def first_prompt(rows: Rows, most: int) -> bytes | None:
    """Returns the start of the first ``session/prompt`` request, or None if there is none.

    Args:
        rows: the recording.
        most: bytes of it at the most.
    """
    sql = (
        "SELECT substr(raw, 1, ?) AS raw FROM frames"
        " WHERE seq = (SELECT min(prompt_seq) FROM turns)"
    )
    return next((bytes(row["raw"]) for row in rows.query(sql, (most,))), None)


def has_fired_faults(rows: Rows) -> bool:
    """Whether a fault has done anything, to a frame or otherwise."""
    sql = (
        "SELECT 1 AS n WHERE EXISTS (SELECT 1 FROM faults_fired)"
        " OR EXISTS (SELECT 1 FROM events WHERE kind = 'fault')"
    )
    return any(True for _ in rows.query(sql))
