"""Decides whether a live permission request asks permission for what a recorded one asked for.

The scope of a request depends on what was announced before, on both sides. The live agent's
announcements are taken as they come. The recorded ones are read once, at the first live request,
and only those that a recorded request names. An agent may also change a tool call between its
request and the answer; so the request is compared again when the answer is sent.

What a user ignores in the comparison of two runs counts here all the same: it was not allowed.
"""

from collections.abc import Iterator
from typing import Any

from attrs import field, frozen

from acp_proxy.engine.client.messages import member, params_of
from acp_proxy.engine.client.permission_scope import (
    differences,
    moved,
    names_something,
    scope,
    title_of,
)
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.client.recorded_requests import RecordedRequest
from acp_proxy.engine.client.tool_calls import ToolCalls, call_named
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.comparison import Comparer, Difference, shown
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Message, read
from acp_proxy.protocol.updates import UPDATE


@frozen
class PermissionMatch:
    """The result of comparing two permission requests."""

    differences: tuple[Difference, ...] = field(default=())
    is_vague: bool = False
    """Whether they are equal, but name nothing that distinguishes them from any other."""

    @property
    def is_same(self) -> bool:
        """Whether they are known to ask permission for the same."""
        return not self.differences and not self.is_vague


@frozen
class _RecordedScope:
    """The scope of a recorded request: when it was made, and when it was answered."""

    name: str
    """Its title, in full; empty if it has none."""
    asked: Any
    answered: Any


class PermissionMatcher:
    """Compares permission requests.

    Args:
        recording: the recording.
        bindings: the live names of recorded values.
    """

    def __init__(self, recording: RecordedClient, bindings: Bindings) -> None:
        self._recording = recording
        self._bindings = bindings
        self._comparer = Comparer(bindings)
        self._calls = ToolCalls(null_clears=recording.is_v2)
        self._recorded: dict[int, _RecordedScope] | None = None

    def take(self, message: Message, raw: bytes) -> None:
        """Takes a notification of the live agent, which may announce a tool call.

        Args:
            message: the notification.
            raw: the same as it came.
        """
        if message.method == UPDATE and message.tool_call is not None:
            self._calls.take(message, json_or_none(raw))

    def live(self, request: Any) -> Any:
        """The scope of a live request, as of `permission_scope.scope`."""
        return scope(request, self._announced(self._calls, request))

    def title(self, request: Any) -> str:
        """The name of a live request in reports."""
        return _shown(self._name(request))

    def recorded(self, recorded: RecordedRequest) -> Any:
        """The scope of a recorded request with the live directories, to look it up by."""
        asked = self._of(recorded).asked
        try:
            return None if asked is None else moved(asked, self._bindings.rewritten)
        except RecursionError:
            return None

    def recorded_title(self, recorded: RecordedRequest) -> str:
        """The name of a recorded request in reports."""
        return _shown(self._of(recorded).name)

    def have_same_title(self, recorded: RecordedRequest, request: Any) -> bool:
        """Whether a recorded request and a live one have the same title, and have one at all.

        Args:
            recorded: the recorded one.
            request: the live one, decoded.
        """
        was, now = self._of(recorded).name, self._name(request)
        return now != "" and now in (was, moved(was, self._bindings.rewritten))

    def compare(self, recorded: RecordedRequest, live: Any) -> PermissionMatch:
        """Compares a recorded request with a live one.

        Args:
            recorded: the recorded one.
            live: the scope of the live one, as of `live`.
        """
        found = differences(
            self._of(recorded).asked, live, self._comparer, self._bindings.rewritten
        )
        return PermissionMatch(found, is_vague=not found and not names_something(live))

    def compare_answered(self, recorded: RecordedRequest, asked: Any, live: Any) -> PermissionMatch:
        """Compares them once more when the answer is sent.

        Args:
            recorded: the recorded one.
            asked: the scope of the live one when it came.
            live: the same, with what was announced since then.
        """
        if live is not None and live == asked:
            return PermissionMatch()
        rewritten = self._bindings.rewritten
        answered = self._of(recorded).answered
        return PermissionMatch(differences(answered, live, self._comparer, rewritten))

    def _name(self, request: Any) -> str:
        return title_of(request, self._announced(self._calls, request))

    def _of(self, recorded: RecordedRequest) -> _RecordedScope:
        if self._recorded is None:
            self._recorded = dict(self._read())
        exchange = recorded.ask.exchange
        return self._recorded.get(exchange) or _RecordedScope("", None, None)

    def _read(self) -> Iterator[tuple[int, _RecordedScope]]:
        """Reads what the recorded agent announced and asked, in order."""
        requests = {one.ask.exchange: one for one in self._recording.permissions}
        decoded_requests = {
            exchange: self._recording.messages.request(one) for exchange, one in requests.items()
        }
        wanted = {call_named(value) for value in decoded_requests.values()} - {None}
        moments: list[tuple[int, int, int]] = []
        for exchange, request in requests.items():
            reply = self._recording.replies.get(exchange)
            answered = request.step.seq if reply is None else reply.step.seq
            moments += [(request.step.seq, 1, exchange), (answered, 2, exchange)]
        if wanted:
            moments += [(seq, 0, 0) for seq in self._recording.announcing]
        calls = ToolCalls(null_clears=self._recording.is_v2)
        asked: dict[int, Any] = {}
        for seq, what, exchange in sorted(moments):
            if what == 0:
                self._take_recorded(calls, seq, wanted)
                continue
            value = decoded_requests[exchange]
            announced = self._announced(calls, value)
            if what == 1:
                asked[exchange] = scope(value, announced)
            else:
                name = title_of(value, announced)
                yield exchange, _RecordedScope(name, asked[exchange], scope(value, announced))

    def _take_recorded(self, calls: ToolCalls, seq: int, wanted: set[str | None]) -> None:
        message = read(self._recording.script.wire(seq).raw)
        for one in message.members or (message,):
            if one.method == UPDATE and one.tool_call in wanted:
                calls.take(one, json_or_none(one.raw or b""))

    def _announced(self, calls: ToolCalls, request: Any) -> dict[str, Any]:
        session = member(params_of(request), "sessionId")
        return calls.announced(session if isinstance(session, str) else None, call_named(request))


def _shown(name: str) -> str:
    """What reports call a request."""
    return shown(name, 100) if name else "something"
