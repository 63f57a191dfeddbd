"""Sends the client's frames when their conditions hold."""

from collections.abc import Iterator

from acp_proxy.commands import Command, Send
from acp_proxy.engine.client.answer_queue import LiveRequest
from acp_proxy.engine.client.client_frames import ClientFrame
from acp_proxy.engine.client.composer import Composer
from acp_proxy.engine.client.default_replies import cancelled
from acp_proxy.engine.client.known_files import READ, WRITE, KnownFiles, is_whole
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.messages import member, params_of
from acp_proxy.engine.client.pending import SentRequest
from acp_proxy.engine.client.permission_guard import PermissionGuard
from acp_proxy.engine.client.send_conditions import SendConditions
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.methods import CANCEL, PERMISSION, PROMPT
from acp_proxy.protocol.splice import Place

_CREATE_TERMINAL = "terminal/create"


class ClientSender:
    """Sends frames.

    Args:
        state: the state of the verification.
        files: gets the contents of files that answers show and that the agent writes.

    Attributes:
        conditions: decides which frames may be sent.
        sent: how many frames were sent.
    """

    def __init__(self, state: VerifyState, files: KnownFiles) -> None:
        self.conditions = SendConditions(state)
        self.sent = 0
        self._state = state
        self._files = files
        self._guard = PermissionGuard(state)
        self._composer = Composer(state.bindings, rewrite_text=state.options.rewrite_text)

    def send_ready(self, at: int) -> Iterator[Command]:
        """Sends all frames that may be sent at a moment, in recorded order."""
        while (ready := self.conditions.next(at)) is not None:
            lane, frame = ready.lane, ready.frame
            early = self.conditions.early_reason(lane, frame, at)
            lane.queue.take(frame)
            if (why := self._reason_to_skip(lane, frame)) is not None:
                summary = f"{frame.title} #{frame.seq} was not sent: {why}"
                self._state.divergences.note(DivergenceKind.LATE, lane, summary, at, seq=frame.seq)
                continue
            if early is not None:
                self._note_early(lane, frame, early, at)
            yield from self._send(lane, frame, at)

    def _reason_to_skip(self, lane: ClientLane, frame: ClientFrame) -> str | None:
        """Why a frame is not sent; None if it is."""
        if self.conditions.is_pointless(lane, frame):
            return "what it cancels was over already"
        if self._has_no_terminal(frame):
            self._state.pending.settle(frame.steps[0].exchange or 0)
            return "there is no such terminal"
        return None

    def _has_no_terminal(self, frame: ClientFrame) -> bool:
        """Whether a frame is output of a terminal that the live agent has not created."""
        step = frame.steps[0]
        if len(frame.steps) > 1 or not step.is_push:
            return False
        terminal = params_of(self._state.recording.messages.sent(step)).get("terminalId")
        return terminal not in self._state.bindings.terminals

    def _note_early(self, lane: ClientLane, frame: ClientFrame, why: str, at: int) -> None:
        summary = (
            f"{frame.title} #{frame.seq} was sent before the agent had sent as much as in the"
            f" recording: {why}"
        )
        self._state.divergences.note(DivergenceKind.EARLY, lane, summary, at, seq=frame.seq)
        self._state.patience.note_pause(lane, frame, at)

    def _send(self, lane: ClientLane, frame: ClientFrame, at: int) -> Iterator[Command]:
        frame = self._without_unasked(lane, frame)
        ids: dict[str, str] = {}
        options: dict[str, str] = {}
        for step in list(frame.steps):
            if (live := self._state.answers.get(step.exchange)) is None:
                continue
            ids[live.recorded.ask.rpc_id] = live.token
            if step.is_reply and live.recorded.ask.method == PERMISSION:
                option, other = self._guard.decide(lane, frame, step, live, at)
                if other is not None:
                    frame = frame.part([one for one in frame.steps if one is not step])
                    self._state.answers.remove(step.exchange)
                    self._state.patience.note_activity(at)
                    yield other
                elif option is not None:
                    options[live.recorded.ask.rpc_id] = option
        if frame.steps:
            yield self._composed(lane, frame, ids, options)
            yield from self._note_sent(lane, frame, at)

    def _composed(
        self, lane: ClientLane, frame: ClientFrame, ids: dict[str, str], options: dict[str, str]
    ) -> Send:
        if self._state.sessions.needs_name(lane, frame.steps):
            self._state.sessions.bind(lane, lane.name or "")
        wire = self._state.recording.script.wire(frame.seq)
        return Send(self._composer.written(frame, wire, ids, options), frame.seq)

    def _note_sent(self, lane: ClientLane, frame: ClientFrame, at: int) -> Iterator[Command]:
        """Notes what a frame means for those that follow; answers what a cancellation ends."""
        self.sent += 1
        self._state.patience.note_activity(at)
        self._state.sessions.enter_lane(lane)
        for step in frame.steps:
            if step.is_reply:
                self._note_reply(step)
            elif step.kind == "request":
                self._note_request(lane, step, at)
        if (cancel := frame.cancels) is not None and cancel.method == CANCEL:
            lane.turns.cancel(frame.seq)
            # A client that cancels a turn must answer its permission requests; these have no
            # recorded answer.
            for live in self._state.answers.remove_unanswered(lane, PERMISSION):
                yield cancelled(live.token, json_or_none(live.raw))

    def _without_unasked(self, lane: ClientLane, frame: ClientFrame) -> ClientFrame:
        """Leaves out of a batch the answers that the agent has not asked for; they are sent later.

        The agent may use such an id for another request now.
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
        lane.queue.postpone(frame.part(late))
        return frame.part([step for step in frame.steps if step not in late])

    def _note_reply(self, step: Step) -> None:
        live = self._state.answers.remove(step.exchange)
        if live is not None and step.kind == "response":
            self._learn(step, live)

    def _note_request(self, lane: ClientLane, step: Step, at: int) -> None:
        request = SentRequest(step, lane, at)
        self._state.pending.add(request)
        self._state.sessions.note_sent(request)
        lane.progress.clear()
        if step.method == PROMPT and step.exchange is not None:
            lane.turns.open(step.exchange, step.seq, at)

    def _learn(self, step: Step, live: LiveRequest) -> None:
        """Learns terminals and contents of files from an answer that the agent gets."""
        method = live.recorded.ask.method
        if method not in (_CREATE_TERMINAL, READ, WRITE):
            return
        params = params_of(json_or_none(live.raw))
        result = member(self._state.recording.messages.sent(step), "result")
        if method == _CREATE_TERMINAL:
            terminal = member(result, "terminalId")
            if isinstance(terminal, str):
                self._state.bindings.bind(Place.TERMINAL, terminal, terminal)
            return
        if method == READ and not is_whole(params):
            return
        text = member(result, "content") if method == READ else params.get("content")
        if isinstance(path := params.get("path"), str) and isinstance(text, str):
            self._files.keep(path, text)
