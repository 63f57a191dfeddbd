"""Handles the client's answers to the agent's requests: each must have the recorded outcome.

If the class of the outcome differs (for example, the client refuses what was allowed in the
recording), the later frames do not fit, and the session is abandoned. Different content of a file
or of a program's output is only reported for information.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define

from acp_proxy.playback.events import Command
from acp_proxy.playback.replay.divergence_handler import DivergenceHandler
from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.playback.replay.message_matcher import MessageMatch
from acp_proxy.playback.replay.replay_requests import OpenAgentRequest
from acp_proxy.playback.replay.replay_state import ClientMessage, ReplayState
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import json_or_none, member
from acp_proxy.protocol.jsonrpc import Message, read
from acp_proxy.protocol.permissions import PermissionAnswer, options_of, read_answer
from acp_proxy.recording.steps import Step

Outcome = tuple[str, ...]
CANCELLED: Outcome = ("cancelled",)
_WAIT, _RELEASE = "terminal/wait_for_exit", "terminal/release"


@define(eq=False)
class ClientReplies:
    """Handles replies one by one."""

    _state: ReplayState
    _handler: DivergenceHandler

    def take(self, live: ClientMessage) -> Iterator[Command]:
        """Handles a reply as the answer to the oldest open request with its id."""
        request = self._state.requests.take(live.message)
        if request is None:
            yield from self._take_unknown(live)
            return
        lane = self._state.schedule.lanes[request.step.lane]
        if lane.abandoned:
            return
        recorded = self._recorded_reply(request, lane)
        if recorded is None:
            seq = request.step.seq
            summary = f"the recorded client never answered {request.ask.method} #{seq}"
            self._handler.note(DivergenceKind.DRIFT, lane, summary, live, seq=seq)
        elif self._have_one_outcome(request, recorded, live, lane):
            yield from self._take_content(request, recorded, live, lane)
        else:
            yield from self._handler.abandon(lane)

    def _have_one_outcome(
        self, request: OpenAgentRequest, recorded: Step, live: ClientMessage, lane: Lane
    ) -> bool:
        """Returns whether the outcome is as recorded; notes a divergence if it differs."""
        method, asked = request.ask.method, json_or_none(self._asked(request).raw or b"")
        expected = outcome(method, asked, self._state.comparer.value(recorded))
        came = outcome(method, asked, live.value)
        # After session/cancel a client must answer open permission requests with "cancelled".
        if expected == came or (came == CANCELLED and self._is_cancelled(lane)):
            return True
        self._handler.note(
            DivergenceKind.OUTCOME_DIFFERS,
            lane,
            f"{method} #{request.step.seq}: the recording expected"
            f" {described(expected)}, the client answered {described(came)}",
            live,
            seq=recorded.seq,
            compared=self._state.comparer.compare(recorded, live),
        )
        return False

    def _take_content(
        self, request: OpenAgentRequest, recorded: Step, live: ClientMessage, lane: Lane
    ) -> Iterator[Command]:
        """Compares the content of a reply with the recorded reply, which has the same outcome."""
        comparison = self._state.comparer.compare(recorded, live)
        if not comparison.bind_to(self._state.bindings):
            match = MessageMatch(recorded, comparison)
            yield from self._handler.refuse(live, conflict=match, lane=lane)
            return
        if comparison.differences:
            self._handler.note(
                DivergenceKind.DRIFT,
                lane,
                f"the answer to {request.ask.method} #{request.step.seq} has other content",
                live,
                seq=recorded.seq,
                compared=comparison,
            )
        if request.ask.method in (_WAIT, _RELEASE):
            self._follow_terminal(request, live)
        self._state.divergences.note_masked(comparison.secrets, lane, recorded.seq)
        self._state.schedule.match(recorded)

    def _follow_terminal(self, request: OpenAgentRequest, live: ClientMessage) -> None:
        """Notes the end of a terminal's output: the program ended or the terminal was released."""
        terminal = self._asked(request).terminal
        if member(live.value, "result", "timedOut") is not True:
            for step in self._state.schedule.expected:
                if step.is_push and read(self._state.comparer.raw(step)).terminal == terminal:
                    self._state.schedule.exempt.add_optional(step)
        if request.ask.method == _RELEASE and terminal is not None:
            self._state.bindings.release(terminal)

    def _take_unknown(self, live: ClientMessage) -> Iterator[Command]:
        """Handles a reply without an open request: a repeated, late or early reply."""
        token = live.token
        expected = _replies(self._state.schedule.expected, token)
        for step in expected:
            if step.exchange is None and self._state.comparer.compare(step, live).is_match:
                self._state.schedule.match(step)
                return
        early = next((step for step in expected if step.exchange is not None), None)
        if early is not None and not self._state.schedule.lanes[early.lane].abandoned:
            lane = self._state.schedule.lanes[early.lane]
            summary = f"the client answered id {token} before the agent asked"
            kind = DivergenceKind.UNKNOWN_REPLY_ID
            self._handler.note(kind, lane, summary, live, seq=early.seq)
            yield from self._handler.abandon(lane)
            return
        played = _replies(self._state.schedule.played, token)
        before = played[-1] if played else None
        self._handler.note(
            DivergenceKind.UNKNOWN_REPLY_ID,
            self._state.schedule.lanes[None if before is None else before.lane],
            f"the client answered id {token}, which no open request of the agent has",
            live,
            seq=None if before is None else before.seq,
        )

    def _is_cancelled(self, lane: Lane) -> bool:
        turn = self._state.requests.turn_of(lane)
        return turn is not None and turn.is_cancelling

    def _recorded_reply(self, request: OpenAgentRequest, lane: Lane) -> Step | None:
        if request.ask.reply_seq is None:
            return None
        self._state.schedule.read_to(request.ask.reply_seq)
        exchange = request.ask.exchange
        replies = (s for s in lane.expected if s.exchange == exchange and s.is_reply)
        return next(replies, None)

    def _asked(self, request: OpenAgentRequest) -> Message:
        return self._state.script.wire(request.step.seq).request_of(request.ask)


