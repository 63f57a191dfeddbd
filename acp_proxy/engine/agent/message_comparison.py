"""Compares messages that the client sent with recorded ones."""

from typing import Any

from attrs import define

from acp_proxy.engine.agent.open_requests import OpenAgentRequest
from acp_proxy.engine.agent.outcomes import Outcome, outcome
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.comparison import Comparer, Comparison, Difference, shown
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.dialects import OPENING
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.methods import FORK
from acp_proxy.protocol.splice import Place
from acp_proxy.protocol.typed_places import places_of

SESSION_ID = "/params/sessionId"


@define
class ClientMessage:
    """A line of the client, or a member of a batch."""

    message: Message
    raw: bytes
    line: int
    """The line's number, counted from 1."""
    at: int
    """When it came, in live nanoseconds."""
    value: Any = None
    """The message, decoded."""


class MessageComparer:
    """Reads recorded messages, and compares them with live ones and with each other.

    Args:
        state: the state of the replay.
    """

    def __init__(self, state: ReplayState) -> None:
        self._script = state.script
        self._bindings = state.bindings
        self._comparer = Comparer(state.bindings, state.options.ignored)
        self._unbound = Comparer(Bindings(), state.options.ignored)

    def value(self, step: Step) -> Any:
        """Returns a recorded message, decoded."""
        return json_or_none(self._raw(step))

    def compare(self, step: Step, live: ClientMessage) -> Comparison:
        """Compares a recorded message with a live one.

        Args:
            step: the recorded message.
            live: the live one, of the same kind and method.
        """
        recorded = self.value(step)
        if step.kind in ("invalid", "blank") or recorded is None or live.value is None:
            line = self._raw(step)
            texts = (shown(raw.decode(errors="replace")) for raw in (line, live.raw))
            return Comparison([] if line == live.raw else [Difference("", *texts)])
        if step.is_reply:
            places = places_of("response", step.method)
            return self._comparer.results(recorded, live.value, places)
        places = places_of(step.kind, step.method)
        comparison = self._comparer.params(step.method, recorded, live.value, places)
        if step.method in OPENING and step.names_session and step.method != FORK:
            old, new = step.session or "", live.message.session or ""
            comparison = comparison.without(SESSION_ID)
            if self._bindings.live(Place.SESSION, old) != new:
                comparison.proposals.append((Place.SESSION, old, new))
        return comparison

    def are_alike(self, one: Step, two: Step) -> bool:
        """Returns whether two recorded messages differ in nothing but their session.

        Args:
            one: a recorded message.
            two: another one.
        """
        if (one.kind, one.method) != (two.kind, two.method):
            return False
        old, new = self.value(one), self.value(two)
        if one.is_reply:
            return self._unbound.results(old, new, places_of("response", one.method)).is_match
        found = self._unbound.params(one.method, old, new, places_of(one.kind, one.method))
        return not found.without(SESSION_ID).differences

    def outcomes(
        self, request: OpenAgentRequest, recorded: Step, live: ClientMessage
    ) -> tuple[Outcome, Outcome]:
        """Classifies the recorded reply to a request of the agent, and the live one.

        Args:
            request: the request.
            recorded: the recorded reply.
            live: the live reply.
        """
        method, asked = request.ask.method, self._asked(request)
        return outcome(method, asked, self.value(recorded)), outcome(method, asked, live.value)

    def terminal_of(self, request: OpenAgentRequest) -> str:
        """Returns the recorded terminal that a request of the agent is about."""
        params = self._asked(request).get("params")
        return str(params.get("terminalId")) if isinstance(params, dict) else ""

    def _asked(self, request: OpenAgentRequest) -> dict[str, Any]:
        """A request of the agent, decoded; of a batch, the member with its id."""
        line = self._script.wire(request.step.seq).raw
        message = read(line)
        if message.kind is Kind.BATCH:
            wanted = (Kind.REQUEST, request.ask.rpc_id)
            parts = (m.raw or b"" for m in message.members if (m.kind, m.rpc_id) == wanted)
            line = next(parts, b"")
        value = json_or_none(line)
        return value if isinstance(value, dict) else {}

    def _raw(self, step: Step) -> bytes:
        raw = self._script.wire(step.seq).raw
        return raw if step.member is None else read(raw).members[step.member].raw or b""
