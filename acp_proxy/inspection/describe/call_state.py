"""Reads title, kind and status of a tool call from a frame."""

from typing import Any

from attrs import frozen

from acp_proxy.inspection.describe.values import message_of, part, word
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.safe_text import plain

_TITLE = 200
"""Characters of a title that are kept."""


@frozen
class CallState:
    """What is known of a tool call; None what is not."""

    title: str | None = None
    kind: str | None = None
    status: str | None = None

    def updated(self, later: "CallState") -> "CallState":
        """What is known after another frame."""
        return CallState(
            later.title or self.title, later.kind or self.kind, later.status or self.status
        )


def params_of(raw: bytes) -> dict[str, Any]:
    """The params of a message, or of as much of it as makes sense; never raises."""
    return part(message_of(raw), "params")


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
