"""Takes the requests of the live agent: each gets its recorded answer, or a default one.

Nothing is read from the disk or written to it, and nothing is run.
"""

from collections.abc import Iterator
from typing import Any

from acp_proxy.commands import Command
from acp_proxy.engine.client.composer import cancellation, denial, refusal, reply
from acp_proxy.engine.client.known_files import READ
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.open_requests import LiveRequest
from acp_proxy.engine.client.permission_guard import PermissionGuard
from acp_proxy.engine.client.request_matcher import AgentRequest, RequestMatch, RequestMatcher
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.divergence import Divergence, DivergenceKind, NearMiss
from acp_proxy.protocol.json_pointers import member, params_of
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.methods import PERMISSION


class AgentRequests:
    """Takes requests."""

    def __init__(self, state: VerifyState) -> None:
        self._state = state
        self._matcher = RequestMatcher(state)
        self._guard = PermissionGuard(state)
        self._held: list[tuple[Message, int]] = []
        """Requests of sessions without a known lane, and the numbers of their lines."""

    def take(self, message: Message) -> Iterator[Command]:
        """Takes a request; holds it back while the lane of its session is unknown."""
        yield from self._take_or_hold(message, self._state.output.lines)

    def release(self) -> Iterator[Command]:
        """Takes the requests that were held back and whose lane is known now."""
        held, self._held = self._held, []
        for message, line in held:
            yield from self._take_or_hold(message, line)

    def _take_or_hold(self, message: Message, line: int) -> Iterator[Command]:
        lane = None
        if message.session is not None:
            lane = self._state.sessions.lane_of(message.session)
            if lane is None and self._state.sessions.is_creating:
                self._held.append((message, line))
                return
            lane = lane or self._state.recording.lanes[None]
        yield from self._take(AgentRequest(message, json_or_none(message.raw or b""), line, lane))

    def _take(self, live: AgentRequest) -> Iterator[Command]:
        """Answers a request, or queues it for its recorded answer."""
        match = self._matcher.find(live)
        if match is not None and not self._guard.grants_too_much(match, live.value):
            self._queue(match, live)
            return
        lane = live.lane or self._state.sessions.last
        token, value = live.message.rpc_id, live.value
        if live.method == READ and (text := self._state.files.content(value)) is not None:
            path = params_of(value).get("path")
            summary = f"the agent read {path}, unlike in the recording; it got the known contents"
            self._note(DivergenceKind.SERVED, lane, summary, live)
            yield reply(token, {"content": text})
        elif live.method == PERMISSION and lane.turns.is_cancelled:
            summary = "the agent asked for permission in a turn that was cancelled"
            self._note(DivergenceKind.LATE, lane, summary, live)
            yield reply(token, cancellation(value))
        elif match is not None:
            self._state.output.recent_refusals += 1
            self._guard.note_refused(match, live)
            if match.permission.is_vague:  # it may be the recorded one, so do not wait for that
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
        is_permission = live.method == PERMISSION
        scope = self._state.permissions.live(live.value) if is_permission else None
        token, raw = live.message.rpc_id or "null", live.message.raw or b""
        self._state.output.note_progress()
        self._state.answers.add(LiveRequest(match.request, token, raw, scope))
        self._matcher.note_made(match.request)

    def _note_unmatched(self, live: AgentRequest, lane: ClientLane) -> Divergence:
        """Reports a request that was not recorded, or less often."""
        what = f"the agent asked {live.method}{_subject(live.value)}"
        if (used := self._matcher.used_up(live)) is not None:
            summary = f"{what} more often than recorded"
            return self._note(DivergenceKind.EXHAUSTED, lane, summary, live, (used,))
        is_permission = live.method == PERMISSION
        kind = DivergenceKind.PERMISSION_DIFFERS if is_permission else DivergenceKind.UNMATCHED
        misses = self._matcher.near_misses(live)
        return self._note(kind, lane, f"{what}, which was not recorded", live, misses)

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
            self._state.now,
            seq=misses[0].seq if misses else None,
            line=live.line,
            came=live.message.raw,
            near_misses=misses,
        )


def _subject(value: Any) -> str:
    """Returns what a request is about, in a word."""
    params = params_of(value)
    for key in ("path", "command", "terminalId"):
        if isinstance(params.get(key), str):
            return f" {params[key]}"
    title = member(params, "toolCall", "title")
    return f" {title}" if isinstance(title, str) else ""
