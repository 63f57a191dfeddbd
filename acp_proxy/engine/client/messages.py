"""Recorded messages, decoded; of a batch, the member that is meant."""

from collections import OrderedDict
from typing import Any

from acp_proxy.engine.client.recorded_requests import Question
from acp_proxy.engine.shared.steps import Script, Step
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, read

_HELD, _SMALL = 128, 32 << 10
"""How many requests are held decoded, and how long they are in bytes, at most."""


def recorded(script: Script, step: Step) -> Any:
    """A message of the client's."""
    raw = script.wire(step.seq).raw
    return json_or_none(raw if step.member is None else read(raw).members[step.member].raw or b"")


def recorded_request(script: Script, question: Question) -> Any:
    """A request of the agent's."""
    raw = script.wire(question.step.seq).raw
    if question.step.kind != "batch":
        return json_or_none(raw)
    wanted = (Kind.REQUEST, question.ask.rpc_id)
    members = (m.raw or b"" for m in read(raw).members if (m.kind, m.rpc_id) == wanted)
    return json_or_none(next(members, b""))


class Requests:
    """Requests of the agent's; some are held, since what is like many is compared with many.

    Args:
        script: the recording.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._held: OrderedDict[int, Any] = OrderedDict()

    def of(self, question: Question) -> Any:
        """A request, decoded; not to be changed."""
        exchange = question.ask.exchange
        if exchange in self._held:
            return self._held[exchange]
        request = recorded_request(self._script, question)
        if len(self._script.wire(question.step.seq).raw) <= _SMALL:
            self._held[exchange] = request
            if len(self._held) > _HELD:
                self._held.popitem(last=False)
        return request


def params_of(message: Any) -> dict[str, Any]:
    """The params of a message, if they are an object."""
    params = member(message, "params")
    return params if isinstance(params, dict) else {}


def member(value: Any, name: str) -> Any:
    """A member of what may be an object; None if there is none."""
    return value.get(name) if isinstance(value, dict) else None
