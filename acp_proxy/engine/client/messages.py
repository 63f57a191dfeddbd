"""Decodes recorded messages; of a batch, the member that is meant."""

from collections import OrderedDict
from typing import Any

from acp_proxy.engine.client.recorded_requests import RecordedRequest
from acp_proxy.engine.shared.steps import Script, Step
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, read

_HELD, _SMALL = 128, 32 << 10
"""How many requests are held decoded, and how long they are in bytes, at most."""


class RecordedMessages:
    """Messages of a recording, decoded; they must not be changed.

    Some requests of the agent are held, since each live request is compared with many of them.

    Args:
        script: the recording.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._held: OrderedDict[int, Any] = OrderedDict()

    def sent(self, step: Step) -> Any:
        """Returns a message of the client."""
        raw = self._script.wire(step.seq).raw
        return json_or_none(
            raw if step.member is None else read(raw).members[step.member].raw or b""
        )

    def request(self, request: RecordedRequest) -> Any:
        """Returns a request of the agent."""
        exchange = request.ask.exchange
        if exchange in self._held:
            return self._held[exchange]
        raw = self._script.wire(request.step.seq).raw
        value = json_or_none(raw if request.step.kind != "batch" else _member_request(raw, request))
        if len(raw) <= _SMALL:
            self._held[exchange] = value
            if len(self._held) > _HELD:
                self._held.popitem(last=False)
        return value


def params_of(message: Any) -> dict[str, Any]:
    """The params of a message; empty if they are no object."""
    params = member(message, "params")
    return params if isinstance(params, dict) else {}


def member(value: Any, name: str) -> Any:
    """Returns a member of what may be an object; None if there is none.

    Args:
        value: any JSON value, decoded.
        name: of the member.
    """
    return value.get(name) if isinstance(value, dict) else None


def _member_request(raw: bytes, request: RecordedRequest) -> bytes:
    wanted = (Kind.REQUEST, request.ask.rpc_id)
    members = (m.raw or b"" for m in read(raw).members if (m.kind, m.rpc_id) == wanted)
    return next(members, b"")
