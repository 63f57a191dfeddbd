"""Lays a turn out in time: what followed what, how long each step took, who was waited for.

The steps are the prompt, each run of pieces of a message or a thought, each tool call from its
first update to its last one, each request of the agent to its client until the answer, each silence
of the agent, and the end. Steps overlap where things happened at once. The silences are those of
`turn_times`, so both tell the same of a turn.

Pure and incremental. Of a turn with very many steps the longest are kept.
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import define, field, frozen

from acp_proxy.inspection.describe.call_state import CallState, state_of
from acp_proxy.inspection.measures.turn_times import (
    PAUSE_NS,
    Part,
    TurnClock,
    TurnTime,
    waiting_part,
)
from acp_proxy.inspection.preview import preview
from acp_proxy.protocol.chunks import Chunk, chunk_of
from acp_proxy.protocol.updates import FAILED, FINAL
from acp_proxy.recording import Payload
from acp_proxy.safe_text import plain
from acp_proxy.store.inspection_queries import ExchangeRow

_THOUGHTS = frozenset({"agent_thought_chunk", "thought_message_chunk"})
_MESSAGES = frozenset({"agent_message_chunk"})
VOICE = _THOUGHTS | _MESSAGES
"""The chunks in which an agent speaks."""
_SHORTEST = 20
"""A silence is a step if it takes this part of the turn, or if it is a pause in any turn."""
_TITLE = 200
"""Characters of a title that are kept."""
_NAMED = 3
"""Tool calls that a silence names."""


@frozen
class WaterfallStep:
    """Something that took its time within a turn."""

    kind: str
    """prompt, thought, message, tool_call, request, silence or end."""
    seq: int | None
    """The frame that it began with; of a silence the frame that ended it, if one did."""
    start_ns: int
    """From the prompt."""
    duration_ns: int
    title: str
    """The beginning of the text, the tool call's title, what was asked, or the stop reason."""
    method: str | None = None
    """Of a request."""
    waits_for: str | None = None
    """Of a request: person, terminals, files or other."""
    status: str | None = None
    """Of a tool call as the agent gave it; of a request result, error, cancelled or unanswered."""
    answer: str | None = None
    """What a person chose, or why a request failed."""
    frames: int = 1
    open: bool = False
    """Whether it had not ended when the turn did."""
    failed: bool = False


@frozen
class TurnWaterfall:
    """The steps of one turn, in the order in which they began."""

    turn: int
    duration_ns: int
    steps: list[WaterfallStep]
    left_out: int
    """How many shorter steps there are besides."""


@define
class _TextRun:
    kind: str
    seq: int
    start_ns: int
    end_ns: int
    text: str
    frames: int = 1


@define
class _CallInProgress:
    seq: int
    start_ns: int
    end_ns: int = 0
    state: CallState = field(factory=CallState)
    frames: int = 0


@define
class _Asked:
    seq: int
    start_ns: int
    row: ExchangeRow
    part: Part
    title: str


@define
class _Longest:
    """Keeps the longest steps; one that failed before any other."""

    most: int | None
    added: int = 0
    heap: list[tuple[bool, int, int, WaterfallStep]] = field(factory=list)

    def add(self, step: WaterfallStep) -> None:
        self.added += 1
        item = (step.failed, step.duration_ns, -self.added, step)
        if self.most is None or len(self.heap) < self.most:
            heapq.heappush(self.heap, item)
        else:
            heapq.heappushpop(self.heap, item)

    def ordered(self) -> list[WaterfallStep]:
        found = sorted(self.heap, key=lambda item: (item[3].start_ns, item[3].seq or 0, -item[2]))
        return [step for _, _, _, step in found]


