"""Handles the messages of the live agent, and answers its requests.

This module does not access the disk and does not run programs.
"""

from collections.abc import Iterator
from typing import Any

from acp_proxy.playback.events import Command
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind, NearMiss
from acp_proxy.playback.shared.line_rewriter import reply
from acp_proxy.playback.shared.secret_pairs import with_hidden
from acp_proxy.playback.verify.composer import cancellation, denial, refusal
from acp_proxy.playback.verify.known_files import READ
from acp_proxy.playback.verify.lane import ClientLane, SentRequest
from acp_proxy.playback.verify.permission_guard import PermissionGuard
from acp_proxy.playback.verify.request_matcher import AgentRequest, RequestMatch, RequestMatcher
from acp_proxy.playback.verify.stream_progress import ITEM, Increment, increment_of
from acp_proxy.playback.verify.verify_requests import LiveRequest, VerifyState
from acp_proxy.protocol.dialects import INITIALIZE, OPENING, PERMISSION, PROMPT
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.typed_places import places_of
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.steps import REPLIES, announced_session


class AgentMessages:
    """Handles the lines of the agent one by one."""

    def __init__(self, state: VerifyState) -> None:
        self.turns = 0
        """How many prompts were answered."""
        self._state = state
        self._requests = _AgentRequests(state)
        self._strays = state.recording.strays.copy()
        """How many recorded answers without a request have not come yet, by the answer's id."""
        self._garbage = 0
        self._opened: set[ClientLane] = set()
        """Lanes whose session the live agent has created or loaded."""

    def take(self, raw: bytes) -> Iterator[Command]:
        """Handles a line without its newline, and yields immediate answers."""
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        self._state.output.lines += 1
        self._state.output.recent_lines += 1
        self._state.masking.note_live(raw)
        if message.kind is Kind.INVALID:
            self._take_garbage(raw)
        elif message.kind is Kind.BATCH:
            for member in message.members:
                yield from self._take(member)
            self._count(ITEM, is_cleared=any(m.kind in REPLIES for m in message.members))
        else:
            ends_turn = self._ends_turn(message)
            yield from self._take(message)
            is_update = message.kind is Kind.NOTIFICATION and message.method == UPDATE
            increment = increment_of(raw, message.method) if is_update else ITEM
            self._count(increment, is_cleared=ends_turn or message.kind in REPLIES)

    def _count(self, increment: Increment, *, is_cleared: bool) -> None:
        self._state.output.total = self._state.output.total.plus(increment)
        if not is_cleared:
            self._state.sessions.progress.add(increment, self._state.now)

    def _take(self, message: Message) -> Iterator[Command]:
        if message.kind in REPLIES:
            yield from self._take_reply(message)
            return
        lane = self._state.sessions.enter(message.session)
        if message.kind is Kind.REQUEST:
            yield from self._requests.take(message, self._state.output.lines)
        elif message.kind is Kind.NOTIFICATION:
            self._state.permissions.calls.take(message)
            if (child := announced_session(message.raw or b"")) is not None:
                self._state.sessions.announce(child)
            if lane is not None and self._ends_turn(message):
                # As after an answer to a prompt, requests of the ended turn are not awaited.
                if (end := lane.turns.end()) is not None:
                    lane.requests.give_up(end)
                lane.progress.clear()

    def _take_reply(self, message: Message) -> Iterator[Command]:
        token = message.rpc_id or "null"
        request = self._state.pending.take(token)
        if request is None:
            self._take_stray(token, message.raw)
            return
        self._state.sessions.last = request.lane
        self._state.output.note_progress()
        request.lane.progress.clear()
        if request.step.method == PROMPT:
            self._end_prompt(request)
        self._state.sessions.note_answered(request, message.session)
        self._conclude(request, message)
        yield from self._requests.release()

    def _end_prompt(self, request: SentRequest) -> None:
        """Counts an answered prompt. In v1 the turn ends, so its requests are no longer awaited."""
        self.turns += 1
        lane, exchange = request.lane, request.step.exchange or 0
        if self._state.recording.is_v2:
            return
        lane.turns.close(exchange)
        answer = self._state.recording.answers.get(exchange)
        if not lane.turns.is_open and answer is not None:
            lane.requests.give_up(answer.seq)

    def _ends_turn(self, message: Message) -> bool:
        """Whether a message is an update that ends a turn; in v1 the prompt's answer ends it."""
        if message.state != "idle" or not self._state.recording.is_v2:
            return False
        lane = self._state.sessions.lane_of(message.session)
        if lane is None or not lane.turns.is_open:
            return False
        return lane.name is None or self._state.bindings.sessions.get(lane.name) == message.session

    def _conclude(self, request: SentRequest, message: Message) -> None:
        """Abandons lanes that cannot continue after an answer."""
        step, lane = request.step, request.lane
        answer = self._state.recording.answers.get(step.exchange or 0)
        is_opening = step.method in OPENING and step.session is not None
        if is_opening and message.kind is Kind.RESPONSE:
            self._opened.add(lane)
        if message.kind is not Kind.ERROR or answer is None or answer.kind != "response":
            return
        is_handshake = step.method in INITIALIZE
        if not is_handshake and (not is_opening or lane in self._opened):
            return
        self._state.divergences.note(
            DivergenceKind.OUTCOME_DIFFERS,
            lane,
            f"{step.method} #{step.seq} was answered with an error, unlike in the recording",
            seq=answer.seq,
            line=self._state.output.lines,
            came=message.raw,
            of_handshake=is_handshake,
        )
        for lost in self._state.recording.lanes.values() if is_handshake else [lane]:
            self._state.abandon(lost)

    def _take_stray(self, token: str, raw: bytes | None) -> None:
        """Handles an answer without an open request: a repeated or an unrequested answer."""
        if self._strays[token] > 0:
            self._strays[token] -= 1
            return
        lane = self._state.pending.answered.get(token)
        if lane is not None:
            kind = DivergenceKind.ANSWERED_TWICE
            summary = f"the agent answered id {token} again"
        else:
            kind = DivergenceKind.UNKNOWN_REPLY_ID
            summary = f"the agent answered id {token}, but no open request has this id"
        lane = lane or self._state.recording.lanes[None]
        line = self._state.output.lines
        self._state.divergences.note(kind, lane, summary, line=line, came=raw)

    def _take_garbage(self, raw: bytes) -> None:
        self._garbage += 1
        if self._garbage > self._state.recording.garbage:
            self._state.divergences.note(
                DivergenceKind.MALFORMED_INPUT,
                self._state.sessions.last,
                "the agent wrote a line that is not a JSON-RPC message",
                line=self._state.output.lines,
                came=raw,
                is_harmless=True,
            )


