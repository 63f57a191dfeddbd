"""What `inspection` asks of a recording, as functions named for what they return.

Each takes an open recording, reads as little as its answer needs, and raises `UnreadableRecording`
if the file is damaged or locked. What other rooms ask as well stands in `queries`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.store.queries import TurnSpan
from acp_proxy.store.rows import Rows

LAST_SEQ = 2**63 - 1
"""The largest number that SQLite compares with; no frame has it."""

Row = dict[str, Any]
Span = tuple[int, int]
"""The first and the last number of a stretch of frames."""


class ExchangeRow(NamedTuple):
    """A request and its answer; the answer's members are None while there is none."""

    id: int
    direction: str
    """Of the request."""
    method: str | None
    rpc_id: str | None
    session: str | None
    request_seq: int
    response_seq: int | None
    latency_ns: int | None
    outcome: str | None


class TurnRow(NamedTuple):
    """A turn with its counters."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    stop_reason: str | None
    duration_ns: int | None
    updates: int
    tool_calls: int
    outcome: str | None
    """Of the prompt."""


class TimedFrame(NamedTuple):
    """A frame's number, when it came, and its session."""

    seq: int
    t_ns: int
    session: str | None


class LostAnswer(NamedTuple):
    """An answer that a fault kept from its receiver."""

    method: str | None
    request_seq: int
    response_seq: int
    rule: str


# Exchanges


def exchanges(
    rows: Rows,
    *,
    methods: Sequence[str] = (),
    direction: str | None = None,
    outcome: str | None = None,
    order: str = "id",
    most: int = -1,
) -> Iterator[ExchangeRow]:
    """Yields exchanges.

    Args:
        rows: the recording.
        methods: only those with one of these methods, if there are any.
        direction: only those whose request went there.
        outcome: only those with this outcome.
        order: the column by which they are sorted.
        most: how many at the most; all if it is negative.
    """
    conditions = [f"method IN ({', '.join('?' * len(methods))})"] if methods else []
    conditions += [f"{name} = ?" for name, value in (("direction", direction), ("outcome", outcome))
                   if value is not None]  # fmt: skip
    values = [*methods, *filter(None, (direction, outcome))]
    yield from _exchanges(rows, conditions, values, f"ORDER BY {order} LIMIT {most}")


def open_exchanges(rows: Rows, most: int) -> Iterator[ExchangeRow]:
    """Yields the first requests without an answer, at most so many.

    Args:
        rows: the recording.
        most: how many at the most.
    """
    return _exchanges(rows, ["response_seq IS NULL"], [], f"ORDER BY id LIMIT {most}")


def client_requests(rows: Rows, first: int = 0, last: int = LAST_SEQ) -> Iterator[ExchangeRow]:
    """Yields the requests to the client by number.

    Args:
        rows: the recording.
        first: the number from which on they count.
        last: the number up to which they count.
    """
    conditions = ["direction = 'to-client'", "request_seq BETWEEN ? AND ?"]
    return _exchanges(rows, conditions, [first, last], "ORDER BY request_seq")


def initialization(rows: Rows) -> ExchangeRow | None:
    """Returns the last initialization, an answered one if there is any."""
    conditions = [f"method IN ({', '.join('?' * len(INITIALIZE))})", "direction = 'to-agent'"]
    order = "ORDER BY response_seq IS NULL, id DESC LIMIT 1"
    return next(_exchanges(rows, conditions, INITIALIZE, order), None)


def exchanges_by_own_session(rows: Rows) -> Iterator[ExchangeRow]:
    """Yields all exchanges; that which makes a fork has the session that the fork is made of."""
    sql = (
        "SELECT id, direction, method, rpc_id, CASE method WHEN 'session/fork' THEN"
        " (SELECT session FROM frames WHERE seq = request_seq) ELSE session END AS session,"
        " request_seq, response_seq, latency_ns, outcome FROM exchanges"
    )
    return (ExchangeRow(*row.values()) for row in rows.query(sql))


def has_succeeded_after(rows: Rows, method: str | None, seq: int) -> bool:
    """Whether a request to the agent succeeded that was sent after a frame.

    Args:
        rows: the recording.
        method: of the request.
        seq: the number of the frame.
    """
    sql = (
        "SELECT 1 AS n FROM exchanges WHERE method = ? AND direction = 'to-agent'"
        " AND outcome = 'result' AND request_seq > ? LIMIT 1"
    )
    return any(True for _ in rows.query(sql, (method, seq)))


def open_exchange_count(rows: Rows) -> int:
    """Returns how many requests have no answer."""
    return _count(rows, "SELECT count(*) AS n FROM exchanges WHERE response_seq IS NULL")


