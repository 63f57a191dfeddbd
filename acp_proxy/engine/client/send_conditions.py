"""Decides which of the client's frames may be sent now.

*Required* are the answers that the agent had given, in any lane, before the recorded client sent a
frame. The client waits for them until a stall. What was in flight together is in flight together
again, and this cannot deadlock: requests are sent before anything waits for their answers.

*Optional* is what else had come in the frame's lane: requests of the agent, and as much as it had
sent since the last request or answer, or the end of a turn. An agent that has changed may never
send these. So the client stops waiting for them when the turn is over in which they should come;
while it is open, shortly before the silence would be a stall; otherwise when the agent has been
silent for a while. An answer waits a moment only, since the agent may wait for it.
"""

from collections import deque
from collections.abc import Iterator
from math import inf

from acp_proxy.engine.client.lane import ClientFrame, ClientLane
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.playback_options import Order
from acp_proxy.protocol.dialects import CANCEL_REQUEST


class SendConditions:
    """Finds the frames that may be sent."""

    def __init__(self, state: VerifyState) -> None:
        self._state = state
        lanes = state.recording.lanes.values()
        self._later = deque(sorted(frame for lane in lanes for frame in lane.queue.frames))
        """The frames, answers not among them, that waited for an answer at the last look."""
        self._active: dict[ClientLane, None] = {}
        """The lanes in which a frame waited for anything else at the last look."""

    def next(self) -> ClientFrame | None:
        """Returns the frame to send now: of those that may be sent, the first recorded."""
        self._state.answers.release_patient()
        due = (self._first_due(lane) for lane in self._active_lanes())
        return min((frame for frame in due if frame is not None), default=None)

    def next_moment(self) -> int | None:
        """Returns when a frame may be sent that may not now, if nothing comes until then."""
        self._state.answers.release_patient()
        moments = [*self._state.answers.moments()]
        for lane in self._active_lanes():
            moments += (self._due(frame) for frame in self._ready(lane))
            if (waiting := lane.waiting) is not None:
                moments.append(self._state.patience.deadline(waiting))
        return min((moment for moment in moments if moment > self._state.now), default=None)

    def early_reason(self, frame: ClientFrame) -> str | None:
        """Returns why a frame, still queued, is sent before all that it had followed has come."""
        if frame.seq not in frame.lane.queue.answers:
            return frame.early_because
        if self._has_required(frame) and frame.lane.requests.are_made_before(frame.seq):
            return None
        return self._state.patience.reason(frame)

    def is_pointless(self, frame: ClientFrame) -> bool:
        """Whether a frame cancels what is over, and was not over in the recording."""
        step = frame.cancels
        if step is None:
            return False
        if step.method == CANCEL_REQUEST:
            answer = self._state.recording.answers.get(step.exchange or 0)
            was_open = step.exchange is not None and (answer is None or answer.seq > frame.seq)
            return was_open and not self._state.pending.is_open(step.exchange)
        return frame.before.is_turn_open and not frame.lane.turns.is_open

    def _active_lanes(self) -> list[ClientLane]:
        """Returns the lanes in which a frame waits for anything but an answer of the agent."""
        # This looks at them after each event, so it reads attributes and calls nothing for each.
        pending = self._state.pending.first_seq or inf
        self._active |= self._state.answers.take_asked()
        while self._later and self._later[0].seq < pending:
            self._active[self._later.popleft().lane] = None
        self._active = {
            lane: None
            for lane in self._active
            if (queue := lane.queue).asked
            or queue.released
            or (queue.frames and queue.frames[0].seq < pending)
        }
        return [*self._active]

    def _first_due(self, lane: ClientLane) -> ClientFrame | None:
        now = self._state.now
        return next((frame for frame in self._ready(lane) if self._due(frame) <= now), None)

    def _ready(self, lane: ClientLane) -> Iterator[ClientFrame]:
        """Yields the frames of a lane that only pacing holds back, if anything does.

        These are answers, or else the first other frame: nothing overtakes that.
        """
        self._release_first(lane)
        frame, released = lane.queue.first, lane.queue.released
        is_first = frame is not None and not (released and released[0] < frame)
        if frame is not None and is_first and (frame.ready_at or self._may_go(frame)):
            yield frame
        else:
            yield from released

    def _release_first(self, lane: ClientLane) -> None:
        """Releases the first answer of a lane, if its conditions hold and it is its turn."""
        answer = lane.queue.first_asked
        if answer is None:
            return
        before = (lane.queue.first, *lane.queue.released[:1])
        if any(frame is not None and frame < answer for frame in before):
            return
        if self._has_required(answer) and lane.requests.are_made_before(answer.seq):
            lane.queue.release(answer)

    def _may_go(self, frame: ClientFrame) -> bool:
        lane, patience = frame.lane, self._state.patience
        if not self._has_required(frame) or lane.turns.ended < frame.before.turn_ends:
            return False
        if self.is_pointless(frame):
            return True
        frame.start_waiting(self._state.now)
        if lane.requests.are_made_before(frame.seq) and self._has_received_enough(frame):
            return True
        if frame.before.is_turn_open and not lane.turns.is_open:
            frame.early_because = "the turn was over"
        elif self._state.now >= patience.deadline(frame):
            frame.early_because = patience.reason(frame)
        else:
            return False
        lane.requests.give_up(frame.seq)
        return True

    def _has_required(self, frame: ClientFrame) -> bool:
        return frame.seq < (self._state.pending.first_seq or inf)

    def _has_received_enough(self, frame: ClientFrame) -> bool:
        before, total = frame.before, self._state.output.total
        if self._state.options.order is Order.RECORDED and (
            total.items < before.total.items or total.characters < before.total.characters
        ):
            return False
        return frame.lane.progress.mark >= before.mark

    def _due(self, frame: ClientFrame) -> int:
        """Returns when a frame is due that only pacing holds back."""
        if frame.ready_at is None:
            frame.ready_at = self._state.now
        pacing = self._state.options.pacing
        if pacing.is_instant:
            return self._state.now
        return pacing.due(frame.ready_at, frame.previous_ns, frame.t_ns)
