"""Pairs the client's messages with their matches, and handles messages without a match.

Every request is answered, so that no client waits for ever. An unrecorded request gets an error,
and its session is abandoned. A session is also abandoned after a reply whose outcome does not
fit the later frames of the recording. Other sessions continue.
"""

import json
from collections.abc import Iterator

from acp_proxy.playback.events import Command, Send
from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.playback.replay.message_matcher import MessageMatch, MessageMatcher
from acp_proxy.playback.replay.replay_state import ClientMessage, ReplayState
from acp_proxy.playback.shared.comparison import Comparison
from acp_proxy.playback.shared.divergence import ERROR_CODE, INFORMATION, Divergence, DivergenceKind
from acp_proxy.playback.shared.line_rewriter import ANY_BYTES, reply
from acp_proxy.protocol.dialects import HANDSHAKE
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.typed_places import places_of, spans, splice
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.protocol.vocabulary import Role
from acp_proxy.recording.steps import Step
from acp_proxy.redaction.markers import HIDDEN

_CANCELLED_CODE = -32800
"""The error code for a request that ``$/cancel_request`` has cancelled."""
PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'


def refusal(token: str | None, divergence: Divergence) -> Send:
    """Returns the error that answers a request after a divergence.

    Args:
        token: the request's live id, as JSON; None for ``null``.
        divergence: the divergence that the error describes.
    """
    return _error(token, ERROR_CODE, divergence.summary, divergence)


def cancelled_request(token: str, divergence: Divergence) -> Send:
    """Returns the error that answers a request after a cancellation that was not recorded.

    Args:
        token: the request's live id, as JSON.
        divergence: the divergence that the error describes.
    """
    return _error(token, _CANCELLED_CODE, "cancelled", divergence)


def cancelled_answer(token: str, *, is_v2: bool) -> Send:
    """Returns the answer to a prompt after a cancellation that was not recorded.

    Args:
        token: the request's live id, as JSON.
        is_v2: whether the answer only accepts the prompt, and an update ends the turn.
    """
    return reply(token, {} if is_v2 else {"stopReason": "cancelled"})


def received(token: str) -> Send:
    """Returns the answer to a piece of a terminal's output, in the 1.0 draft."""
    return reply(token, {"received": True})


def cancelled_update(session: str) -> Send:
    """Returns the update that ends a cancelled turn in v2."""
    update = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
    params = json.dumps({"sessionId": session, "update": update}, separators=(",", ":"))
    return Send(f'{{"jsonrpc":"2.0","method":"{UPDATE}","params":{params}}}\n'.encode())


def _error(token: str | None, code: int, message: str, divergence: Divergence) -> Send:
    data = {
        "divergence": divergence.kind,
        "recorded": divergence.seq,
        "lane": divergence.lane,
        "differences": [
            {"pointer": d.pointer, "recorded": d.recorded, "live": d.live}
            for d in divergence.closest
        ],
    }
    error = {"code": code, "message": f"replay: {message}", "data": data}
    return reply(token, error, "error")


_WITHOUT_NEAR_MISSES = {
    *INFORMATION,
    DivergenceKind.UNKNOWN_REPLY_ID,
    DivergenceKind.MALFORMED_INPUT,
}


