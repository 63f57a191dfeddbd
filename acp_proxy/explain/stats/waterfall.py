"""Lays a turn out in time: the order and the length of its steps, and whom each request waits for.

The steps are the prompt, each run of pieces of a message or thought, each tool call, each request
of the agent to its client, each silence of the agent in which no tool call runs, and the end. Steps
may overlap. All times come from `intervals`.

Memory grows with the number of steps, not with the number of frames.
"""

import heapq
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import define, field, frozen

from acp_proxy.base.limits import LAST_NUMBER, TITLE
from acp_proxy.base.wording import plain
from acp_proxy.explain.describe.tool_texts import call_in, params_of
from acp_proxy.explain.message_pass import Listener, MessagePass, messages_of
from acp_proxy.explain.preview import preview
from acp_proxy.explain.show.chosen_messages import read_person_requests
from acp_proxy.explain.show.conversation_summary import read_prompts
from acp_proxy.explain.show.summary_values import REJECTED, rejected_calls
from acp_proxy.explain.stats.turn_times import PAUSE_NS, Interval, Part, waiting_part
from acp_proxy.protocol.chunks import Chunk, ChunkReader
from acp_proxy.protocol.connection_state import Exchange, Transition, Turn
from acp_proxy.protocol.jsonrpc import Direction, Message
from acp_proxy.protocol.tool_calls import CallState, call_of
from acp_proxy.protocol.updates import AGENT_TEXT, THOUGHT_CHUNKS, UPDATE
from acp_proxy.recording.recording import FrameRun
from acp_proxy.store.queries.exchanges import TurnRow, exchanges
from acp_proxy.store.reader import RecordingReader

VOICE = {AGENT_TEXT: "message", **dict.fromkeys(THOUGHT_CHUNKS, "thought")}
"""The kinds of updates in which an agent speaks or thinks, each with the kind of its step."""
_SHORTEST, _LONG_NS = 20, 2 * 10**9
"""A silence is a step if it takes at least 1/20 of the turn, or at least two seconds."""


@frozen
class WaterfallStep:
    """One step of a turn."""

    kind: str
    """The kind of the step: prompt, thought, message, tool_call, request, silence or end."""
    seq: int | None
    """The number of the step's first frame. For a silence, the frame that ended it; None if the
    recording ended first."""
    start_ns: int
    """The time from the prompt to the start of the step, in nanoseconds."""
    duration_ns: int
    title: str
    """The words for the step: the beginning of a text, the title of a tool call, a preview of a
    request, or the stop reason; empty for a silence."""
    method: str | None = None
    """The method of a request."""
    waits_for: str | None = None
    """The party that a request waits for: person, terminals, files or other."""
    status: str | None = None
    """The status of a tool call (see `REJECTED`), or the outcome of a request: result, error,
    cancelled or unanswered."""
    answer: str | None = None
    """The choice of a person, or the reason why a request failed."""
    frames: int = 1
    open: bool = False
    """Whether the step was still open at the end of the turn."""
    failed: bool = False
    tool_call: str | None = None
    """The id of a tool call."""


@frozen
class TurnWaterfall:
    """The steps of one turn, in the order in which they began."""

    turn: int
    duration_ns: int
    steps: list[WaterfallStep]
    left_out: int
    """The number of steps that are left out (see `Waterfalls`)."""


@define
class _TextRun:
    kind: str
    seq: int
    start_ns: int
    end_ns: int
    text: str = ""
    frames: int = 0


@define
class _TimedCall(CallState):
    seq: int = 0
    start_ns: int = 0
    end_ns: int = 0
    frames: int = 0


Outcomes = Mapping[tuple[int, str | None], str | None]
"""The outcomes of the agent's requests, by frame and JSON-RPC id."""


