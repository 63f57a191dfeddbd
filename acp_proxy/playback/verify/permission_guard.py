"""Decides whether a recorded answer to a permission request may be given to the live agent.

The answer may be given if it grants no permission, or if the live agent asks for the same
permission as the recorded agent. The permissions are compared when the request comes, and again
when the answer is sent: the agent may change its tool call in between.
"""

from typing import Any

from attrs import define

from acp_proxy.playback.events import Send
from acp_proxy.playback.shared.comparison import Difference
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.playback.shared.line_rewriter import reply
from acp_proxy.playback.verify.composer import cancellation, denial
from acp_proxy.playback.verify.lane import ClientFrame
from acp_proxy.playback.verify.permission_match import PermissionMatch
from acp_proxy.playback.verify.recorded_requests import RecordedRequest
from acp_proxy.playback.verify.request_matcher import AgentRequest, RequestMatch
from acp_proxy.playback.verify.verify_requests import LiveRequest, VerifyState
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import json_or_none, member
from acp_proxy.protocol.permissions import options_of, read_answer, unambiguous
from acp_proxy.protocol.typed_places import places_of
from acp_proxy.recording.steps import Step

_FOR_ONE = ("allow_once", "reject_once", "reject_always")
"""Kinds of options that never allow more than one call."""


@define(eq=False)
class PermissionGuard:
    """Checks recorded answers to permission requests."""

    _state: VerifyState

    def grants_too_much(self, match: RequestMatch, value: Any) -> bool:
        """Whether the recorded answer may grant something that the recorded agent did not ask for.

        Args:
            match: the match of the live request, which may have any method.
            value: the live request, decoded.
        """
        request = match.request
        if request.ask.method != PERMISSION or self._is_same(match.permission, request, value):
            return False
        recorded = self._state.recording.replies.get(request.ask.exchange)
        if recorded is None:
            return False
        answer = self._state.recording.messages.sent(recorded.step)
        return _may_allow(self._state.recording.messages.request(request), answer)

    def note_refused(
        self, match: RequestMatch, live: AgentRequest, differences: tuple[Difference, ...]
    ) -> None:
        """Reports a request that asks for a different permission, or for an unclear permission.

        Args:
            match: the recorded request that the live request is matched with.
            live: the live request.
            differences: the differences of the two requests; reported if the scopes do not differ.
        """
        seq = match.request.step.seq
        old, new = self._state.permissions.titles(match.request, live.value)
        if match.permission.is_vague:
            is_trusted = not self._state.options.lenient and old == new
            summary = (
                f"the agent asked permission for {new} but named no command or file, so"
                f" #{seq}{'' if old == new else f', {old},'} may have allowed another action;"
                f" the request was rejected{'; --lenient compares its texts' if is_trusted else ''}"
            )
        else:
            summary = (
                f"the agent asked permission for {new}, but {old} #{seq} was allowed; the request"
                " was rejected"
            )
        self._state.divergences.note(
            DivergenceKind.PERMISSION_DIFFERS,
            self._state.recording.lanes[match.request.step.lane],
            summary,
            seq=seq,
            line=live.line,
            came=live.message.raw,
            differences=match.permission.differences or differences,
            hidden=self._hidden(match.request, live.message.raw or b""),
        )

    def decide(
        self, frame: ClientFrame, step: Step, live: LiveRequest
    ) -> tuple[str | None, Send | None]:
        """Checks the recorded answer to a permission request before it is sent.

        Args:
            frame: the frame of the answer.
            step: the answer.
            live: the live request.

        Returns:
            The live option that the answer selects, if any, and the message to send if the answer
            cannot be given.
        """
        request, asked = json_or_none(live.raw), live.recorded.step.seq
        if frame.lane.turns.was_cancelled_after(frame.seq):
            summary = f"{PERMISSION} #{asked} came when the turn was cancelled"
            self._state.divergences.note(DivergenceKind.LATE, frame.lane, summary, seq=step.seq)
            return None, reply(live.token, cancellation(request))
        recorded = self._state.recording.messages.request(live.recorded)
        answer = self._state.recording.messages.sent(step)
        scope = self._state.permissions.live(request)
        match = self._state.permissions.compare_answered(live.recorded, live.scope, scope)
        if not self._is_same(match, live.recorded, request) and _may_allow(recorded, answer):
            _, title = self._state.permissions.titles(live.recorded, request)
            summary = (
                f"the agent changed the tool call {title} after it had asked permission, but"
                f" #{asked} was allowed; the request was rejected"
            )
            kind, changes = DivergenceKind.PERMISSION_DIFFERS, match.differences
            self._note(kind, frame, summary, live, asked, changes)
            return None, reply(live.token, denial(request))
        option, is_possible = choice(recorded, request, answer)
        if not is_possible:
            summary = (
                f"{PERMISSION} #{asked}: the agent offers no option like the one that #{step.seq}"
                " chose; it was answered with cancelled"
            )
            self._note(DivergenceKind.OUTCOME_DIFFERS, frame, summary, live, step.seq)
            return None, reply(live.token, cancellation(request))
        return option, None

    def _is_same(self, match: PermissionMatch, recorded: RecordedRequest, value: Any) -> bool:
        """Whether two requests ask for the same permission.

        With ``--lenient``, equal texts are enough for requests that do not name their object.
        """
        trusts_texts = self._state.options.lenient and match.is_vague
        looks_same = trusts_texts and self._state.permissions.look_same(recorded, value)
        return match.is_same or looks_same

    def _note(
        self,
        kind: DivergenceKind,
        frame: ClientFrame,
        summary: str,
        live: LiveRequest,
        seq: int,
        changes: tuple[Difference, ...] = (),
    ) -> None:
        hidden = self._hidden(live.recorded, live.raw)
        self._state.divergences.note(
            kind, frame.lane, summary, seq=seq, came=live.raw, differences=changes, hidden=hidden
        )

    def _hidden(self, recorded: RecordedRequest, raw: bytes) -> list[tuple[str, ...]]:
        """Returns the places of a live request that are not shown beside the recorded request."""
        places = places_of("request", PERMISSION)
        both = (self._state.recording.messages.raw(recorded), raw)
        old, new = (self._state.masking.value(each, places) for each in both)
        return self._state.comparer.params(PERMISSION, old, new, places).hidden


