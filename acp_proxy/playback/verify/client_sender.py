"""Sends the client's frames when their conditions hold.

A frame *requires* the answers that the agent had given, in any lane, before the recorded client
sent the frame. The client waits for these answers until a stall. Requests that were open together
in the recording are open together again.

The other messages that the recorded client had received in the frame's lane are *optional*:
requests of the agent, and its output since the last request, answer or end of a turn. Only the
amount of the output counts.

A changed agent may never send optional messages. So the client stops waiting for them:

- when their turn is over;
- while the turn is open, shortly before the silence would be a stall;
- without a turn, after a while of silence.

An answer of the client waits only briefly, since the agent may wait for it.
"""

from collections import deque
from collections.abc import Iterator
from math import inf

from acp_proxy.playback.events import Command, Send
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.playback.shared.line_rewriter import LineRewriter, reply
from acp_proxy.playback.shared.playback_options import Order
from acp_proxy.playback.verify.composer import cancellation, composed
from acp_proxy.playback.verify.known_files import READ, WRITE
from acp_proxy.playback.verify.lane import ClientFrame, ClientLane, SentRequest
from acp_proxy.playback.verify.permission_guard import PermissionGuard
from acp_proxy.playback.verify.verify_requests import LiveRequest, VerifyState
from acp_proxy.protocol.dialects import CANCEL, CANCEL_REQUEST, PERMISSION, PROMPT
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.typed_places import Place
from acp_proxy.recording.steps import Step


class SendConditions:
    """Finds the frames that may be sent."""

    def __init__(self, state: VerifyState) -> None:
        self._state = state
        lanes = state.recording.lanes.values()
        self._later = deque(sorted(frame for lane in lanes for frame in lane.queue.frames))
        """The frames that waited for an answer at the previous check. Frames that are answers are
        left out."""
        self._active: dict[ClientLane, None] = {}
        """The lanes in which, at the previous check, a frame waited for something other than an
        answer of the agent."""

    def next(self) -> ClientFrame | None:
        """Returns the frame to send now: the earliest recorded frame that may be sent."""
        self._state.answers.release_patient()
        ready = (frame for lane in self._active_lanes() for frame in self._ready(lane))
        return min((frame for frame in ready if self._due(frame) <= self._state.now), default=None)

    def next_moment(self) -> int | None:
        """Returns the time when the next frame may be sent if nothing comes until then."""
        self._state.answers.release_patient()
        moments = [*self._state.answers.moments()]
        for lane in self._active_lanes():
            moments += (self._due(frame) for frame in self._ready(lane))
            if (waiting := lane.waiting) is not None:
                moments.append(self._state.patience.deadline(waiting))
        return min((moment for moment in moments if moment > self._state.now), default=None)

    def early_reason(self, frame: ClientFrame) -> str | None:
        """Returns why a frame is sent before all earlier messages came; None if all came."""
        if frame.seq not in frame.lane.queue.answers:
            return frame.early_because
        if self._has_required(frame) and frame.lane.requests.are_made_before(frame.seq):
            return None
        return self._state.patience.reason(frame)

    def is_pointless(self, frame: ClientFrame) -> bool:
        """Whether a frame cancels a turn or request that ended earlier than in the recording."""
        step = frame.cancels
        if step is None:
            return False
        if step.method == CANCEL_REQUEST:
            answer = self._state.recording.answers.get(step.exchange or 0)
            was_open = step.exchange is not None and (answer is None or answer.seq > frame.seq)
            return was_open and not self._state.pending.is_open(step.exchange)
        return frame.before.is_turn_open and not frame.lane.turns.is_open

    def _active_lanes(self) -> list[ClientLane]:
        """Returns the lanes that might have a frame to send now.

        In every other lane, the next frame still requires an answer of the agent, and the agent
        has made no request that the client could answer.
        """
        # This runs for all lanes after each event, so it reads attributes and makes no calls.
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

    def _ready(self, lane: ClientLane) -> Iterator[ClientFrame]:
        """Yields the frames of a lane that wait for nothing except pacing.

        The next frame that is not an answer is yielded alone if it may go and precedes all released
        answers. Otherwise, the released answers are yielded.
        """
        self._release_first(lane)
        frame, released = lane.queue.first, lane.queue.released
        is_first = frame is not None and not (released and released[0] < frame)
        if frame is not None and is_first and (frame.ready_at or self._may_go(frame)):
            yield frame
        else:
            yield from released

    def _release_first(self, lane: ClientLane) -> None:
        """Releases the first answer of a lane if its conditions hold and no frame precedes it."""
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
        """Returns the time when a frame that waits only for pacing is due."""
        if frame.ready_at is None:
            frame.ready_at = self._state.now
        pacing = self._state.options.pacing
        if pacing.is_instant:
            return self._state.now
        return pacing.due(frame.ready_at, frame.previous_ns, frame.t_ns)


