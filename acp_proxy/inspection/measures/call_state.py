"""Reads of a frame what it says about a tool call: its title, its kind and how far it is."""

import itertools
import json
from typing import Any

import msgspec
from attrs import frozen

from acp_proxy.inspection.describe.heads import completed
from acp_proxy.inspection.describe.updates import kind_and_update
from acp_proxy.inspection.describe.values import part, word
from acp_proxy.safe_text import plain

HEAD = 65536
"""Bytes of a large frame that are read."""
FAILED = frozenset({"failed", "denied"})
FINAL = FAILED | {"completed", "cancelled"}
"""The states of a tool call after which nothing more happens, in all dialects."""

_DEEPEST = 200
"""Levels of a message that is not well-formed; nobody nests deeper, and closing takes its time."""
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
    try:
        message = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        message = _tolerantly(raw)
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


def _tolerantly(raw: bytes) -> object:
    text = raw[:HEAD].decode(errors="replace").removesuffix("\ufffd")
    if _depth(text) > _DEEPEST:
        return None
    for whole in (text, completed(text)):
        try:
            return json.loads(whole)
        except ValueError:
            continue
    return None


def _depth(text: str) -> int:
    """How deep brackets are nested; those within strings count as well."""
    steps = ((c in "[{") - (c in "]}") for c in text)
    return max(itertools.accumulate(steps), default=0)