def error_count(rows: Rows) -> int:
    """Returns how many requests were answered with an error."""
    return _count(rows, "SELECT count(*) AS n FROM exchanges WHERE outcome = 'error'")


def first_request_of_sessions(rows: Rows) -> dict[str, int]:
    """Returns the first request about each session, in the order of these requests."""
    sql = (
        "SELECT session, min(request_seq) AS seq FROM exchanges WHERE session IS NOT NULL"
        " GROUP BY session ORDER BY min(request_seq)"
    )
    return {row["session"]: row["seq"] for row in rows.query(sql)}


def requested_sessions(rows: Rows) -> list[str]:
    """Returns the sessions that requests name."""
    return _sessions(rows, "exchanges")


def sessions_of_frames(rows: Rows) -> list[str]:
    """Returns the sessions that frames name; this looks at every frame."""
    return _sessions(rows, "frames")


# Turns


def turns(rows: Rows) -> list[TurnRow]:
    """Returns all turns."""
    sql = (
        "SELECT id, session, prompt_seq, end_seq, stop_reason, duration_ns, updates,"
        " tool_calls, (SELECT outcome FROM exchanges AS e WHERE request_seq = prompt_seq"
        " AND method = 'session/prompt' AND e.session IS turns.session LIMIT 1) AS outcome"
        " FROM turns ORDER BY id"
    )
    return [TurnRow(*row.values()) for row in rows.query(sql)]


def turn_of(rows: Rows, turn: int) -> TurnSpan | None:
    """Returns where a turn stands, or None if there is none of that number.

    Args:
        rows: the recording.
        turn: the number of the turn.
    """
    sql = "SELECT id, session, prompt_seq, end_seq FROM turns WHERE id = ?"
    return next((TurnSpan(*row.values()) for row in rows.query(sql, (turn,))), None)


def open_turn_count(rows: Rows) -> int:
    """Returns how many turns have no end."""
    return _count(rows, "SELECT count(*) AS n FROM turns WHERE end_seq IS NULL")


# Frames


def last_seq(rows: Rows) -> int:
    """Returns the number of the last frame; 0 if there is none."""
    found = rows.query("SELECT seq FROM frames ORDER BY seq DESC LIMIT 1")
    return int(next(found, {"seq": 0})["seq"])


def last_number(rows: Rows) -> int:
    """Returns the number of the last frame or event; 0 if there is none."""
    found = rows.query("SELECT seq FROM events ORDER BY seq DESC LIMIT 1")
    return max(last_seq(rows), int(next(found, {"seq": 0})["seq"]))


def last_ns(rows: Rows) -> int:
    """Returns when the last thing happened, in nanoseconds since the start."""
    ends = [0]
    for table in ("frames", "events"):
        found = rows.query(f"SELECT t_ns FROM {table} ORDER BY seq DESC LIMIT 1")
        ends.append(next(found, {"t_ns": 0})["t_ns"])
    return max(ends)


def frames_by_number(rows: Rows, seqs: Sequence[int], whole: int, batch: int) -> Iterator[Row]:
    """Yields frames in order, each with as much of its line as is asked for.

    Args:
        rows: the recording.
        seqs: the numbers.
        whole: bytes of the largest line that is read whole; of a larger one come the first 64 KiB.
        batch: the same for a batch.
    """
    sql = (
        "SELECT seq, t_ns, stream, kind, method, exchange, session, turn, tool_call,"
        " CASE WHEN length(raw) <= CASE kind WHEN 'batch' THEN ? ELSE ? END"
        " THEN raw ELSE substr(raw, 1, 65536) END AS raw"
        " FROM frames WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
    )
    return rows.query(sql, (batch, whole, json.dumps(seqs)))


def start_of_line(rows: Rows, seq: int, most: int) -> tuple[str, bytes] | None:
    """Returns the kind of a frame and the start of its line; None if there is no such frame.

    Args:
        rows: the recording.
        seq: its number.
        most: bytes of the line at the most.
    """
    sql = "SELECT kind, substr(raw, 1, ?) AS raw FROM frames WHERE seq = ?"
    found = rows.query(sql, (most, seq))
    return next(((row["kind"], bytes(row["raw"])) for row in found), None)


def frame_times(rows: Rows, seqs: Iterable[int]) -> dict[int, int]:
    """Returns when frames came, by their numbers.

    Args:
        rows: the recording.
        seqs: the numbers.
    """
    sql = "SELECT seq, t_ns FROM frames WHERE seq IN (SELECT value FROM json_each(?))"
    return {row["seq"]: row["t_ns"] for row in rows.query(sql, (json.dumps([*seqs]),))}


