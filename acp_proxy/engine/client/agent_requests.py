"""Takes the requests of the live agent: each gets its recorded answer, or a default one.

Nothing is read from the disk or written to it, and nothing is run.
"""

from collections.abc import Iterator
from typing import Any

from attrs import frozen

from acp_proxy.commands import Command
from acp_proxy.engine.client.answer_queue import LiveRequest
from acp_proxy.engine.client.default_replies import cancelled, content, denied, refusal
from acp_proxy.engine.client.known_files import READ, KnownFiles, RecordedFiles, part
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.messages import member, params_of
from acp_proxy.engine.client.permission_guard import PermissionGuard
from acp_proxy.engine.client.request_matcher import RequestMatch, RequestMatcher
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.shared.divergence import DivergenceKind, NearMiss
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.methods import PERMISSION


@frozen
class _LiveMessage:
    """A request as it came, and the number of its line."""

    message: Message
    raw: bytes
    line: int


class AgentRequests:
    """Takes requests.

    Args:
        state: the state of the verification.
        files: the contents of files that this run has shown.
    """

    def __init__(self, state: VerifyState, files: KnownFiles) -> None:
        self._state = state
        self._files = files
        self._recorded_files = RecordedFiles(state.recording, state.bindings)
        self._matcher = RequestMatcher(state)
        self._guard = PermissionGuard(state)
        self._held: list[_LiveMessage] = []
        """Requests of sessions without a known lane."""

    def take(self, message: Message, raw: bytes, at: int) -> Iterator[Command]:
        """Takes a request; holds it back while the lane of its session is unknown.

        Args:
            message: the request.
            raw: the same as it came.
            at: the moment, in nanoseconds.
        """
        yield from self._take_or_hold(_LiveMessage(message, raw, self._state.output.lines), at)

    def release(self, at: int) -> Iterator[Command]:
        """Takes the requests that were held back and whose lane is known at a moment."""
        held, self._held = self._held, []
        for live in held:
            yield from self._take_or_hold(live, at)

    def _take_or_hold(self, live: _LiveMessage, at: int) -> Iterator[Command]:
        session, lane = live.message.session, None
        if session is not None:
            lane = self._state.sessions.lane_of(session)
            if lane is None and self._state.sessions.is_creating:
                self._held.append(live)
                return
            lane = lane or self._state.recording.lanes[None]
        yield from self._take(live, at, lane)

    def _take(self, live: _LiveMessage, at: int, lane: ClientLane | None) -> Iterator[Command]:
        """Answers a request, or queues it for its recorded answer.

        Args:
            live: the request.
            at: the moment, in nanoseconds.
            lane: its lane; None if it names no session, so that it may be in any.
        """
        value = json_or_none(live.raw)
        match = self._matcher.find(live.message, value, lane)
        if match is not None and not self._guard.grants_too_much(match, value):
            self._queue(match, live, value, at)
            return
        lane = lane or self._state.sessions.last
        message = live.message
        if message.method == READ and (text := self._known(value)) is not None:
            path = params_of(value).get("path")
            summary = f"the agent read {path}, unlike in the recording; it got the known contents"
            self._note(DivergenceKind.SERVED, lane, summary, live, at)
            yield content(message.rpc_id, part(text, params_of(value)))
        elif message.method == PERMISSION and lane.turns.is_cancelled:
            summary = "the agent asked for permission in a turn that was cancelled"
            self._note(DivergenceKind.LATE, lane, summary, live, at)
            yield cancelled(message.rpc_id, value)
        elif match is not None:
            self._state.output.add_refusal()
            self._guard.note_refused(match, value, live.raw, at, live.line)
            if match.permission.is_vague:  # it may be the recorded one, so do not wait for that
                self._matcher.note_made(match.request)
            yield denied(message.rpc_id, value)
        else:
            yield from self._refuse(live, value, at, lane)

    def _queue(self, match: RequestMatch, live: _LiveMessage, value: Any, at: int) -> None:
        is_permission = live.message.method == PERMISSION
        scope = self._state.permissions.live(value) if is_permission else None
        token = live.message.rpc_id or "null"
        self._state.output.note_progress()
        self._state.answers.add(LiveRequest(match.request, token, live.raw, scope), at)
        self._matcher.note_made(match.request)

    def _refuse(
        self, live: _LiveMessage, value: Any, at: int, lane: ClientLane
    ) -> Iterator[Command]:
        message = live.message
        self._state.output.add_refusal()
        what = f"{message.method}{_subject(value)}"
        of = lane if message.session else None
        is_permission = message.method == PERMISSION
        used = self._matcher.used_up(message, value, of)
        misses: tuple[NearMiss, ...]
        if used is not None:
            kind, misses = DivergenceKind.EXHAUSTED, (used,)
            summary = f"the agent asked {what} more often than recorded"
        else:
            kind = DivergenceKind.PERMISSION_DIFFERS if is_permission else DivergenceKind.UNMATCHED
            summary = f"the agent asked {what}, which was not recorded"
            misses = self._matcher.near_misses(message, value, of)
        divergence = self._state.divergences.note(
            kind,
            lane,
            summary,
            at,
            seq=misses[0].seq if misses else None,
            line=live.line,
            came=live.raw,
            near_misses=misses,
        )
        yield (
            denied(message.rpc_id, value) if is_permission else refusal(message.rpc_id, divergence)
        )

    def _note(
        self, kind: DivergenceKind, lane: ClientLane, summary: str, live: _LiveMessage, at: int
    ) -> None:
        self._state.divergences.note(kind, lane, summary, at, line=live.line, came=live.raw)

    def _known(self, value: Any) -> str | None:
        """The contents of the file that a request names, as far as they are known."""
        path = params_of(value).get("path")
        if not isinstance(path, str):
            return None
        text = self._files.content(path)
        return self._recorded_files.content(path) if text is None else text


def _subject(value: Any) -> str:
    """What a request is about, in a word."""
    params = params_of(value)
    for key in ("path", "command", "terminalId"):
        if isinstance(params.get(key), str):
            return f" {params[key]}"
    title = member(params.get("toolCall"), "title")
    return f" {title}" if isinstance(title, str) else ""