class Waterfall:
    """Takes the frames of a recording from a turn's prompt on, and what was asked meanwhile."""

    def __init__(
        self,
        turn: TurnTime,
        requests: Iterable[ExchangeRow],
        others: Sequence[tuple[int, int]] = (),
        most: int | None = None,
    ) -> None:
        """Begins a waterfall.

        Args:
            turn: whose.
            requests: rows of `exchanges` to the client, in the order of their ``request_seq``.
            others: first and last frame of each turn that was open meanwhile; what names no session
                is this turn's where there is none.
            most: how many steps to keep, prompt and end not counted.
        """
        self._turn = turn
        self._others = others
        self._requests = iter(requests)
        self._next = next(self._requests, None)
        self._clock = TurnClock(turn.start_ns)
        self._shortest_ns = min(PAUSE_NS, max(1, turn.duration_ns // _SHORTEST))
        self._steps = _Longest(most)
        self._ends: list[WaterfallStep] = []
        self._run: _TextRun | None = None
        self._calls: dict[str, _CallInProgress] = {}
        self._unfinished: dict[str, None] = {}
        self._asked: list[_Asked] = []

    def feed(self, frame: Payload) -> None:
        """Takes the next frame; what belongs to no turn is passed over."""
        if frame.seq == self._turn.prompt_seq:
            self._ends.append(WaterfallStep("prompt", frame.seq, 0, 0, self._turn.prompt))
        for row in self._requests_of(frame.seq):
            if self._has(frame):
                self._ask(frame, row)
        if self._asked and frame.stream == "to-agent":
            for asked in [a for a in self._asked if a.row.response_seq == frame.seq]:
                self._answer(frame, asked)
        if (
            frame.turn == self._turn.id
            and frame.stream == "to-client"
            and frame.kind == "notification"
        ):
            self._say(frame)
        if frame.seq == self._turn.end_seq:
            self._end(frame)

    def finished(self) -> TurnWaterfall:
        """Ends whatever is still open, and returns the steps."""
        turn = self._turn
        self._silence(self._clock.passed(turn.start_ns + turn.duration_ns), turn.end_seq)
        self._end_run()
        for call in list(self._calls):
            self._end_call(call)
        for asked in self._asked:
            self._add_request(asked, self._clock.now_ns, is_open=True)
        steps = self._steps.ordered()
        first, last = self._ends[:1], self._ends[1:]
        return TurnWaterfall(
            turn.id, turn.duration_ns, first + steps + last, self._steps.added - len(steps)
        )

    def _has(self, frame: Payload) -> bool:
        if frame.turn is not None or frame.session is not None:
            return frame.turn == self._turn.id
        return not any(first <= frame.seq <= last for first, last in self._others)

    def _requests_of(self, seq: int) -> Iterator[ExchangeRow]:
        while self._next is not None and self._next.request_seq <= seq:
            if self._next.request_seq == seq:
                yield self._next
            self._next = next(self._requests, None)

    def _ask(self, frame: Payload, row: ExchangeRow) -> None:
        part = waiting_part(row.method)
        self._silence(self._clock.asked(frame.t_ns, part), frame.seq)
        self._end_run()
        title = ""
        if frame.kind == "request" and frame.raw is not None:
            named = state_of(frame.raw).title if part is Part.PERSON else None
            title = named or preview(frame.raw, "request", frame.method)[:_TITLE]
        self._asked.append(_Asked(frame.seq, self._clock.now_ns, row, part, title))

    def _answer(self, frame: Payload, asked: _Asked) -> None:
        self._clock.answered(frame.t_ns, asked.part)
        self._asked.remove(asked)
        answer = None
        if frame.raw is not None and (frame.kind == "error" or asked.part is Part.PERSON):
            answer = preview(frame.raw, frame.kind, frame.method)[:_TITLE]
        self._add_request(asked, self._clock.now_ns, answer=answer)

    def _add_request(
        self, asked: _Asked, end_ns: int, *, answer: str | None = None, is_open: bool = False
    ) -> None:
        outcome = asked.row.outcome
        self._add(
            "request", asked.seq, asked.start_ns, end_ns, asked.title,
            method=asked.row.method, waits_for=asked.part, status=outcome, answer=answer,
            open=is_open, failed=outcome == "error",
        )  # fmt: skip

    def _say(self, frame: Payload) -> None:
        self._silence(self._clock.said(frame.t_ns), frame.seq)
        now_ns = self._clock.now_ns
        if frame.tool_call is not None and frame.method == "session/update":
            self._update_call(frame, now_ns)
            return
        chunk = None if frame.raw is None else chunk_of(frame.raw)
        if chunk is not None and chunk.update in VOICE:
            self._speak(frame.seq, now_ns, chunk)

    def _speak(self, seq: int, now_ns: int, chunk: Chunk) -> None:
        kind = "thought" if chunk.update in _THOUGHTS else "message"
        run = self._run
        if run is not None and run.kind == kind and now_ns - run.end_ns < PAUSE_NS:
            run.end_ns = now_ns
            run.frames += 1
            if len(run.text) < _TITLE:
                run.text += chunk.text[:_TITLE]
            return
        self._end_run()
        self._run = _TextRun(kind, seq, now_ns, now_ns, chunk.text[:_TITLE])

    def _end_run(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            text = plain(run.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
            self._add(run.kind, run.seq, run.start_ns, run.end_ns, text[:_TITLE], frames=run.frames)

    def _update_call(self, frame: Payload, now_ns: int) -> None:
        assert frame.tool_call is not None
        call = self._calls.get(frame.tool_call)
        state = CallState() if frame.raw is None else state_of(frame.raw)
        if call is None:
            self._end_run()
            call = self._calls[frame.tool_call] = _CallInProgress(frame.seq, now_ns)
        call.state = call.state.updated(state)
        call.end_ns = now_ns
        call.frames += 1
        if call.state.status in FINAL:
            self._unfinished.pop(frame.tool_call, None)
        else:
            self._unfinished[frame.tool_call] = None

    def _end_call(self, name: str) -> None:
        call = self._calls.pop(name)
        state = call.state
        is_open = state.status not in FINAL
        self._add(
            "tool_call", call.seq, call.start_ns,
            self._clock.now_ns if is_open else call.end_ns,
            state.title or plain(name[:_TITLE]),
            status=state.status, frames=call.frames,
            open=is_open, failed=state.status in FAILED,
        )  # fmt: skip

    def _silence(self, passed: tuple[Part, int], seq: int | None) -> None:
        part, elapsed = passed
        if part is Part.SILENT and elapsed >= self._shortest_ns:
            self._end_run()
            start = self._clock.now_ns - elapsed
            running = list(itertools.islice(self._unfinished, _NAMED))
            names = [self._calls[name].state.title or plain(name[:_TITLE]) for name in running]
            title = f"running {', '.join(names)}"[:_TITLE] if names else ""
            self._add("silence", seq, start, self._clock.now_ns, title)

    def _end(self, frame: Payload) -> None:
        failed = frame.kind == "error"
        title = self._turn.stop_reason or ""
        if failed and frame.raw is not None:
            title = preview(frame.raw, "error", frame.method)[:_TITLE]
        start = max(self._clock.now_ns, frame.t_ns) - self._turn.start_ns
        self._ends.append(WaterfallStep("end", frame.seq, start, 0, plain(title), failed=failed))

    def _add(
        self, kind: str, seq: int | None, start_ns: int, end_ns: int, title: str, **more: Any
    ) -> None:
        start = start_ns - self._turn.start_ns
        self._steps.add(WaterfallStep(kind, seq, start, end_ns - start_ns, title, **more))