def parse_error_of(rows: Rows, seq: int) -> str | None:
    """Returns why a frame is no message.

    Args:
        rows: the recording.
        seq: the number of the frame.
    """
    found = rows.query("SELECT parse_error FROM frames WHERE seq = ?", (seq,))
    return next((row["parse_error"] for row in found), None)


def last_stderr_lines(rows: Rows, most: int, size: int) -> list[bytes]:
    """Returns the last lines on stderr, in order.

    Args:
        rows: the recording.
        most: how many.
        size: bytes of each at the most.
    """
    start = f"CASE WHEN length(raw) > {size} THEN substr(raw, 1, {size}) ELSE raw END"
    sql = f"SELECT {start} AS raw FROM frames WHERE kind = 'stderr' ORDER BY seq DESC LIMIT {most}"
    return [bytes(row["raw"]) for row in rows.query(sql)][::-1]


def updates_outside_turns(rows: Rows, spans: Iterable[Span]) -> Iterator[TimedFrame]:
    """Yields the session updates of no turn that stand within some stretches.

    Args:
        rows: the recording.
        spans: the stretches, which do not overlap; neither end of one counts.
    """
    sql = (
        "SELECT f.seq, f.t_ns, f.session FROM json_each(?) AS span CROSS JOIN frames AS f"
        " ON f.seq > json_extract(span.value, '$[0]') AND f.seq < json_extract(span.value, '$[1]')"
        " WHERE f.turn IS NULL AND f.method || '' = 'session/update' AND f.stream = 'to-client'"
        " AND f.kind = 'notification'"
    )
    # `|| ''` keeps SQLite from the index of methods, by which it would read all updates again
    # for each stretch.
    return (TimedFrame(*row.values()) for row in rows.query(sql, (json.dumps([*spans]),)))


def batches_of_agent(rows: Rows, after: int, largest: int, most: int) -> Iterator[Row]:
    """Yields batches that the agent sent.

    Args:
        rows: the recording.
        after: the number of a frame beyond which they stand.
        largest: bytes of a line at the most.
        most: how many at the most.
    """
    sql = (
        "SELECT seq, t_ns, stream, raw FROM frames WHERE kind = 'batch' AND seq > ?"
        f" AND stream = 'to-client' AND size <= {largest} ORDER BY seq LIMIT {most}"
    )
    return rows.query(sql, (after,))


def small_updates_of_turn(
    rows: Rows, turn: int, span: Span, largest: int
) -> Iterator[tuple[int, bytes]]:
    """Yields time and line of the frames of a turn that are about no tool call.

    Args:
        rows: the recording.
        turn: the turn.
        span: its first and last frame.
        largest: bytes of a line at the most.
    """
    sql = (
        "SELECT t_ns, raw FROM frames WHERE seq BETWEEN ? AND ? AND turn = ? AND tool_call IS NULL"
        f" AND size <= {largest} ORDER BY seq"
    )
    return ((row["t_ns"], row["raw"]) for row in rows.query(sql, (*span, turn)))


def updates_of_call(
    rows: Rows, session: str | None, tool_call: str, upto: int, most: int
) -> Iterator[bytes]:
    """Yields the start of the first updates of a tool call.

    Args:
        rows: the recording.
        session: of the tool call.
        tool_call: its id.
        upto: the last number that counts.
        most: how many at the most.
    """
    sql = (
        "SELECT substr(raw, 1, 65536) AS raw FROM frames WHERE tool_call = ? AND session IS ?"
        f" AND method = 'session/update' AND seq <= ? ORDER BY seq LIMIT {most}"
    )
    return (bytes(row["raw"]) for row in rows.query(sql, (tool_call, session, upto)))


def edges_of_call(rows: Rows, session: str | None, tool_call: str, most: int) -> list[bytes]:
    """Returns the start of the first and of the last lines about a tool call, in order.

    Args:
        rows: the recording.
        session: of the tool call.
        tool_call: its id.
        most: how many of either at the most; if there are fewer, some come twice.
    """
    sql = (
        "SELECT substr(raw, 1, 65536) AS raw FROM frames WHERE tool_call = ? AND session IS ?"
        f" AND kind IN ('notification', 'request') ORDER BY seq {{}} LIMIT {most}"
    )
    first, last = (
        [row["raw"] for row in rows.query(sql.format(order), (tool_call, session))]
        for order in ("ASC", "DESC")
    )
    return first + last[::-1]


