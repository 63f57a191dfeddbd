"""Queries of the exchanges and turns of a recording; each query is one function.

Each function reads an open recording, and raises `UnreadableRecording` if the file is damaged or
locked.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.store.rows import Rows


class ExchangeRow(NamedTuple):
    """A request and its answer; the columns of the answer are None if there is no answer."""

    id: int
    direction: str
    """The direction of the request."""
    method: str | None
    rpc_id: str | None
    session: str | None
    request_seq: int
    response_seq: int | None
    latency_ns: int | None
    outcome: str | None


class TurnRow(NamedTuple):
    """A turn, with the number of its updates and the number of its tool calls."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    """The number of the frame that ended the turn; None if the turn never ended."""
    stop_reason: str | None
    duration_ns: int | None
    updates: int
    tool_calls: int
    outcome: str | None
    """The outcome of the prompt."""


_TURNS = (
    "SELECT id, session, prompt_seq, end_seq, stop_reason, duration_ns, updates, tool_calls,"
    " (SELECT outcome FROM exchanges AS e WHERE request_seq = prompt_seq"
    " AND method = 'session/prompt' AND e.session IS turns.session LIMIT 1) AS outcome FROM turns"
)


_DURING = f"{{}}_seq <= ? AND ifnull({{}}_seq, {LAST_NUMBER}) >= ?"
"""An SQL condition: an exchange or a turn was open all the time between two frames."""


def exchanges(
    rows: Rows,
    *,
    methods: Sequence[str] = (),
    direction: str | None = None,
    outcome: str | None = None,
    is_open: bool = False,
    span: tuple[int, int] | None = None,
    during: tuple[int, int] | None = None,
    order: str = "id",
    most: int = -1,
) -> Iterator[ExchangeRow]:
    """Yields exchanges.

    Args:
        rows: the recording.
        methods: only exchanges with one of these methods, if any are given.
        direction: only exchanges whose request had this direction.
        outcome: only exchanges with this outcome.
        is_open: only exchanges without an answer.
        span: the first and the last frame number; only exchanges whose request is in this range.
        during: the numbers of two neighbouring frames; only exchanges that were open all the time
            between them.
        order: the column to sort by.
        most: the largest number of exchanges; no limit if it is negative.
    """
    wanted = {"direction": direction, "outcome": outcome}
    equal = {name: value for name, value in wanted.items() if value is not None}
    conditions = [f"method IN ({', '.join('?' * len(methods))})"] if methods else []
    conditions += [f"{name} = ?" for name in equal]
    conditions += ["response_seq IS NULL"] if is_open else []
    conditions += ["request_seq BETWEEN ? AND ?"] if span is not None else []
    conditions += [_DURING.format("request", "response")] if during is not None else []
    names = ", ".join(ExchangeRow._fields)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    sql = f"SELECT {names} FROM exchanges {where} ORDER BY {order} LIMIT {most}"
    values = (*methods, *equal.values(), *(span or ()), *(during or ()))
    return (ExchangeRow(*row.values()) for row in rows.query(sql, values))


def initialization(rows: Rows) -> ExchangeRow | None:
    """Returns the last initialization with an answer, else the last one without, else None."""
    order = "response_seq IS NULL, id DESC"
    matches = exchanges(rows, methods=INITIALIZE, direction="to-agent", order=order, most=1)
    return next(matches, None)


def exchanges_by_own_session(rows: Rows) -> Iterator[ExchangeRow]:
    """Yields all exchanges. For a ``session/fork``, the session is the copied one."""
    sql = (
        "SELECT id, direction, method, rpc_id, CASE method WHEN 'session/fork' THEN"
        " (SELECT session FROM frames WHERE seq = request_seq) ELSE session END AS session,"
        " request_seq, response_seq, latency_ns, outcome FROM exchanges"
    )
    return (ExchangeRow(*row.values()) for row in rows.query(sql))


def exchanges_open_during(rows: Rows, spans: Iterable[tuple[int, int]]) -> set[int]:
    """Returns the ids of answered exchanges that were open at any moment of the given spans.

    Args:
        rows: the recording.
        spans: the start and the end of each span, in nanoseconds since the recording began.
    """
    sql = (
        "SELECT DISTINCT e.id FROM exchanges AS e JOIN frames AS f ON f.seq = e.request_seq"
        " JOIN json_each(?) AS span WHERE f.t_ns < json_extract(span.value, '$[1]')"
        " AND f.t_ns + e.latency_ns > json_extract(span.value, '$[0]')"
    )
    return {row["id"] for row in rows.query(sql, (json.dumps([*spans]),))}


def latencies_of_answers(rows: Rows, seqs: Iterable[int]) -> dict[int, int]:
    """Returns the latencies of answers in nanoseconds, by the answers' frame numbers.

    Args:
        rows: the recording.
        seqs: numbers of frames; frames that are not answers are left out.
    """
    sql = (
        "SELECT response_seq, latency_ns FROM exchanges WHERE latency_ns IS NOT NULL"
        " AND response_seq IN (SELECT value FROM json_each(?))"
    )
    answers = rows.query(sql, (json.dumps([*seqs]),))
    return {row["response_seq"]: row["latency_ns"] for row in answers}


def open_exchange_count(rows: Rows) -> int:
    """Counts the requests without an answer."""
    return _count(rows, "exchanges WHERE response_seq IS NULL")


def error_count(rows: Rows) -> int:
    """Counts the requests that were answered with an error."""
    return _count(rows, "exchanges WHERE outcome = 'error'")


def outcome_counts(rows: Rows, method: str) -> dict[str | None, int]:
    """Counts a method's requests to the client by outcome. The key None stands for no answer.

    Args:
        rows: the recording.
        method: the method.
    """
    sql = (
        "SELECT CASE WHEN response_seq IS NOT NULL THEN ifnull(outcome, '') END AS outcome,"
        " count(*) AS n FROM exchanges WHERE method = ? AND direction = 'to-client' GROUP BY 1"
    )
    return {row["outcome"]: row["n"] for row in rows.query(sql, (method,))}


def first_request_of_sessions(rows: Rows) -> dict[str, int]:
    """Returns the frame number of the first request about each session, sorted by this number.

    Sessions that ``nes/start`` opens are left out, since they accept no prompts.
    """
    sql = (
        "SELECT session, min(request_seq) AS seq FROM exchanges WHERE session IS NOT NULL"
        " GROUP BY session HAVING NOT max(method IS 'nes/start') ORDER BY min(request_seq)"
    )
    return {row["session"]: row["seq"] for row in rows.query(sql)}


def requested_sessions(rows: Rows) -> list[str]:
    """Returns the sessions of all exchanges."""
    sql = "SELECT DISTINCT session FROM exchanges WHERE session IS NOT NULL"
    return [row["session"] for row in rows.query(sql)]


def turns(rows: Rows) -> list[TurnRow]:
    """Returns all turns, in order."""
    return [TurnRow(*row.values()) for row in rows.query(f"{_TURNS} ORDER BY id")]


def turn_of(rows: Rows, turn: int) -> TurnRow | None:
    """Returns a turn by its number; None if there is no such turn.

    Args:
        rows: the recording.
        turn: the number of the turn.
    """
    matches = rows.query(f"{_TURNS} WHERE id = ?", (turn,))
    return next((TurnRow(*row.values()) for row in matches), None)


def turns_during(rows: Rows, before: int, after: int) -> Iterator[TurnRow]:
    """Yields the turns that were open all the time between two neighbouring frames.

    Args:
        rows: the recording.
        before: the number of the first of the two frames.
        after: the number of the second frame.
    """
    sql = f"{_TURNS} WHERE {_DURING.format('prompt', 'end')} ORDER BY id"
    return (TurnRow(*row.values()) for row in rows.query(sql, (before, after)))


def turn_count(rows: Rows) -> int:
    """Counts the turns."""
    return _count(rows, "turns")


def last_turn(rows: Rows) -> int:
    """Returns the number of the last turn; 0 if there is none."""
    last = rows.query("SELECT id FROM turns ORDER BY id DESC LIMIT 1")
    return int(next(last, {"id": 0})["id"])


def turn_speeds(rows: Rows, words: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Returns each turn's duration, and the time from the prompt to the first frame with a word.

    Args:
        rows: the recording.
        words: the words to search for, such as kinds of updates. A frame must contain one of the
            words in double quotes.

    Returns:
        Two times in nanoseconds for each turn. The duration is None if the turn has not ended. The
        second time is None if no frame of the turn contains one of the words.
    """
    has_word = " OR ".join(["instr(f.raw, ?)"] * len(words))
    sql = (
        "SELECT duration_ns, (SELECT f.t_ns FROM frames AS f WHERE f.turn = t.id AND f.seq BETWEEN"
        f" prompt_seq AND ifnull(end_seq, {LAST_NUMBER}) AND ({has_word}) ORDER BY f.seq LIMIT 1)"
        " - (SELECT t_ns FROM frames WHERE seq = prompt_seq) AS first_ns FROM turns AS t"
    )
    pairs = rows.query(sql, [f'"{word}"'.encode() for word in words])
    return [(row["duration_ns"], row["first_ns"]) for row in pairs]


