"""What `inspect stats` says: how much passed, how quick answers were, where the time went.

The traffic is counted from heads of frames and the table of exchanges; payloads are read only of
what is shown by name: prompts, first chunks, the heaviest tool calls and one turn's waterfall.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from attrs import evolve, frozen

from acp_proxy.filters import EVERYTHING, Filter, parse
from acp_proxy.inspection.measures.call_state import HEAD, CallState, params_of, state_of
from acp_proxy.inspection.measures.traffic import CallTraffic, MethodStatistics, Traffic, totals
from acp_proxy.inspection.measures.turn_times import TurnTime, TurnTimes, WholeTime
from acp_proxy.inspection.measures.waterfall import VOICE, TurnWaterfall, Waterfall
from acp_proxy.inspection.preview import prompt_text
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.recording import FrameHead
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_PROMPT = 200
"""Characters of a prompt that are kept."""
_LARGEST = 1 << 20
"""Bytes of a line beyond which it is no chunk."""
_READ = 8
"""Frames at the beginning and at the end of a tool call that are read."""

Row = dict[str, Any]
Watch = Callable[[Iterator[FrameHead]], Iterator[FrameHead]]


@frozen
class CallStatistics:
    """One tool call: what it weighed, and what it was."""

    session: str | None
    tool_call: str
    title: str | None
    kind: str | None
    status: str | None
    turn: int | None
    frames: int
    bytes: int
    start_ns: int
    duration_ns: int


@frozen
class Statistics:
    """Everything that `inspect stats` says of a recording."""

    path: str
    live: bool
    duration_ns: int
    """From the start to the last thing that happened, or until now while it runs."""
    frames: int
    """That were counted: all, or those that the filter means."""
    bytes: int
    time: WholeTime
    methods: list[MethodStatistics]
    turns: list[TurnTime]
    """Those of the frames that were counted, each measured whole."""
    tool_call_count: int
    tool_calls: list[CallStatistics]
    """The heaviest."""
    waterfall: TurnWaterfall | None = None


def gather(
    reader: RecordingReader, chosen: Filter = EVERYTHING, *, top: int = 10, watch: Watch = iter
) -> Statistics:
    """Counts a recording in one pass over its frames, or in two if a filter means but some.

    Turns come without their prompts and first chunks, see `with_texts`; nor is there a waterfall.

    Args:
        reader: the recording.
        chosen: which frames to count.
        top: how many tool calls to name.
        watch: is given the heads of all frames that are counted, and passes them on.

    Raises:
        UnreadableRecording: it is damaged.
    """
    end_ns = end_of(reader)
    traffic = Traffic(end_ns)
    times = TurnTimes(reader.query(_TURNS), reader.query(f"{_REQUESTS} ORDER BY request_seq"))
    heads = watch(reader.heads(chosen))
    if chosen is EVERYTHING:
        for head in heads:
            traffic.feed(head)
            times.feed(head)
    else:
        for head in heads:
            traffic.feed(head)
        for head in reader.heads():
            times.feed(head)
    for exchange in reader.query(_EXCHANGES):
        if chosen is EVERYTHING or traffic.includes(exchange):
            traffic.take(exchange)
    turns, whole = times.finish(end_ns)
    methods = traffic.methods()
    frames, size = totals(methods)
    return Statistics(
        str(reader.path),
        reader.live,
        end_ns,
        frames,
        size,
        whole,
        methods,
        [turn for turn in turns if chosen is EVERYTHING or turn.id in traffic.turns],
        traffic.calls,
        [_named(reader, call) for call in traffic.heaviest_calls(top)],
    )


def end_of(reader: RecordingReader) -> int:
    """When the last thing happened, or how late it is while the recorder runs."""
    ends = [next(reader.query(sql), {"t_ns": 0})["t_ns"] for sql in (_LAST_FRAME, _LAST_EVENT)]
    if reader.live:
        started = datetime.fromisoformat(reader.recording.started_at)
        ends.append(time.time_ns() - int(started.timestamp() * 1e6) * 1000)
    return max(0, *ends)


def with_texts(reader: RecordingReader, turn: TurnTime) -> TurnTime:
    """Reads what the heads of a turn's frames do not tell: its prompt and its first chunk."""
    rows = reader.query(f"SELECT {_BEGINNING} FROM frames WHERE seq = ?", (turn.prompt_seq,))
    texts = (plain(prompt_text(params_of(row["raw"])))[:_PROMPT] for row in rows)
    first = _first_chunk_ns(reader, turn)
    return evolve(
        turn,
        prompt=next(texts, ""),
        first_chunk_ns=None if first is None else max(0, first - turn.start_ns),
    )