def call_updates_of_turn(rows: Rows, turn: int, span: Span) -> Iterator[int]:
    """Yields the numbers of a turn's updates of tool calls, and of all batches beside them.

    Args:
        rows: the recording.
        turn: the turn.
        span: the first and last number that count.
    """
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND ((turn = ? AND tool_call IS NOT NULL"
        " AND method = 'session/update') OR kind = 'batch')"
    )
    return (row["seq"] for row in rows.query(sql, (*span, turn)))


def updates_and_batches(
    rows: Rows, session: str | None, tool_call: str, span: Span
) -> Iterator[int]:
    """Yields the numbers of the updates of a tool call, and of all batches beside them.

    Args:
        rows: the recording.
        session: of the tool call.
        tool_call: its id.
        span: the first and last number that count.
    """
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND ((tool_call = ? AND session IS ?"
        " AND method = 'session/update') OR kind = 'batch') LIMIT 10000"
    )
    return (row["seq"] for row in rows.query(sql, (*span, tool_call, session)))


def program_exits(rows: Rows) -> set[int]:
    """Returns the answers to ``terminal/output`` by which the program has exited."""
    sql = (
        "SELECT seq FROM frames WHERE method = 'terminal/output' AND kind = 'response'"
        " AND instr(raw, CAST('\"exitStatus\":' AS BLOB)) > 0"
        " AND instr(raw, CAST('\"exitStatus\":null' AS BLOB)) = 0"
    )
    return {row["seq"] for row in rows.query(sql)}


def frames_before(rows: Rows, stream: str, seq: int, most: int) -> Iterator[TimedFrame]:
    """Yields the frames of a stream before a number, the last one first.

    Args:
        rows: the recording.
        stream: the stream.
        seq: the number.
        most: how many at the most.
    """
    sql = (
        "SELECT seq, t_ns, session FROM frames WHERE stream = ? AND seq < ?"
        f" ORDER BY seq DESC LIMIT {most}"
    )
    return (TimedFrame(*row.values()) for row in rows.query(sql, (stream, seq)))


def undelivered_frames(rows: Rows, stream: str, span: Span, most: int) -> list[int]:
    """Returns the numbers of frames that were not delivered whole.

    Args:
        rows: the recording.
        stream: their stream.
        span: the first and last number that count.
        most: how many at the most.
    """
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND stream = ? AND delivered != 'full'"
        f" ORDER BY seq LIMIT {most}"
    )
    return [row["seq"] for row in rows.query(sql, (*span, stream))]


# Faults


def fired_counts(rows: Rows) -> dict[str, int]:
    """Returns how often each rule fired, by its name in the order in which they began."""
    sql = (
        "SELECT rule, count(*) AS n FROM faults_fired WHERE received IS NOT NULL"
        " GROUP BY rule ORDER BY min(seq)"
    )
    return {str(row["rule"]): row["n"] for row in rows.query(sql)}


def injected_frames(rows: Rows) -> dict[int, str]:
    """Returns the frames that a fault put in, with its rule."""
    sql = "SELECT seq, rule FROM faults_fired WHERE received IS NULL"
    return {row["seq"]: str(row["rule"]) for row in rows.query(sql)}


def withheld_frames(rows: Rows, seqs: Iterable[int]) -> dict[int, str]:
    """Returns which of some frames a fault kept from their receiver, with its rule.

    Args:
        rows: the recording.
        seqs: the numbers of the frames.
    """
    sql = (
        "SELECT seq, fault FROM frames WHERE seq IN (SELECT value FROM json_each(?))"
        " AND fault IS NOT NULL AND delivered = 'none'"
    )
    return {row["seq"]: str(row["fault"]) for row in rows.query(sql, (json.dumps([*seqs]),))}


def lost_answers(rows: Rows, most: int) -> list[LostAnswer]:
    """Returns the first answers that a fault kept from their receiver, at most so many.

    Args:
        rows: the recording.
        most: how many at the most.
    """
    sql = (
        "SELECT e.method, e.request_seq, e.response_seq, f.fault FROM exchanges AS e"
        " JOIN frames AS f ON f.seq = e.response_seq"
        f" WHERE f.fault IS NOT NULL AND f.delivered = 'none' ORDER BY e.id LIMIT {most}"
    )
    return [LostAnswer(*row.values()) for row in rows.query(sql)]


def _exchanges(
    rows: Rows, conditions: Sequence[str], values: Sequence[object], end: str
) -> Iterator[ExchangeRow]:
    names = ", ".join(ExchangeRow._fields)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    for row in rows.query(f"SELECT {names} FROM exchanges {where} {end}", tuple(values)):
        yield ExchangeRow(*row.values())


def _count(rows: Rows, sql: str) -> int:
    return int(next(rows.query(sql))["n"])


def _sessions(rows: Rows, table: str) -> list[str]:
    sql = f"SELECT DISTINCT session FROM {table} WHERE session IS NOT NULL"
    return [row["session"] for row in rows.query(sql)]