class DivergenceHandler:
    """Pairs messages, and handles divergences of the client's messages."""

    def __init__(self, state: ReplayState, matcher: MessageMatcher) -> None:
        self._state = state
        self._schedule = state.schedule
        self._matcher = matcher

    def pair(self, match: MessageMatch, live: ClientMessage) -> tuple[Lane, Step]:
        """Pairs a live message with its match, and returns the match's lane and step.

        Args:
            match: the recorded message that the live message matches.
            live: the live message. If it came early or late, a divergence is noted.
        """
        self._schedule.read_to(match.step.seq)
        # The lane has its own object for the step; a look ahead may have made a copy of the step.
        step = self._schedule.as_expected(match.step) or match.step
        lane = self._schedule.lanes[step.lane]
        what = f"{step.method} #{step.seq}"
        if step.is_awaited and self._state.scheduler.has_earlier_frames(step):
            summary = f"{what} came before earlier recorded messages"
            self.note(DivergenceKind.EARLY, lane, summary, live, seq=step.seq)
        elif step.key in self._schedule.exempt.overdue:
            summary = f"{what} came after the replay had stopped waiting for it"
            self.note(DivergenceKind.LATE, lane, summary, live, seq=step.seq)
        self._state.divergences.note_masked(match.comparison.secrets, lane, step.seq)
        self._schedule.match(step)
        return lane, step

    def note(
        self,
        kind: DivergenceKind,
        lane: Lane,
        summary: str,
        live: ClientMessage,
        *,
        seq: int | None = None,
        compared: Comparison | None = None,
    ) -> Divergence:
        """Logs a divergence and returns it.

        Args:
            kind: the kind of the divergence.
            lane: the lane in which the divergence happened.
            summary: the divergence in one sentence.
            live: the client's message.
            seq: the number of the recorded frame that was expected.
            compared: the comparison with the recorded frame; without a comparison, near misses
                are looked up.
        """
        has_near_misses = compared is None and kind not in _WITHOUT_NEAR_MISSES
        near_misses = self._matcher.near_misses(live) if has_near_misses else ()
        alike = (step for step in self._with_number(seq) if step.kind == live.message.kind)
        if compared is None and (step := next(alike, None)) is not None:
            self._state.comparer.compare(step, live)  # notes which places must not be shown
        return self._state.divergences.note(
            kind,
            lane,
            summary,
            seq=seq,
            line=live.line,
            came=_without_credentials(live),
            differences=compared.all_differences if compared else (),
            near_misses=near_misses,
            hidden=live.hidden_beside((seq, *(miss.seq for miss in near_misses))),
            of_handshake=live.message.kind is Kind.REQUEST and live.message.method in HANDSHAKE,
        )

    def refuse(
        self, live: ClientMessage, *, conflict: MessageMatch | None, lane: Lane | None = None
    ) -> Iterator[Command]:
        """Logs a message without a match, answers it if it is a request, and abandons the lane.

        Args:
            live: the client's message.
            conflict: a recorded message that would match if the client had chosen other values
                earlier; None if there is no such message.
            lane: the message's lane; None to find it by the message's session.
        """
        message = live.message
        lane = lane or self._matcher.lane_of(message.session)
        kind, seq, summary = self._classify(live, lane, conflict)
        if message.session is None and seq is not None and kind is not DivergenceKind.EXHAUSTED:
            step = next(self._with_number(seq), None)
            lane = lane if step is None else self._schedule.lanes[step.lane]
        divergence = self.note(
            kind,
            lane,
            summary,
            live,
            seq=seq,
            compared=None if conflict is None else conflict.comparison,
        )
        if message.kind is Kind.REQUEST:
            yield refusal(message.rpc_id, divergence)
        if conflict is not None or not self._state.options.lenient:
            yield from self.abandon(lane)

    def abandon(self, lane: Lane, reason: Divergence | None = None) -> Iterator[Command]:
        """Abandons a session's lane, and answers its open requests with an error.

        The connection's lane is never abandoned, but after a failed handshake its open requests get
        errors, too.

        Args:
            lane: the lane.
            reason: the divergence that the error names; None for the latest divergence in the
                session.
        """
        if reason is None and lane.name is not None:
            reason = self._state.divergences.latest.get(lane)
        if lane.abandoned or reason is None:
            return
        if lane.name is not None:
            self._schedule.abandon(lane)
        for request in self._state.requests.open_in(lane):
            self._state.requests.close(request)
            yield refusal(request.token, reason)

    def _classify(
        self, live: ClientMessage, lane: Lane, conflict: MessageMatch | None
    ) -> tuple[DivergenceKind, int | None, str]:
        """Returns why a message has no match: a kind, the nearest recorded frame, a summary."""
        method = live.message.method
        if conflict is not None:
            seq = conflict.step.seq
            summary = f"{conflict.step.method} #{seq}: the client chose another value before"
            if conflict.comparison.contradictions:
                summary = (
                    f"{conflict.step.method} #{seq}: a recorded secret now has another live secret"
                )
            return DivergenceKind.BINDING_CONFLICT, seq, summary
        if (again := self._matcher.find_played(live)) is not None:
            summary = f"the client sent {method} #{again.seq} more often than recorded"
            return DivergenceKind.EXHAUSTED, again.seq, summary
        unplayed = [miss for miss in self._matcher.near_misses(live) if not miss.is_played]
        if unplayed:
            seq = unplayed[0].seq
            summary = f"the recording expected {method} #{seq}; the client sent another message"
            return DivergenceKind.PARAMS_DIFFER, seq, summary
        summary = f"the client sent {method}, which was not recorded at this point"
        return (
            DivergenceKind.UNMATCHED,
            lane.first_missing.seq if lane.first_missing else None,
            summary,
        )

    def _with_number(self, seq: int | None) -> Iterator[Step]:
        """Yields the client's recorded messages in a frame: several if the frame is a batch."""
        known = (*self._schedule.expected, *self._schedule.played) if seq is not None else ()
        return (step for step in known if step.seq == seq)


def _without_credentials(live: ClientMessage) -> bytes:
    """Returns the bytes of a message, with credentials at known places replaced."""
    places = places_of(live.message.kind, live.message.method, Role.CREDENTIAL)
    text = live.raw.decode("utf-8", ANY_BYTES)
    secrets = spans(text, places) if places else []
    if not secrets:
        return live.raw
    return splice(text, [(span, f'"{HIDDEN}"') for span in secrets]).encode("utf-8", ANY_BYTES)