class Waterfalls(Listener):
    """Reads the frames of a recording, and lays some of its turns out in time.

    Args:
        reader: the recording.
        messages: the pass over the recording.
        turns: the turns that are laid out.
        end_ns: the time that counts as the end of open turns.
        most: the largest number of steps of a turn, besides the prompt and the end; None for all.
            If a turn has more steps, failed steps are kept first, and then the longest steps.
    """

    def __init__(
        self,
        reader: RecordingReader,
        messages: MessagePass,
        turns: Iterable[TurnRow],
        end_ns: int,
        most: int | None = None,
    ) -> None:
        self._reader, self._end_ns, self._most = reader, end_ns, most
        self._coming = {turn.id: turn for turn in turns}
        self._prompts = read_prompts(reader, self._coming.values())
        first = min((turn.prompt_seq for turn in self._coming.values()), default=0)
        ends = (turn.end_seq for turn in self._coming.values())
        span = first, max((LAST_NUMBER if end is None else end for end in ends), default=0)
        requests = exchanges(reader, direction="to-client", span=span, order="request_seq")
        self._outcomes = {(row.request_seq, row.rpc_id): row.outcome for row in requests}
        self._rejected = rejected_calls(read_person_requests(reader, None))
        self._finished: list[TurnWaterfall] = []
        self._chunks = ChunkReader()
        self._intervals = messages.intervals
        self._ended = self._intervals.ended = list[Interval]()
        self._open: dict[int, _Waterfall] = {}

    @property
    def is_done(self) -> bool:
        """Whether all turns have ended."""
        return not self._coming and not self._open

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Reads the next frame, or the next run of frames.

        Args:
            run: the frame, or a run without a pause longer than `PAUSE_NS`.
            message: the message of the first frame. A message outside of turns is ignored.
            transition: the changes that the message made to the state of the connection.
        """
        moved = self._take_ended(run, transition.method)
        over: list[Turn] = []
        for _, change in messages_of(message, transition):
            if change.begun is not None:
                self._begin(change.begun.id, run.t_ns)
            over += change.ended
            if (asked := change.opened) is not None:
                asking = self._of(self._intervals.turn_waiting_for(asked.id))
                if asking is not None:
                    asking.ask(run, asked)
            if change.begins_call and (calling := self._of(change.turn)) is not None:
                calling.begin_call(change.tool_call or "")
        is_said = run.stream == Direction.TO_CLIENT and run.kind == "notification"
        saying = self._of(transition.turn) if is_said else None
        is_call = transition.tool_call is not None and transition.method == UPDATE
        if saying is not None and not is_call:
            self._say(saying, run)
        for turn_id, now_ns in moved.items():
            self._open[turn_id].now_ns = now_ns
        if saying is not None and is_call:
            saying.update_call(transition.tool_call or "", run)
        for turn in over:
            if (ended := self._open.pop(turn.id, None)) is not None:
                ended.end(run, transition.method)
                self._finished.append(ended.finished())

    def finish(self) -> list[TurnWaterfall]:
        """Ends the turns that are still open, and returns all turns in order."""
        self._intervals.turn_times(self._end_ns)
        self._take_ended()
        self._finished.extend(waterfall.finished() for waterfall in self._open.values())
        self._open.clear()
        return sorted(self._finished, key=lambda finished: finished.turn)

    def _begin(self, turn: int, start_ns: int) -> None:
        if (row := self._coming.pop(turn, None)) is None:
            return
        length_ns = row.duration_ns
        if length_ns is None:
            length_ns = max(0, self._end_ns - start_ns)
        prompt = self._prompts.get(turn, "")
        self._open[turn] = _Waterfall(
            row, prompt, start_ns, length_ns, self._outcomes, self._rejected, self._most, start_ns
        )

    def _take_ended(self, run: FrameRun | None = None, method: str | None = None) -> dict[int, int]:
        """Adds the ended intervals to their turns. Returns the end of each turn's last interval."""
        moved = {}
        for interval in self._ended:
            if (waterfall := self._open.get(interval.turn)) is not None:
                waterfall.take(interval, run, method)
                moved[interval.turn] = interval.to_ns
        self._ended.clear()
        return moved

    def _say(self, waterfall: "_Waterfall", run: FrameRun) -> None:
        read, speak, now_ns = self._chunks.read, waterfall.speak, waterfall.now_ns
        for seq, t_ns, raw in self._reader.lines_of(run):
            if (chunk := read(raw)) is not None:
                if t_ns > now_ns:
                    now_ns = t_ns
                speak(seq, now_ns, chunk)

    def _of(self, turn: int | None) -> "_Waterfall | None":
        return None if turn is None else self._open.get(turn)