class _AgentRequests:
    """Handles requests: each gets its recorded answer or a default answer."""

    def __init__(self, state: VerifyState) -> None:
        self._state = state
        self._matcher = RequestMatcher(state)
        self._guard = PermissionGuard(state)
        self._held: list[tuple[Message, int]] = []
        """Requests in sessions without a known lane, with their line numbers."""

    def take(self, message: Message, line: int) -> Iterator[Command]:
        """Handles a request; holds it back while the lane of its session is unknown."""
        lane = None
        if message.session is not None:
            lane = self._state.sessions.lane_of(message.session)
            if lane is None and self._state.sessions.is_creating:
                self._held.append((message, line))
                return
            lane = lane or self._state.recording.lanes[None]
        raw = message.raw or b""
        places = places_of("request", message.method)
        masked = self._state.masking.value(raw, places)
        yield from self._take(AgentRequest(message, json_or_none(raw), masked, line, lane))

    def release(self) -> Iterator[Command]:
        """Handles requests that were held back, if their lane is known now."""
        requests, self._held = self._held, []
        for message, line in requests:
            yield from self.take(message, line)

    def _take(self, live: AgentRequest) -> Iterator[Command]:
        match = self._matcher.find(live)
        if match is not None and not self._guard.grants_too_much(match, live.value):
            self._queue(match, live)
            return
        lane = live.lane or self._state.sessions.last
        token, value = live.message.rpc_id, live.value
        if live.method == READ and (text := self._state.files.content(value)) is not None:
            path = params_of(live.masked).get("path")
            summary = f"the agent read {path}, unlike in the recording; it got the known contents"
            self._note(DivergenceKind.SERVED, lane, summary, live)
            yield reply(token, {"content": text})
        elif live.method == PERMISSION and lane.turns.is_cancelled:
            summary = "the agent asked for permission in a turn that was cancelled"
            self._note(DivergenceKind.LATE, lane, summary, live)
            yield reply(token, cancellation(value))
        elif match is not None:
            self._state.output.recent_refusals += 1
            self._guard.note_refused(match, live, self._matcher.differences(match.request, live))
            if match.permission.is_vague:  # this may be the recorded request
                self._matcher.note_made(match.request)
            yield reply(token, denial(value))
        else:
            self._state.output.recent_refusals += 1
            divergence = self._note_unmatched(live, lane)
            if live.method == PERMISSION:
                yield reply(token, denial(value))
            else:
                yield refusal(token, divergence)

    def _queue(self, match: RequestMatch, live: AgentRequest) -> None:
        scope = self._state.permissions.live(live.value) if live.method == PERMISSION else None
        token, raw = live.message.rpc_id or "null", live.message.raw or b""
        self._state.output.note_progress()
        self._state.answers.add(LiveRequest(match.request, token, raw, scope))
        if live.method != PERMISSION:
            lane = self._state.recording.lanes[match.request.step.lane]
            result = self._matcher.compare(match.request, live)
            result.bind_to(self._state.bindings)
            self._state.divergences.note_masked(result.secrets, lane, match.request.step.seq)
        self._matcher.note_made(match.request)

    def _note_unmatched(self, live: AgentRequest, lane: ClientLane) -> Divergence:
        if (used := self._matcher.used_up(live)) is not None:
            summary = f"{_asked(live, (used,))} more often than recorded"
            return self._note(DivergenceKind.EXHAUSTED, lane, summary, live, (used,))
        is_permission = live.method == PERMISSION
        kind = DivergenceKind.PERMISSION_DIFFERS if is_permission else DivergenceKind.UNMATCHED
        misses = self._matcher.near_misses(live)
        summary = f"{_asked(live, misses)}, which was not recorded"
        return self._note(kind, lane, summary, live, misses)

    def _note(
        self,
        kind: DivergenceKind,
        lane: ClientLane,
        summary: str,
        live: AgentRequest,
        misses: tuple[NearMiss, ...] = (),
    ) -> Divergence:
        return self._state.divergences.note(
            kind,
            lane,
            summary,
            seq=misses[0].seq if misses else None,
            line=live.line,
            came=live.message.raw,
            near_misses=misses,
            hidden=live.hidden_beside(misses),
        )


def _asked(live: AgentRequest, misses: tuple[NearMiss, ...]) -> str:
    """Returns a phrase for a request: who asked for what, without known secrets."""
    value = with_hidden(live.masked, live.hidden_beside(misses))
    return f"the agent asked {live.method}{_subject(value)}"


def _subject(value: Any) -> str:
    """Returns what a request is about: its path, command, terminal or title, after a space.

    The text is empty if the request has none of these.
    """
    params = params_of(value)
    for key in ("path", "command", "terminalId"):
        if isinstance(params.get(key), str):
            return f" {params[key]}"
    title = member(params, "toolCall", "title")
    return f" {title}" if isinstance(title, str) else ""
