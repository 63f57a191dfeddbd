"""The current state of a tool call: the only code that merges the messages about a call.

A message about a tool call contains only the members that change. Each replaces the earlier value,
and omitted members stay. A member that is null changes nothing; in v2 it removes the earlier value.
A ``tool_call_content_chunk`` (v2) adds an item to the content.

`call_ids` decides which messages are about the same tool call.
"""

from typing import Any

from attrs import define

from acp_proxy.base.limits import TITLE
from acp_proxy.base.safe_text import plain
from acp_proxy.protocol.json_text import member, word
from acp_proxy.protocol.updates import CONTENT_CHUNK, FAILED, FINAL, kind_and_update

NAMES = ("title", "name", "tool")
"""The members that may name a tool call."""
_ABOUT_UPDATE = frozenset({"sessionUpdate", "_meta"})
"""Members of an update that do not belong to the tool call."""


@define
class CallStatus:
    """The status of a tool call, where nothing else of it is needed."""

    status: str = ""
    """Empty until a message names a status."""
    status_seq: int = 0
    """The frame of the last message that named a status."""

    @property
    def is_over(self) -> bool:
        """Whether the status is final."""
        return self.status in FINAL

    @property
    def is_failed(self) -> bool:
        """Whether the call failed or was denied."""
        return self.status in FAILED

    def take_status(self, status: str | None, seq: int) -> None:
        """Takes the status of a message; does nothing if the message has none.

        Args:
            status: the status.
            seq: the frame of the message.
        """
        if status:
            self.status, self.status_seq = status, seq


@define
class CallState(CallStatus):
    """A tool call according to the messages so far; unknown members are empty.

    Its texts are cut and safe to print. They show people the latest known value, so null changes
    nothing here, in any dialect.
    """

    title: str = ""
    """The title, or the name of the tool."""
    kind: str = ""
    tool: str = ""
    """The name of the tool, which the 1.0 draft has in place of the kind."""
    members: dict[str, Any] | None = None
    """All members of the call, merged; None where only the fields above are kept."""

    def take(self, call: dict[str, Any], seq: int = 0) -> None:
        """Takes the members of a call in a message.

        Args:
            call: the members, as returned by `call_of`.
            seq: the frame of the message.
        """
        self.title = _text(call, *NAMES) or self.title
        self.kind = _text(call, "kind") or self.kind
        self.tool = _text(call, "tool") or self.tool
        self.take_status(_text(call, "status"), seq)
        if self.members is not None:
            merge(self.members, call)


def merge(
    known: dict[str, Any], call: dict[str, Any], update: str = "", *, null_clears: bool = False
) -> None:
    """Merges the members of a call in a message into the earlier ones.

    Args:
        known: the members so far; changed in place.
        call: the members, as returned by `call_of`.
        update: the kind of the session update, if it may be a `CONTENT_CHUNK`.
        null_clears: whether null removes a member, as in v2.
    """
    if update == CONTENT_CHUNK:
        items = known.get("content")
        known["content"] = [*(items if isinstance(items, list) else ()), call.get("content")]
        return
    for name, value in call.items():
        if value is None:
            if null_clears:
                known.pop(name, None)
        elif name not in _ABOUT_UPDATE:
            known[name] = value


def call_of(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the members of the call in a session update or a permission request; may be empty.

    Args:
        params: the params of the message, decoded.
    """
    _, update = kind_and_update(params)
    for call in (update, params.get("toolCall"), member(params, "subject", "toolCall")):
        if isinstance(call, dict) and call:
            return call
    return {}


def _text(call: dict[str, Any], *names: str) -> str:
    text = word(call, *names)
    return plain(text[:TITLE]) if text else ""
