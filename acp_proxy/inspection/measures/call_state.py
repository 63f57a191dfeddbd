"""Reads of a frame what it says about a tool call: its title, its kind and how far it is."""

from typing import Any

from attrs import frozen

from acp_proxy.inspection.describe.values import part, word
from acp_proxy.protocol.json_text import parse_or_begin
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.safe_text import plain

HEAD = 65536
"""Bytes of a large frame that are read."""
_TITLE = 200
"""Characters of a title that are kept."""


@frozen
class CallState:
    """What is known of a tool call; None what is not."""

    title: str | None = None
    kind: str | None = None
    status: str | None = None

    def updated(self, later: "CallState") -> "CallState":
        """What is known when another frame has told more."""
        return CallState(
            later.title or self.title, later.kind or self.kind, later.status or self.status
        )


def params_of(raw: bytes) -> dict[str, Any]:
    """The params of a message, or of as much of it as makes sense; never raises."""
    message = parse_or_begin(raw, HEAD)
    return part(message, "params") if isinstance(message, dict) else {}


def state_of(raw: bytes) -> CallState:
    """Reads a session update about a tool call, or a request for permission; never raises."""
    params = params_of(raw)
    _, call = kind_and_update(params)
    if not call:
        call = part(params, "toolCall") or part(part(params, "subject"), "toolCall")
    return CallState(
        _text(call, "title", "name", "tool"), _text(call, "kind"), _text(call, "status")
    )


def _text(call: dict[str, Any], *names: str) -> str | None:
    return plain(word(call, *names)[:_TITLE]) or None