def waterfall(reader: RecordingReader, turn: TurnTime, most: int | None = None) -> TurnWaterfall:
    """Lays a turn out in time.

    Args:
        reader: its recording.
        turn: with its texts.
        most: how many steps to keep, the longest ones; all if it is None.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    last = turn.end_seq if turn.end_seq is not None and not turn.open else _last_seq(reader)
    span = (turn.prompt_seq, last)
    rows = reader.query(_OTHERS, (turn.id, last, turn.prompt_seq))
    others = [(row["prompt_seq"], row["last"]) for row in rows]
    requests = reader.query(
        f"{_REQUESTS} AND request_seq BETWEEN ? AND ? ORDER BY request_seq", span
    )
    steps = Waterfall(turn, requests, others, most)
    for frame in reader.payloads(parse(f"seq:{max(0, span[0])}..{max(0, last)}")):
        steps.feed(frame)
    return steps.finished()


def slowest(turns: Iterable[TurnTime], most: int) -> list[TurnTime]:
    """The turns that took longest, in their order."""
    found = sorted(turns, key=lambda turn: (-turn.duration_ns, turn.id))[:most]
    return sorted(found, key=lambda turn: turn.id)


def _first_chunk_ns(reader: RecordingReader, turn: TurnTime) -> int | None:
    last = _LAST_SEQ if turn.open or turn.end_seq is None else turn.end_seq
    for row in reader.query(_SAID, (turn.prompt_seq, last, turn.id)):
        chunk = chunk_of(row["raw"])
        if chunk is not None and chunk.update in VOICE:
            t_ns: int = row["t_ns"]
            return t_ns
    return None


def _last_seq(reader: RecordingReader) -> int:
    rows = reader.query("SELECT seq FROM frames ORDER BY seq DESC LIMIT 1")
    return int(next(rows, {"seq": 0})["seq"])


def _named(reader: RecordingReader, call: CallTraffic) -> CallStatistics:
    state = CallState()
    for order in ("DESC", "ASC"):
        some = list(reader.query(_CALL.format(order), (call.tool_call, call.session)))
        if order == "DESC":
            some.reverse()
            late = some
        else:
            for row in some + late:
                state = state.updated(state_of(row["raw"]))
    return CallStatistics(
        call.session,
        call.tool_call,
        state.title,
        state.kind,
        state.status,
        call.turn,
        call.frames,
        call.bytes,
        call.start_ns,
        call.duration_ns,
    )


_LAST_SEQ = 2**63 - 1
_BEGINNING = f"substr(raw, 1, {HEAD}) AS raw"
_TURNS = "SELECT id, session, prompt_seq, end_seq, stop_reason FROM turns"
_EXCHANGES = (
    "SELECT id, direction, method, request_seq, response_seq, latency_ns, outcome FROM exchanges"
)
_REQUESTS = (
    "SELECT request_seq, response_seq, method, outcome FROM exchanges WHERE direction = 'to-client'"
)
_LAST_FRAME = "SELECT t_ns FROM frames ORDER BY seq DESC LIMIT 1"
_LAST_EVENT = "SELECT t_ns FROM events ORDER BY seq DESC LIMIT 1"
_OTHERS = (
    f"SELECT prompt_seq, coalesce(end_seq, {_LAST_SEQ}) AS last FROM turns"
    f" WHERE id != ? AND prompt_seq <= ? AND coalesce(end_seq, {_LAST_SEQ}) >= ?"
)
_SAID = (
    f"SELECT t_ns, raw FROM frames WHERE seq BETWEEN ? AND ? AND turn = ? AND tool_call IS NULL"
    f" AND size <= {_LARGEST} ORDER BY seq"
)
_CALL = (
    f"SELECT {_BEGINNING} FROM frames WHERE tool_call = ? AND session IS ?"
    f" AND kind IN ('notification', 'request') ORDER BY seq {{}} LIMIT {_READ}"
)
