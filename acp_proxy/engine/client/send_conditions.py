"""Decides which of the client's messages may go out: those whose causes have happened.

*Hard* causes are the answers that the agent had given, in any lane, before the recorded client said
this. They are waited for until a stall. What was in flight together is in flight together again,
and nobody waits for ever on both sides: the requests are out before anything waits for them.

*Soft* causes are what else had come in its lane: requests of the agent's, and as much as it had
said since the last request or answer, or the end of a turn (`extent`). An agent that has changed
may never say them, so they are given up: when the turn is over in which they would come; while it
goes on, shortly before the silence would be a stall; or else when the agent has been silent for a
while. An answer to the agent is held back for a moment only, since the agent may wait for it.
"""

from collections.abc import Iterator
from itertools import islice
from math import inf

from attrs import frozen

from acp_proxy.engine.client.answer_queue import first_asked, free
from acp_proxy.engine.client.lane import ClientLane, Line
from acp_proxy.engine.client.state import Stage
from acp_proxy.engine.shared.playback_options import Order
from acp_proxy.engine.shared.steps import CANCEL_REQUEST


@frozen
class Ready:
    """A line whose causes have happened."""

    lane: ClientLane
    line: Line
    due: int


class Causes:
    """Looks for lines that may go out."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._lanes = [*stage.recording.lanes.values()]
        """Those in which something was left to be said when somebody last looked."""

    def next(self, at: int) -> Ready | None:
        """The line that goes out now: of those that may, the one that was recorded first."""
        self._free_patient(at)
        due: list[Ready] = []
        for lane in self._stirring():
            due += islice((one for one in self._free(lane, at) if one.due <= at), 1)
        return min(due, key=lambda ready: ready.line.seq, default=None)

    def next_moment(self, at: int) -> int | None:
        """When something may go out that may not now, if nothing comes until then."""
        self._free_patient(at)
        moments = [*self._stage.answering.moments(self._stage.spoken_at)]
        for lane in self._stirring():
            moments += (ready.due for ready in self._free(lane, at))
            if (line := lane.waiting) is not None:
                moments.append(self._stage.waits_until(lane, line))
        return min((moment for moment in moments if moment > at), default=None)

    def _stirring(self) -> list[ClientLane]:
        """The lanes in which something waits that does not wait for an owed answer."""
        self._lanes = [lane for lane in self._lanes if lane.lines or lane.answers]
        owed = self._stage.recording.first_owed or inf
        return [
            lane
            for lane in self._lanes
            if lane.asked or lane.free or (lane.lines and lane.lines[0].seq < owed)
        ]

    def _free_patient(self, at: int) -> None:
        self._stage.answering.free_patient(at, at - self._stage.spoken_at)

    def _free(self, lane: ClientLane, at: int) -> Iterator[Ready]:
        """Yields the lines of a lane that wait for nothing but perhaps their time.

        These are answers, or else the first of the other lines: nothing overtakes that.
        """
        self._free_first(lane)
        line = lane.lines[0] if lane.lines else None
        is_first = line is not None and not (lane.free and lane.free[0].seq < line.seq)
        if line is not None and is_first and (line.free_at or self._may_go(lane, line, at)):
            yield Ready(lane, line, self._due(line, at))
            return
        for line in lane.free:
            yield Ready(lane, line, self._due(line, at))

    def _free_first(self, lane: ClientLane) -> None:
        """Frees the first answer of a lane, if its causes have happened and it is its turn."""
        line = first_asked(lane)
        if line is None or any(one[0].seq < line.seq for one in (lane.lines, lane.free) if one):
            return
        if self._has_heard_answers(line) and self._was_asked_before(lane, line):
            free(lane, line)

    def _may_go(self, lane: ClientLane, line: Line, at: int) -> bool:
        if not self._has_heard_answers(line) or lane.idles < line.idles:
            return False
        if self.is_pointless(lane, line) or self._stage.options.order is Order.CAUSAL:
            return True
        if line.waits_since is None:
            line.waits_since = at
        if self._was_asked_before(lane, line) and self._has_heard_enough(lane, line):
            return True
        if line.is_turn_open and not lane.prompts:
            line.hurry = "the turn was over"
        elif at >= self._stage.waits_until(lane, line):
            line.hurry = self._stage.waited(lane, line, at)
        else:
            return False
        lane.questions.give_up(line.seq)
        return True

    def hurry(self, lane: ClientLane, line: Line, at: int) -> str | None:
        """Why a line goes out before all has come that it had followed; None if all has."""
        if line.seq not in lane.answers or self._stage.options.order is Order.CAUSAL:
            return line.hurry
        if self._has_heard_answers(line) and self._was_asked_before(lane, line):
            return None
        return self._stage.waited(lane, line, at)

    def _has_heard_answers(self, line: Line) -> bool:
        owed = self._stage.recording.first_owed
        return owed is None or owed > line.seq

    def _was_asked_before(self, lane: ClientLane, line: Line) -> bool:
        """Whether the agent has asked for all that it had asked for before."""
        return lane.questions.are_asked_before(line.seq)

    def _has_heard_enough(self, lane: ClientLane, line: Line) -> bool:
        if self._stage.options.order is Order.RECORDED and not (
            self._stage.total.reaches(line.total)
        ):
            return False
        return lane.heard.extent >= line.extent

    def is_pointless(self, lane: ClientLane, line: Line) -> bool:
        """Whether a line cancels what is over, and was not in the recording."""
        step = line.cancels
        if step is None:
            return False
        if step.method == CANCEL_REQUEST:
            answer = self._stage.recording.answers.get(step.exchange or 0)
            opened = (one for requests in self._stage.open.values() for one in requests)
            is_open = any(one.step.exchange == step.exchange for one in opened)
            was_open = step.exchange is not None and (answer is None or answer.seq > line.seq)
            return was_open and not is_open
        return line.is_turn_open and not lane.prompts

    def _due(self, line: Line, at: int) -> int:
        if line.free_at is None:
            line.free_at = at
        pacing = self._stage.options.pacing
        return at if pacing.is_instant else pacing.due(line.free_at, line.after_ns, line.t_ns)