@define(eq=False)
class _Waterfall:
    """Collects the steps of one turn."""

    _turn: TurnRow
    _prompt: str
    _start_ns: int
    _duration_ns: int
    _outcomes: Outcomes
    _rejected: set[tuple[str | None, str | None]]
    _most: int | None
    now_ns: int
    """The time up to which the turn was read."""
    _steps: list[WaterfallStep] = field(factory=list)
    _end: WaterfallStep | None = None
    _run: _TextRun | None = None
    _calls: dict[str, _TimedCall] = field(factory=dict)
    _unfinished: set[str] = field(factory=set)
    _titles: dict[int, str] = field(factory=dict)
    """The titles of unanswered requests, by exchange."""

    def finished(self) -> TurnWaterfall:
        """Ends all open steps, and returns the steps."""
        turn = self._turn
        self.now_ns = self._start_ns + self._duration_ns
        self._end_run()
        for call in list(self._calls):
            self._end_call(call)
        first = WaterfallStep("prompt", turn.prompt_seq, 0, 0, self._prompt)
        last = [] if self._end is None else [self._end]
        steps, numbers = self._steps, range(len(self._steps))
        most = len(steps) if self._most is None else self._most
        kept = heapq.nlargest(most, numbers, lambda n: (steps[n].failed, steps[n].duration_ns))
        ordered = sorted(kept, key=lambda n: (steps[n].start_ns, steps[n].seq or LAST_NUMBER, n))
        shown = [first, *(steps[n] for n in ordered), *last]
        return TurnWaterfall(turn.id, self._duration_ns, shown, len(steps) - len(kept))

    def take(
        self, interval: Interval, frame: FrameRun | None = None, method: str | None = None
    ) -> None:
        """Adds an interval that ended with a frame, or with the recording."""
        is_long = interval.to_ns - interval.from_ns >= self._shortest_ns
        if interval.request is not None:
            self._add_request(interval, interval.request, frame, method)
        elif interval.part is Part.SILENT and is_long:
            self._end_run()
            if not self._unfinished:
                self._add("silence", interval.seq, interval.from_ns, interval.to_ns, "")

    @property
    def _shortest_ns(self) -> int:
        """The length of the shortest silence that is shown as a step, in nanoseconds."""
        return min(_LONG_NS, max(1, self._duration_ns // _SHORTEST))

    def _add_request(
        self, interval: Interval, asked: Exchange, frame: FrameRun | None, method: str | None
    ) -> None:
        answer, is_answered = None, interval.seq is not None
        outcome = self._outcomes.get((asked.request_seq, asked.rpc_id))
        if is_answered and frame is not None and frame.raw is not None:
            is_shown = frame.kind == "error" or interval.part is Part.PERSON
            answer = preview(frame.raw, frame.kind, method)[:TITLE] if is_shown else None
        self._add(
            "request", asked.request_seq, interval.from_ns, interval.to_ns,
            self._titles.pop(asked.id, ""), method=asked.method, waits_for=interval.part,
            status=outcome, answer=answer, open=not is_answered, failed=outcome == "error",
        )  # fmt: skip

    def ask(self, frame: FrameRun, asked: Exchange) -> None:
        """Adds a request of the agent. The turn waits for the answer to this request."""
        self._end_run()
        if frame.kind == "request" and frame.raw is not None:  # not in a batch, and not too large
            of_person = waiting_part(asked.method) is Part.PERSON
            named = call_in(frame.raw).title if of_person else ""
            self._titles[asked.id] = named or preview(frame.raw, "request", asked.method)[:TITLE]

    def speak(self, seq: int, now_ns: int, chunk: Chunk) -> None:
        """Adds a piece of text."""
        if (kind := VOICE.get(chunk.update)) is None:
            return
        run, longest_ns = self._run, max(PAUSE_NS, self._shortest_ns)
        if run is None or run.kind != kind or now_ns - run.end_ns > longest_ns:
            self._end_run()
            run = self._run = _TextRun(kind, seq, now_ns, now_ns)
        run.end_ns = now_ns
        run.frames += 1
        if len(run.text) < TITLE:
            run.text += chunk.text[:TITLE]

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            text = plain(run.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
            self._add(run.kind, run.seq, run.start_ns, run.end_ns, text[:TITLE], frames=run.frames)

    def begin_call(self, name: str) -> None:
        """Prepares for a new call with an id. An earlier call with this id ends, if one is open."""
        if name in self._calls:
            self._end_call(name)
            self._unfinished.discard(name)

    def update_call(self, name: str, frame: FrameRun) -> None:
        """Adds an update of a tool call."""
        now_ns = self.now_ns
        call = self._calls.get(name)
        if call is None:
            self._end_run()
            call = self._calls[name] = _TimedCall(seq=frame.seq, start_ns=now_ns)
        if frame.raw is not None:
            call.take(call_of(params_of(frame.raw)))
        call.end_ns = now_ns
        call.frames += 1
        if call.is_over:
            self._unfinished.discard(name)
        else:
            self._unfinished.add(name)

    def _end_call(self, name: str) -> None:
        call = self._calls.pop(name)
        is_rejected = call.is_failed and (self._turn.session, name) in self._rejected
        self._add(
            "tool_call", call.seq, call.start_ns,
            call.end_ns if call.is_over else self.now_ns,
            call.title or plain(name[:TITLE]),
            status=REJECTED if is_rejected else call.status or None, frames=call.frames,
            open=not call.is_over, failed=call.is_failed and not is_rejected, tool_call=name,
        )  # fmt: skip

    def end(self, frame: FrameRun, method: str | None) -> None:
        """Adds the end of the turn."""
        failed = frame.kind == "error"
        title = self._turn.stop_reason or ""
        if failed and frame.raw is not None:
            title = preview(frame.raw, "error", method)[:TITLE]
        start = max(self.now_ns, frame.t_ns) - self._start_ns
        self._end = WaterfallStep("end", frame.seq, start, 0, plain(title), failed=failed)

    def _add(
        self, kind: str, seq: int | None, start_ns: int, end_ns: int, title: str, **more: Any
    ) -> None:
        start = start_ns - self._start_ns
        self._steps.append(WaterfallStep(kind, seq, start, end_ns - start_ns, title, **more))
