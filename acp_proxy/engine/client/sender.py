"""Sends the client's frames when their conditions hold."""

from collections.abc import Iterator

from acp_proxy.commands import Command, Send
from acp_proxy.engine.client.composer import Composer, cancellation
from acp_proxy.engine.client.known_files import READ, WRITE
from acp_proxy.engine.client.lane import ClientFrame, SentRequest
from acp_proxy.engine.client.open_requests import LiveRequest
from acp_proxy.engine.client.permission_guard import PermissionGuard
from acp_proxy.engine.client.send_conditions import SendConditions
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.line_rewriter import reply
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.dialects import CANCEL, PERMISSION, PROMPT
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.typed_places import Place

_CREATE_TERMINAL = "terminal/create"


class ClientSender:
    """Sends frames."""

    def __init__(self, state: VerifyState) -> None:
        self.conditions = SendConditions(state)
        self.sent = 0
        """How many frames were sent."""
        self._state = state
        self._guard = PermissionGuard(state)
        self._composer = Composer(state.bindings, rewrite_text=state.options.rewrite_text)

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
                    frame = frame.part([one for one in frame.steps if one is not step])
                    self._state.answers.remove(step.exchange)
                    self._state.patience.note_activity()
                    yield other
                elif option is not None:
                    options[live.recorded.ask.rpc_id] = option
        if frame.steps:
            self._state.sessions.bind_before(frame)
            wire = self._state.recording.script.wire(frame.seq)
            written = self._composer.written(frame, wire, ids, options)
            self._state.masking.note(written)
            yield Send(written, frame.seq)
            yield from self._note_sent(frame)

    def _note_sent(self, frame: ClientFrame) -> Iterator[Command]:
        """Notes what a frame means for those that follow; answers what a cancellation ends."""
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
            # A client that cancels a turn must answer its permission requests; these have no
            # recorded answer.
            for live in self._state.answers.remove_permissions(frame.lane):
                yield reply(live.token, cancellation(json_or_none(live.raw)))

    def _without_unasked(self, frame: ClientFrame) -> ClientFrame:
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
        """Learns terminals and contents of files from an answer that the agent gets."""
        method = live.recorded.ask.method
        if method == _CREATE_TERMINAL:
            terminal = member(self._state.recording.messages.sent(step), "result", "terminalId")
            if isinstance(terminal, str):
                self._state.bindings.bind(Place.TERMINAL, terminal, terminal)
        elif method in (READ, WRITE):
            answer = self._state.recording.messages.sent(step)
            self._state.files.learn(method, json_or_none(live.raw), answer)