class ClientSender:
    """Sends the client's frames."""

    def __init__(self, state: VerifyState) -> None:
        self.conditions = SendConditions(state)
        self.sent = 0
        """How many frames were sent."""
        self._state = state
        self._guard = PermissionGuard(state)
        self._writer = LineRewriter(state.bindings, rewrite_text=state.options.rewrite_text)

    def send_ready(self) -> Iterator[Command]:
        """Sends all frames that may be sent now, in recorded order."""
        while (frame := self.conditions.next()) is not None:
            early = self.conditions.early_reason(frame)
            frame.lane.queue.take(frame)
            if (why := self._reason_to_skip(frame)) is not None:
                self._note(DivergenceKind.LATE, frame, f"{frame.title} was not sent: {why}")
                continue
            if early is not None:
                summary = (
                    f"{frame.title} was sent before the agent had sent as much as in the"
                    f" recording: {early}"
                )
                self._note(DivergenceKind.EARLY, frame, summary)
                self._state.patience.note_pause(frame)
            yield from self._send(frame)

    def _note(self, kind: DivergenceKind, frame: ClientFrame, summary: str) -> None:
        self._state.divergences.note(kind, frame.lane, summary, seq=frame.seq)

    def _reason_to_skip(self, frame: ClientFrame) -> str | None:
        if self.conditions.is_pointless(frame):
            return "the request or turn that it cancels was over already"
        if self._has_no_terminal(frame):
            self._state.pending.settle(frame.steps[0].exchange or 0)
            return "the agent has not created its terminal"
        return None

    def _has_no_terminal(self, frame: ClientFrame) -> bool:
        """Whether a frame is the output of a terminal that the live agent has not created."""
        step = frame.steps[0]
        if len(frame.steps) > 1 or not step.is_push:
            return False
        terminal = params_of(self._state.recording.messages.sent(step)).get("terminalId")
        return terminal not in self._state.bindings.terminals

    def _send(self, frame: ClientFrame) -> Iterator[Command]:
        frame = self._without_unasked(frame)
        ids: dict[str, str] = {}
        options: dict[str, str] = {}
        for step in list(frame.steps):
            if (live := self._state.answers.get(step.exchange)) is None:
                continue
            ids[live.recorded.ask.rpc_id] = live.token
            if step.is_reply and live.recorded.ask.method == PERMISSION:
                option, other = self._guard.decide(frame, step, live)
                if other is not None:
                    frame = frame.part([other for other in frame.steps if other is not step])
                    self._state.answers.remove(step.exchange)
                    self._state.patience.note_activity()
                    yield other
                elif option is not None:
                    options[live.recorded.ask.rpc_id] = option
        if frame.steps:
            self._state.sessions.bind_before(frame)
            wire = self._state.recording.script.wire(frame.seq)
            written = composed(frame, wire, self._writer, ids, options)
            self._state.masking.note(written)
            yield Send(written, frame.seq)
            yield from self._note_sent(frame)

    def _note_sent(self, frame: ClientFrame) -> Iterator[Command]:
        """Notes that a frame was sent; answers the permission requests that the frame cancels."""
        self.sent += 1
        self._state.patience.note_activity()
        self._state.sessions.last = frame.lane
        for step in frame.steps:
            if step.is_reply:
                live = self._state.answers.remove(step.exchange)
                if live is not None and step.kind == "response":
                    self._learn(step, live)
            elif step.kind == "request":
                self._note_request(frame, step)
        if (cancel := frame.cancels) is not None and cancel.method == CANCEL:
            frame.lane.turns.cancel(frame.seq)
            # A client that cancels a turn must answer its open permission requests, which have no
            # recorded answer.
            for live in self._state.answers.remove_permissions(frame.lane):
                yield reply(live.token, cancellation(json_or_none(live.raw)))

    def _without_unasked(self, frame: ClientFrame) -> ClientFrame:
        """Removes from a batch the answers to requests that the agent has not made yet.

        The removed answers are sent later. Sent now, they might answer other requests, since the
        live agent may use the same ids for those.
        """
        if len(frame.steps) == 1:
            return frame
        late = [
            step
            for step in frame.steps
            if step.is_reply
            and step.exchange is not None
            and self._state.answers.get(step.exchange) is None
        ]
        if not late:
            return frame
        frame.lane.queue.answers[frame.seq] = frame.part(late)
        return frame.part([step for step in frame.steps if step not in late])

    def _note_request(self, frame: ClientFrame, step: Step) -> None:
        request = SentRequest(step, frame.lane, self._state.now)
        self._state.pending.add(request)
        self._state.sessions.note_sent(request)
        frame.lane.progress.clear()
        if step.method == PROMPT and step.exchange is not None:
            frame.lane.turns.open(request)

    def _learn(self, step: Step, live: LiveRequest) -> None:
        """Learns terminals and contents of files from an answer to the agent."""
        method = live.recorded.ask.method
        if method == "terminal/create":
            terminal = member(self._state.recording.messages.sent(step), "result", "terminalId")
            if isinstance(terminal, str):
                self._state.bindings.bind(Place.TERMINAL, terminal, terminal)
        elif method in (READ, WRITE):
            answer = self._state.recording.messages.sent(step)
            self._state.files.learn(method, json_or_none(live.raw), answer)
