"""Measures a recording: the traffic, the speed of answers, and the time spent in turns.

Traffic is counted from the stored sizes of frames. The lines of frames are read only for prompts,
first chunks, the heaviest tool calls, and the waterfall of a turn.
"""

import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import takewhile

from attrs import evolve, field, frozen

from acp_proxy.base.limits import SMALL_LINE
from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.describe.tool_texts import params_of
from acp_proxy.explain.message_pass import PAUSE_NS, Listener, MessagePass, messages_of
from acp_proxy.explain.origins import known_value
from acp_proxy.explain.show.conversation_summary import read_prompts
from acp_proxy.explain.show.frame_pass import silent_call
from acp_proxy.explain.stats.traffic import CallStatistics, MethodStatistics, Traffic
from acp_proxy.explain.stats.turn_times import RunningTurn, TurnTime, WholeTime
from acp_proxy.explain.stats.waterfall import VOICE, TurnWaterfall, Waterfalls
from acp_proxy.explain.tokens import read_tokens
from acp_proxy.protocol.call_ids import CallKey
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import DRAFT
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.tool_calls import CallState, call_of
from acp_proxy.recording.filters import EVERYTHING, Filter
from acp_proxy.recording.recording import FrameRun, StoredFrame
from acp_proxy.store.queries import frames as frame_queries
from acp_proxy.store.queries.call_frames import edges_of_call
from acp_proxy.store.queries.exchanges import TurnRow, exchanges, turn_of
from acp_proxy.store.queries.exchanges import turns as read_turns
from acp_proxy.store.queries.frames import Span
from acp_proxy.store.reader import RecordingReader

_READ = 8
"""How many frames of a tool call are read from its beginning, and how many from its end."""

Watch = Callable[[Iterator[StoredFrame]], Iterator[StoredFrame]]


@frozen
class Statistics:
    """The statistics of a recording."""

    path: str
    live: bool
    duration_ns: int
    """The time from the start to the last frame or event; in a live recording, until now."""
    frames: int
    """The number of counted frames: all frames, or the frames that match the filter."""
    bytes: int
    time: WholeTime
    methods: list[MethodStatistics]
    turns: list[TurnTime]
    """The turns that contain counted frames. Each turn is measured as a whole."""
    tool_call_count: int
    tool_calls: list[CallStatistics]
    """The tool calls with the most bytes."""
    waterfall: TurnWaterfall | None = None
    tokens: Tokens | None = None
    """The tokens that the agent reported for the whole recording; None without a report."""
    silent_call: str = field(default="", metadata={"hidden": True})
    """The tool calls that ran during the agent's longest silence, in words; empty without calls."""


class TurnsAndCalls(Listener):
    """Divides each turn's time into parts. Finds first chunks, and ids that several calls share.

    Args:
        reader: the recording.
        messages: the pass over the recording.

    Attributes:
        end_ns: the time of the last frame or event; in a live recording, the present time.
        times: how the turns spent their time.
        repeated: for each id that several tool calls of a session share, the first frames of the
            later calls. A call that is only repeated in a history does not count.
    """

    def __init__(self, reader: RecordingReader, messages: MessagePass) -> None:
        self.end_ns = _end_ns(reader)
        self._reader = reader
        self.times = messages.intervals
        self.repeated: dict[CallKey, array[int]] = {}
        self._messages = messages
        self._first = dict[CallKey, int]()

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Reads the next frame, or the next run of frames that are pieces of one message.

        Args:
            run: the frame, or the run of frames.
            message: the message of the first frame.
            transition: the changes that this message made to the state of the connection.
        """
        for _, change in messages_of(message, transition):
            if change.tool_call is not None:
                self._take_call(run.seq, (change.session, change.tool_call), change)
        if transition.updated is not None and transition.tool_call is None:
            running = self.times.running.get(transition.updated.id)
            if running is not None and running.first_chunk_ns is None:
                self._find_chunk(run, running)

    def _find_chunk(self, run: FrameRun, turn: RunningTurn) -> None:
        """Notes the time of the agent's first chunk in a turn, if the run contains this chunk."""
        for _, t_ns, raw in self._reader.lines_of(run):
            chunk = chunk_of(raw) if len(raw) <= SMALL_LINE else None
            if chunk is not None and chunk.update in VOICE:
                turn.first_chunk_ns = max(0, t_ns - turn.start_ns)
                return

    def _take_call(self, seq: int, key: CallKey, transition: Transition) -> None:
        first = self._first.setdefault(key, seq)
        if not transition.begins_call or first == seq:
            return
        since = self._messages.history_seq(transition.session) if transition.turn is None else None
        if since is None or first >= since:
            self.repeated.setdefault(key, array("q")).append(seq)


