"""Sends recorded frames with live values. Withheld frames, or parts of frames, are not sent."""

from collections.abc import Iterator

from acp_proxy.playback.events import Command, Send
from acp_proxy.playback.replay.frame_scheduler import ScheduledFrame
from acp_proxy.playback.replay.replay_state import ReplayState
from acp_proxy.playback.replay.withholding import Withholding
from acp_proxy.playback.shared.line_rewriter import LineRewriter
from acp_proxy.protocol.dialects import V2
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.steps import Ask, Step, Wire


class AgentSender:
    """Sends the agent's frames."""

    def __init__(self, state: ReplayState) -> None:
        options = state.options
        self.sent = 0
        """How many frames have gone out."""
        self.withholding = Withholding(
            state.bindings,
            state.effects,
            state.script.dialect,
            inert=options.inert,
            allow_outside=options.allow_outside,
        )
        self._state = state
        self._rewriter = LineRewriter(state.bindings, rewrite_text=options.rewrite_text)
        self._withheld = 0

    @property
    def passed(self) -> int:
        """How many frames were sent or completely withheld."""
        return self.sent + self._withheld

    def send(self, ready: ScheduledFrame) -> Iterator[Command]:
        """Sends a frame. Withheld requests in the frame are answered from the recording."""
        wire = self._state.script.wire(ready.seq)
        self._state.scheduler.take(ready, wire.t_ns)
        written = self._rewriter.written(wire, self._live_ids(ready.step))
        shown = self.withholding.look(ready.seq, wire, written)
        if shown.raw is None:
            self._withheld += 1
        else:
            self.sent += 1
            if self._state.script.dialect == V2:
                self._look_for_idle(wire)
            self._state.masking.note(shown.raw)
            yield Send(shown.raw + wire.newline.encode(), ready.seq)
        if ready.step is not None:
            self._note_requests(ready.step, shown.withheld)

    def repeat_answer(self, step: Step, token: str) -> Send:
        """Returns a copy of a recorded answer as the answer to another request.

        Args:
            step: the recorded request, which was answered.
            token: the live id of the request to answer now.
        """
        wire = self._state.script.wire(step.response_seq or 0)
        return Send(self._rewriter.written(wire, {step.rpc_id or "null": token}) + b"\n")

    def _live_ids(self, step: Step | None) -> dict[str, str]:
        """Closes the requests that a frame answers; maps ids recorded in the frame to live ids."""
        if step is None:
            return {}
        requests = self._state.requests
        return (requests.ids if step.asks else {}) | requests.answer(step)

    def _note_requests(self, step: Step, withheld: frozenset[str]) -> None:
        """Notes the requests in a frame, whether they went out or were withheld."""
        unseen = [ask for ask in step.asks if ask.rpc_id in withheld]
        for ask in step.asks:
            if ask.rpc_id not in withheld:
                self._state.requests.add_of_agent(ask, step)
        for ask in unseen:
            self._state.effects.note_withheld(ask.method)
            self._take_recorded_reply(step, ask)
        if unseen:
            self._state.schedule.apply_withholding()

    def _take_recorded_reply(self, step: Step, ask: Ask) -> None:
        """Treats the recorded answer to a withheld request as if the client had sent it."""
        if ask.reply_seq is None:
            return
        schedule = self._state.schedule
        schedule.read_to(ask.reply_seq)
        lane = schedule.lanes[step.lane]
        for reply in [step for step in lane.expected if step.exchange == ask.exchange]:
            self._state.effects.note_unmade(ask.method, self._state.comparer.value(reply))
            schedule.match(reply)

    def _look_for_idle(self, wire: Wire) -> None:
        """Ends the turn if a frame is an idle update, which ends a turn in v2."""
        if wire.method == UPDATE and b"idle" in wire.raw:
            message = read(wire.raw)
            if message.state == "idle":
                self._state.requests.end_turns(message.session)
