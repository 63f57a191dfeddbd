"""Decides whether a live permission request asks for the same permission as a recorded request.

Some requests contain only the id of their tool call. So earlier announcements of the tool call are
read too, on both sides. The request is compared again when the answer is sent, since the agent may
change its tool call in between.

Differences that the user ignores elsewhere still count here: the user did not permit them.
"""

from collections import OrderedDict
from collections.abc import Iterator
from math import nan as NAN  # noqa: N812
from typing import Any

from attrs import evolve, field, frozen

from acp_proxy.base.limits import REMEMBERED
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Difference, shown
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.playback.verify.permission_scope import (
    differences,
    moved,
    names_something,
    scope,
    texts_of,
)
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.recorded_requests import RecordedRequest
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.jsonrpc import Message, read
from acp_proxy.protocol.tool_calls import merge
from acp_proxy.protocol.updates import FINAL, UPDATE
from acp_proxy.redaction.markers import beside_markers

_ANNOUNCED, _ASKED, _ANSWERED = range(3)
"""The roles of a recorded frame for a permission request. The roles of one frame are processed in
this order."""
_UNREADABLE = "(an update that cannot be read)"


class ToolCalls:
    """The announced state of the tool calls that have not ended, by session and id.

    All updates of a tool call are merged (see `protocol.tool_calls`). The members have the names of
    the dialect: ``kind`` and ``rawInput`` in v1 and v2, ``tool`` and ``input`` in the 1.0 draft.
    """

    def __init__(self, *, null_clears: bool) -> None:
        self._null_clears = null_clears
        self._calls: OrderedDict[tuple[str | None, str], dict[str, Any]] = OrderedDict()

    def take(self, message: Message) -> None:
        """Notes the tool call that a message of the agent announces; ignores other messages."""
        if message.method != UPDATE or message.tool_call is None:
            return
        key = message.session, message.tool_call
        value = json_or_none(message.raw or b"")
        if value is None:  # unknown content, so the tool call equals no other from now on
            self._calls.setdefault(key, {})[_UNREADABLE] = NAN
            return
        params = params_of(value)
        update = params.get("update", params.get("data"))
        if not isinstance(update, dict):
            return
        if update.get("status") in FINAL:
            self._calls.pop(key, None)
            return
        call = self._calls.setdefault(key, {})
        self._calls.move_to_end(key)
        merge(call, update, message.update or "", null_clears=self._null_clears)
        if len(self._calls) > REMEMBERED:
            self._calls.popitem(last=False)

    def announced(self, request: Any) -> dict[str, Any]:
        """Returns the known members of the tool call that a permission request names.

        The result is empty if the tool call was never announced. The caller must not change the
        result.
        """
        session, call = member(request, "params", "sessionId"), call_named(request)
        if call is None:
            return {}
        return self._calls.get((session if isinstance(session, str) else None, call), {})


def call_named(request: Any) -> str | None:
    """Returns the id of the tool call that a permission request is about, in any dialect."""
    for way in (("toolCall",), ("subject", "toolCall"), ("subject",), ()):
        call_id = member(request, "params", *way, "toolCallId")
        if isinstance(call_id, str):
            return call_id
    return None


@frozen
class PermissionMatch:
    """The result of comparing two permission requests."""

    differences: tuple[Difference, ...] = field(default=())
    is_vague: bool = False
    """Whether the requests are equal but do not name the object of the action. They may then be
    about different objects."""

    @property
    def is_same(self) -> bool:
        """Whether the requests are known to ask for the same permission."""
        return not self.differences and not self.is_vague


@frozen
class _RecordedScope:
    """The scopes that a recorded request had when it came and when it was answered."""

    texts: list[Any] = field(factory=lambda: [""])
    """The whole title, and other texts, see `texts_of`."""
    asked: Any = None
    answered: Any = None