def gather(
    reader: RecordingReader,
    chosen: Filter = EVERYTHING,
    *,
    top: int = 10,
    watch: Watch = iter,
    passed: TurnsAndCalls | None = None,
) -> Statistics:
    """Measures a recording in two passes: over all turns, and over the chosen frames.

    The result has no prompts of turns (see `with_texts`) and no waterfall.

    Args:
        reader: the recording.
        chosen: a filter of the frames that are counted.
        top: the largest number of tool calls that are listed.
        watch: a function that yields the counted frames, without their lines, unchanged. It may
            show the progress.
        passed: the result of an earlier first pass; None to make this pass now.
    """
    if passed is None:
        messages = MessagePass(reader)
        passed = TurnsAndCalls(reader, messages)
        messages.play_to([passed], PAUSE_NS)
        messages.intervals.end_silences(passed.end_ns)
    end_ns, traffic = passed.end_ns, Traffic(passed.end_ns, passed.repeated)
    for head in watch(reader.heads(chosen)):
        traffic.feed(head)
    for exchange in exchanges(reader):
        if chosen is EVERYTHING or traffic.includes(exchange):
            traffic.take(exchange)
    turns, whole = passed.times.turn_times(end_ns)
    recorded = read_tokens(reader, read_turns(reader))
    turns = [evolve(turn, tokens=recorded.turns.get(turn.id)) for turn in turns
             if chosen is EVERYTHING or turn.id in traffic.turns]  # fmt: skip
    methods = traffic.methods()
    known = partial(known_value, reader.recording)
    statistics = Statistics(
        str(reader.path),
        reader.live,
        end_ns,
        sum(method.frames for method in methods),
        sum(method.bytes for method in methods),
        whole,
        [*map(known, methods)],
        turns,
        traffic.calls,
        [known(_named(reader, call, span)) for call, span in traffic.heaviest_calls(top)],
        tokens=recorded.whole,
        silent_call=silent_call(reader, passed.times.silences.longest, turns),
    )  # fmt: skip
    return known(statistics)


def _end_ns(reader: RecordingReader) -> int:
    """Returns the time of the last frame or event; in a live recording, the present time."""
    last_ns = frame_queries.last_ns(reader)
    if not reader.live:
        return last_ns
    started = datetime.fromisoformat(reader.recording.started_at)
    return max(last_ns, time.time_ns() - int(started.timestamp() * 1e6) * 1000)


def with_texts(reader: RecordingReader, turns: Iterable[TurnTime]) -> list[TurnTime]:
    """Returns turns with the beginnings of their prompts.

    Args:
        reader: the recording.
        turns: turns of the recording.
    """
    shown = [*turns]
    prompts = read_prompts(reader, shown)
    return [evolve(turn, prompt=prompts.get(turn.id, "")) for turn in shown]


def waterfall(reader: RecordingReader, turn: TurnTime, most: int | None = None) -> TurnWaterfall:
    """Returns the steps of a turn, laid out in time.

    Args:
        reader: the recording of the turn.
        turn: the turn whose steps are returned.
        most: the largest number of steps; see `Waterfalls`. None for all steps.
    """
    messages = MessagePass(reader, _first_beside(reader, turn))
    rows = filter(None, [turn_of(reader, turn.id)])
    steps = Waterfalls(reader, messages, rows, turn.start_ns + turn.duration_ns, most)
    until_done = partial(takewhile, lambda _: not steps.is_done)
    messages.play_to([steps], PAUSE_NS, until_done)
    return steps.finish()[0]


def _first_beside(reader: RecordingReader, turn: TurnTime) -> TurnRow | None:
    """Returns the turn to begin reading with: the earliest turn that overlaps a given turn.

    Returns None if reading must begin at the start of the recording.
    """
    if reader.recording.dialect in (DRAFT, None):
        return None  # how to read messages without a session depends on all earlier sessions
    turns = read_turns(reader)
    beside = [row for row in turns if row.end_seq is None or row.end_seq >= turn.prompt_seq]
    first = min(beside, key=lambda row: row.prompt_seq, default=None)
    # An answer belongs to the oldest open request with its id, which may be older than the turn.
    at = 0 if first is None else first.prompt_seq
    return None if any(exchanges(reader, during=(at - 1, at + 1), most=1)) else first


def slowest(turns: Iterable[TurnTime], most: int) -> list[TurnTime]:
    """Returns the turns that took longest, in recorded order.

    Args:
        turns: the turns of a recording.
        most: the largest number of turns.
    """
    longest = sorted(turns, key=lambda turn: (-turn.duration_ns, turn.id))[:most]
    return sorted(longest, key=lambda turn: turn.id)


def _named(reader: RecordingReader, call: CallStatistics, span: Span) -> CallStatistics:
    now = CallState()
    for line in edges_of_call(reader, call.session, call.tool_call, span, _READ):
        now.take(call_of(params_of(line)))
    return evolve(call, title=now.title or None, kind=now.kind or None, status=now.status or None)
