"""Decides whether a recorded answer to a permission request may be given to the live agent.

It may if it grants nothing, or if the live agent asks permission for what the recorded one asked
for. This is checked twice: when the request comes, and when the answer is sent, since the agent may
change its tool call in between.
"""

from typing import Any

from attrs import frozen

from acp_proxy.commands import Send
from acp_proxy.engine.client.answer_queue import LiveRequest
from acp_proxy.engine.client.client_frames import ClientFrame
from acp_proxy.engine.client.default_replies import cancelled, denied
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.messages import member
from acp_proxy.engine.client.permission_match import PermissionMatch
from acp_proxy.engine.client.request_matcher import RequestMatch
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.methods import PERMISSION
from acp_proxy.protocol.permissions import options_of, read_answer, unambiguous

_FOR_ONE = ("allow_once", "reject_once", "reject_always")
"""Kinds of options of which any two allow the same."""


@frozen
class OptionChoice:
    """What a recorded answer to a permission request becomes."""

    option: str | None
    """The live option's id; None if the answer selects none, or there is none like it."""
    is_possible: bool = True


class PermissionGuard:
    """Checks recorded answers to permission requests.

    Args:
        state: the state of the verification.
    """

    def __init__(self, state: VerifyState) -> None:
        self._state = state

    def grants_too_much(self, match: RequestMatch, value: Any) -> bool:
        """Whether the recorded answer may allow what was not asked for in the recording.

        Args:
            match: the recorded request that the live one is matched with, of any method.
            value: the live request, decoded.
        """
        request = match.request
        if request.ask.method != PERMISSION or match.permission.is_same:
            return False
        reply = self._state.recording.replies.get(request.ask.exchange)
        if reply is None:
            return False
        messages = self._state.recording.messages
        offered = options_of(messages.request(request))
        if not read_answer(offered, messages.sent(reply.step)).may_allow:
            return False
        is_taken_at_its_title = (
            self._state.options.lenient
            and match.permission.is_vague
            and self._state.permissions.have_same_title(request, value)
        )
        return not is_taken_at_its_title

    def note_refused(self, match: RequestMatch, value: Any, raw: bytes, at: int, line: int) -> None:
        """Reports that a request asks for something else, or for something unknown.

        Args:
            match: the recorded request that it is matched with.
            value: the live request, decoded.
            raw: the same as it came.
            at: the moment, in nanoseconds.
            line: the number of the agent's line.
        """
        seq, permissions = match.request.step.seq, self._state.permissions
        old, new = permissions.recorded_title(match.request), permissions.title(value)
        if match.permission.is_vague:
            summary = (
                f"the agent asked permission for {new} and did not say what it applies to, so it is"
                f" unknown whether #{seq} allowed it; it was rejected"
            )
        else:
            summary = (
                f"the agent asked permission for {new}, but {old} #{seq} was allowed; it was"
                " rejected"
            )
        self._state.divergences.note(
            DivergenceKind.PERMISSION_DIFFERS,
            self._state.recording.lanes[match.request.step.lane],
            summary,
            at,
            seq=seq,
            line=line,
            came=raw,
            differences=match.permission.differences,
        )

    def decide(
        self, lane: ClientLane, frame: ClientFrame, step: Step, live: LiveRequest, at: int
    ) -> tuple[str | None, Send | None]:
        """Checks the recorded answer to a permission request before it is sent.

        Args:
            lane: the lane of the answer.
            frame: the frame of the answer.
            step: the answer.
            live: the live request.
            at: the moment, in nanoseconds.

        Returns:
            the live option that the answer selects, if it selects one; and what to send in place of
            the answer, if that cannot be given.
        """
        request = json_or_none(live.raw)
        if lane.turns.was_cancelled_after(frame.seq):
            return None, self._answer_late(lane, step, live, request, at)
        recorded = self._state.recording.messages.request(live.recorded)
        answer = self._state.recording.messages.sent(step)
        scope = self._state.permissions.live(request)
        match = self._state.permissions.compare_answered(live.recorded, live.scope, scope)
        if not match.is_same and read_answer(options_of(recorded), answer).may_allow:
            return None, self._answer_changed(lane, live, request, match, at)
        chosen = choice(recorded, request, answer)
        if not chosen.is_possible:
            return None, self._answer_without_option(lane, step, live, request, at)
        return chosen.option, None

    def _answer_late(
        self, lane: ClientLane, step: Step, live: LiveRequest, request: Any, at: int
    ) -> Send:
        """Answers a request of a cancelled turn as the protocol requires."""
        summary = f"{PERMISSION} #{live.recorded.step.seq} came when the turn was cancelled"
        self._state.divergences.note(DivergenceKind.LATE, lane, summary, at, seq=step.seq)
        return cancelled(live.token, request)

    def _answer_changed(
        self,
        lane: ClientLane,
        live: LiveRequest,
        request: Any,
        match: PermissionMatch,
        at: int,
    ) -> Send:
        """Denies a request whose tool call has changed since it came."""
        seq = live.recorded.step.seq
        summary = (
            f"the agent changed the tool call {self._state.permissions.title(request)} after it had"
            f" asked permission for it, but #{seq} was allowed; it was rejected"
        )
        self._state.divergences.note(
            DivergenceKind.PERMISSION_DIFFERS,
            lane,
            summary,
            at,
            seq=seq,
            came=live.raw,
            differences=match.differences,
        )
        return denied(live.token, request)

    def _answer_without_option(
        self, lane: ClientLane, step: Step, live: LiveRequest, request: Any, at: int
    ) -> Send:
        summary = (
            f"{PERMISSION} #{live.recorded.step.seq}: the agent offers no option like the one that"
            f" #{step.seq} chose; it was answered with cancelled"
        )
        self._state.divergences.note(
            DivergenceKind.OUTCOME_DIFFERS, lane, summary, at, seq=step.seq, came=live.raw
        )
        return cancelled(live.token, request)


def choice(recorded: Any, live: Any, answer: Any) -> OptionChoice:
    """Finds the live option for a recorded answer: the same one, or else one of its kind.

    It always has the recorded kind: what was allowed once is not allowed for ever, and an id that
    has another kind now, or two meanings at once, is not the same. An option that allows more than
    one call must also have the same id or name, since these tell what it covers.

    Args:
        recorded: the recorded request, decoded.
        live: the live one.
        answer: the recorded answer.
    """
    outcome = member(member(answer, "result"), "outcome")
    if not isinstance(outcome, dict) or outcome.get("outcome") != "selected":
        return OptionChoice(None)
    wanted = outcome.get("optionId")
    offered = options_of(live)
    chosen = next((o for o in options_of(recorded) if o.get("optionId") == wanted), None)
    if chosen is None:  # the recorded client selected what was not offered; that cannot be mapped
        return OptionChoice(None, is_possible=all(o.get("optionId") != wanted for o in offered))
    kind = chosen.get("kind")
    same_kind = [o for o in unambiguous(offered) if o.get("kind") == kind]
    for key in ("optionId", "name", "kind") if kind in _FOR_ONE else ("optionId", "name"):
        value = chosen.get(key)
        for option in same_kind:
            if value is not None and option.get(key) == value:
                return OptionChoice(str(option["optionId"]))
    return OptionChoice(None, is_possible=False)
