"""Decides whether a live permission request asks leave for what a recorded one asked for.

What leave is asked for depends on what was announced before, on both sides. The live agent's
announcements are taken as they come. The recorded ones are read once, at the first live request,
and only those that a recorded request names. An agent may also change a tool call between its
request and the answer; so the answer is looked at again when it goes out.

What a user has ignored in the comparison of two runs counts here all the same: it was not allowed.
"""

from collections.abc import Iterator
from typing import Any

from attrs import field, frozen

from acp_proxy.engine.client.messages import member, params_of, recorded_request
from acp_proxy.engine.client.permission_scope import (
    differences,
    moved,
    names_something,
    scope,
    title_of,
)
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.client.recorded_requests import Question
from acp_proxy.engine.client.tool_calls import ToolCalls, call_named
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.comparison import Comparer, Difference, shown
from acp_proxy.engine.shared.steps import UPDATE
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Message, read


@frozen
class Verdict:
    """What came of comparing two permission requests."""

    differences: tuple[Difference, ...] = field(default=())
    is_vague: bool = False
    """Whether they are equal, but name nothing that tells them from any other."""

    @property
    def is_same(self) -> bool:
        """Whether they are known to ask leave for the same."""
        return not self.differences and not self.is_vague


@frozen
class _Recorded:
    """What a recorded request asked leave for: when it was made, and when it was answered."""

    name: str
    """What it calls itself, in full; nothing if it does not."""
    asked: Any
    answered: Any


class Leave:
    """Compares permission requests.

    Args:
        plot: the recording.
        bindings: what recorded values are called now.
    """

    def __init__(self, recording: RecordedClient, bindings: Bindings) -> None:
        self._recording = recording
        self._bindings = bindings
        self._comparer = Comparer(bindings)
        self._calls = ToolCalls(null_clears=recording.is_v2)
        self._recorded: dict[int, _Recorded] | None = None

    def take(self, message: Message, raw: bytes) -> None:
        """Takes an update of the live agent's."""
        if message.method == UPDATE and message.tool_call is not None:
            self._calls.take(message, json_or_none(raw))

    def live(self, request: Any) -> Any:
        """What a live request asks leave for, as of `permission_scope.scope`."""
        return scope(request, self._announced(self._calls, request))

    def title(self, request: Any) -> str:
        """What reports call a live request."""
        return _shown(self._name(request))

    def recorded(self, question: Question) -> Any:
        """What a recorded request asked leave for, as it is called now; so that it is looked up."""
        asked = self._of(question).asked
        try:
            return None if asked is None else moved(asked, self._bindings.rewritten)
        except RecursionError:
            return None

    def recorded_title(self, question: Question) -> str:
        """What reports call a recorded request."""
        return _shown(self._of(question).name)

    def are_called_alike(self, question: Question, request: Any) -> bool:
        """Whether a recorded request and a live one have the same title, and have one at all."""
        was, now = self._of(question).name, self._name(request)
        return now != "" and now in (was, moved(was, self._bindings.rewritten))

    def compare(self, question: Question, live: Any) -> Verdict:
        """Compares a recorded request with a live one.

        Args:
            question: the recorded one.
            live: what the live one asks leave for, as of `live`.
        """
        found = differences(
            self._of(question).asked, live, self._comparer, self._bindings.rewritten
        )
        return Verdict(found, is_vague=not found and not names_something(live))

    def compare_answered(self, question: Question, asked: Any, live: Any) -> Verdict:
        """Compares them once more when the answer goes out.

        Args:
            question: the recorded one.
            asked: what leave was asked for when the live one came.
            live: the same, with what was announced since then.
        """
        if live is not None and live == asked:
            return Verdict()
        rewritten = self._bindings.rewritten
        return Verdict(differences(self._of(question).answered, live, self._comparer, rewritten))

    def _name(self, request: Any) -> str:
        return title_of(request, self._announced(self._calls, request))

    def _of(self, question: Question) -> _Recorded:
        if self._recorded is None:
            self._recorded = dict(self._read())
        exchange = question.ask.exchange
        return self._recorded.get(exchange) or _Recorded("", None, None)

    def _read(self) -> Iterator[tuple[int, _Recorded]]:
        """Reads what the recorded agent announced and asked, in order."""
        requests = {q.ask.exchange: q for q in self._recording.permissions}
        decoded_requests = {
            e: recorded_request(self._recording.script, q) for e, q in requests.items()
        }
        wanted = {call_named(request) for request in decoded_requests.values()} - {None}
        moments: list[tuple[int, int, int]] = []
        for exchange, question in requests.items():
            reply = self._recording.replies.get(exchange)
            answered = question.step.seq if reply is None else reply.step.seq
            moments += [(question.step.seq, 1, exchange), (answered, 2, exchange)]
        if wanted:
            moments += [(seq, 0, 0) for seq in self._recording.announcing]
        calls = ToolCalls(null_clears=self._recording.is_v2)
        asked: dict[int, Any] = {}
        for seq, what, exchange in sorted(moments):
            if what == 0:
                self._take_recorded(calls, seq, wanted)
                continue
            request = decoded_requests[exchange]
            announced = self._announced(calls, request)
            if what == 1:
                asked[exchange] = scope(request, announced)
            else:
                name = title_of(request, announced)
                yield exchange, _Recorded(name, asked[exchange], scope(request, announced))

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