def outcome(method: str | None, asked: Any, reply: Any) -> Outcome:
    """Returns the outcome of a reply: an error, a success, a choice, or how a program ended.

    Args:
        method: the method of the request.
        asked: the request as it was sent, decoded.
        reply: the reply, decoded.
    """
    if not isinstance(reply, dict) or "error" in reply:
        return ("error",)
    result = reply.get("result")
    if not isinstance(result, dict):
        return ("success",)
    if method == PERMISSION:
        return _permission(read_answer(options_of(asked), reply))
    if method == "elicitation/create":
        return ("elicitation", str(result.get("action")))
    if method == _WAIT:
        return ("exit", _number(result.get("exitCode")), str(result.get("signal")))
    return ("success",)


def described(value: Outcome) -> str:
    """Returns an outcome in words."""
    match value:
        case ("selected", kind):
            return f"the choice {kind}"
        case ("granted", answer):
            return "granted" if answer == "True" else "denied"
        case ("exit", code, signal):
            return f"exit code {code}" if signal == "None" else f"signal {signal}"
        case ("elicitation", action):
            return f"the answer {action}"
    return " ".join(value)


def _permission(answer: PermissionAnswer) -> Outcome:
    if answer.granted is not None:
        return ("granted", str(answer.granted))
    if not answer.has_outcome:
        return ("success",)
    # The kind of an option counts; the agent may choose any id for it.
    return CANCELLED if answer.is_cancelled else ("selected", answer.kind)


def _number(value: Any) -> str:
    """Formats a number; whole floats look like integers, since JSON has one kind of number."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def _replies(steps: Iterable[Step], token: str) -> list[Step]:
    """Returns the recorded replies that have the given id, in recorded order."""
    return sorted((s for s in steps if s.is_reply and s.rpc_id == token), key=lambda s: s.key)