def open_turn_count(rows: Rows) -> int:
    """Counts the turns that never ended."""
    return _count(rows, "turns WHERE end_seq IS NULL")


def first_cancel(rows: Rows, session: str | None, after: int) -> int | None:
    """Returns the frame number of a session's first ``session/cancel`` after a frame, or None.

    Args:
        rows: the recording.
        session: the session; None for messages without a session.
        after: the number of the frame.
    """
    return next(iter(cancels(rows, session, after, 1)), None)


def cancels(rows: Rows, session: str | None, after: int, most: int) -> list[int]:
    """Returns the frame numbers of a session's first ``session/cancel`` messages after a frame.

    Args:
        rows: the recording.
        session: the session; None for messages without a session.
        after: the number of the frame.
        most: the largest number of messages.
    """
    sql = (
        "SELECT seq FROM frames WHERE method = 'session/cancel' AND session IS ?"
        f" AND stream = 'to-agent' AND seq > ? ORDER BY seq LIMIT {most}"
    )
    return [row["seq"] for row in rows.query(sql, (session, after))]


def release_after(rows: Rows, seq: int) -> int | None:
    """Returns the number of the answer that confirms the release of a terminal, or None.

    Args:
        rows: the recording.
        seq: the number of an earlier request about the same terminal.
    """
    sql = (
        "SELECT e.response_seq FROM exchanges AS e JOIN frames AS f ON f.seq = e.request_seq"
        " WHERE e.method = 'terminal/release' AND e.outcome = 'result' AND e.request_seq > ?"
        " AND f.terminal = (SELECT terminal FROM frames WHERE seq = ?) LIMIT 1"
    )
    return next((row["response_seq"] for row in rows.query(sql, (seq, seq))), None)


def _count(rows: Rows, chosen: str) -> int:
    return int(next(rows.query(f"SELECT count(*) AS n FROM {chosen}"))["n"])