def _may_allow(request: Any, answer: Any) -> bool:
    return read_answer(options_of(request), answer).may_allow


def choice(recorded: Any, live: Any, answer: Any) -> tuple[str | None, bool]:
    """Finds the live option for a recorded answer: by the recorded id, or else by name or kind.

    The live option always has the recorded kind: permission for one call must not become permanent.
    An option for more than one call must also have the recorded id or name, which define its scope.
    An id that now has another kind, or that occurs twice, does not count.

    Args:
        recorded: the recorded request, decoded.
        live: the live request, decoded.
        answer: the recorded answer, decoded.

    Returns:
        The id of the live option that replaces the recorded option, or None for no option; and
        whether the answer can be given.
    """
    outcome = member(answer, "result", "outcome")
    if not isinstance(outcome, dict) or outcome.get("outcome") != "selected":
        return None, True
    wanted = outcome.get("optionId")
    offered = options_of(live)
    chosen = next((o for o in options_of(recorded) if o.get("optionId") == wanted), None)
    if chosen is None:  # the recorded client selected an option that was not offered
        return None, all(o.get("optionId") != wanted for o in offered)
    kind = chosen.get("kind")
    same_kind = [o for o in unambiguous(offered) if o.get("kind") == kind]
    for key in ("optionId", "name", "kind") if kind in _FOR_ONE else ("optionId", "name"):
        value = chosen.get(key)
        for option in same_kind:
            if value is not None and option.get(key) == value:
                return str(option["optionId"]), True
    return None, False