class PermissionMatcher:
    """Compares permission requests."""

    def __init__(
        self, recording: RecordedClient, bindings: Bindings, masking: MessageMask | None = None
    ) -> None:
        self._masking = masking or MessageMask(recording.script.redaction)
        self.calls = ToolCalls(null_clears=recording.is_v2)
        """The tool calls announced by the live agent."""
        self._recording = recording
        self._bindings = evolve(bindings, secrets=None)  # other secrets never match
        self._recorded: dict[int, _RecordedScope] | None = None

    def live(self, request: Any) -> Any:
        """Returns the scope of a live request, see `permission_scope.scope`."""
        return scope(request, self.calls.announced(request))

    def titles(self, recorded: RecordedRequest, request: Any) -> tuple[str, str]:
        """Returns the names that reports use for a recorded request and a live request.

        Args:
            recorded: the recorded request.
            request: the live request, decoded.
        """
        names = self._scope_of(recorded).texts[0], self._texts(request)[0]
        old, new = beside_markers(*map(self._masking.text, names))
        return _shown(old), _shown(new)

    def recorded(self, recorded: RecordedRequest) -> Any:
        """Returns the scope of a recorded request, with the live directories inserted."""
        asked = self._scope_of(recorded).asked
        try:
            return None if asked is None else moved(asked, self._bindings)
        except RecursionError:
            return None

    def look_same(self, recorded: RecordedRequest, request: Any) -> bool:
        """Whether two requests have equal titles, texts and options, and a title that is not empty.

        Args:
            recorded: the recorded request.
            request: the live request, decoded.
        """
        was, now = self._scope_of(recorded).texts, self._texts(request)
        try:
            return now[0] != "" and now in (was, moved(was, self._bindings))
        except RecursionError:
            return False

    def compare(self, recorded: RecordedRequest, live: Any) -> PermissionMatch:
        """Compares a recorded request with a live request.

        Args:
            recorded: the recorded request.
            live: the scope of the live request, see `live`.
        """
        return self._match(self._scope_of(recorded).asked, live)

    def compare_answered(self, recorded: RecordedRequest, asked: Any, live: Any) -> PermissionMatch:
        """Compares the requests again when the answer is sent.

        Args:
            recorded: the recorded request.
            asked: the scope of the live request at the time when the request came.
            live: the scope of the live request now, with later announcements.
        """
        is_unchanged = live is not None and live == asked
        return self._match(live if is_unchanged else self._scope_of(recorded).answered, live)

    def _match(self, recorded: Any, live: Any) -> PermissionMatch:
        changes = differences(recorded, live, self._bindings, self._masking.part)
        return PermissionMatch(changes, is_vague=not changes and not names_something(live))

    def _texts(self, request: Any) -> list[Any]:
        return texts_of(request, self.calls.announced(request))

    def _scope_of(self, recorded: RecordedRequest) -> _RecordedScope:
        if self._recorded is None:
            self._recorded = dict(self._read())
        return self._recorded.get(recorded.ask.exchange) or _RecordedScope()

    def _read(self) -> Iterator[tuple[int, _RecordedScope]]:
        """Reads the announcements and requests of the recorded agent, in order."""
        recording = self._recording
        requests = {
            permission.ask.exchange: recording.messages.request(permission)
            for permission in recording.permissions
        }
        wanted = {call_named(request) for request in requests.values()} - {None}
        calls = ToolCalls(null_clears=recording.is_v2)
        asked: dict[int, Any] = {}
        for seq, moment, exchange in sorted(self._moments(are_announced=bool(wanted))):
            if moment == _ANNOUNCED:
                message = read(recording.script.wire(seq).raw)
                for permission in message.members or (message,):
                    if permission.tool_call in wanted:
                        calls.take(permission)
                continue
            request = requests[exchange]
            announced = calls.announced(request)
            current = scope(request, announced)
            if moment == _ASKED:
                asked[exchange] = current
            else:
                texts = texts_of(request, announced)
                yield exchange, _RecordedScope(texts, asked[exchange], current)

    def _moments(self, *, are_announced: bool) -> Iterator[tuple[int, int, int]]:
        """Yields the moments when scopes change or are used: frame number, kind, exchange or 0."""
        for permission in self._recording.permissions:
            seq, exchange = permission.step.seq, permission.ask.exchange
            reply = self._recording.replies.get(exchange)
            yield seq, _ASKED, exchange
            yield seq if reply is None else reply.step.seq, _ANSWERED, exchange
        if are_announced:
            for seq in self._recording.announcing:
                yield seq, _ANNOUNCED, 0


def _shown(title: str) -> str:
    return shown(title, 100) if title else "something"
