"""Computes the current state of a tool call. No other code merges the messages about a call.

A message about a tool call contains only the members that change. A missing member keeps its
earlier value. A member that is null removes the value in v2, and changes nothing in the other
dialects. A ``tool_call_content_chunk`` (v2) adds an item to the content.

`call_ids` decides which messages are about the same tool call.
"""

from typing import Any

from attrs import define

from acp_proxy.base.limits import TITLE
from acp_proxy.base.wording import plain
from acp_proxy.protocol.json_text import member, word
from acp_proxy.protocol.updates import CONTENT_CHUNK, FAILED, FINAL, kind_and_update

NAMES = ("title", "name", "tool")
"""The members that may name a tool call."""
_TEXTS = (*NAMES, "kind", "status")
_ABOUT_UPDATE = frozenset({"sessionUpdate", "_meta"})
"""Members of an update that do not belong to the tool call."""


@define
class CallStatus:
    """Tracks only the status of a tool call."""

    status: str = ""
    """The latest status; empty until a message names a status."""
    status_seq: int = 0
    """The frame number of the latest message that named a status; 0 before such a message."""

    @property
    def is_over(self) -> bool:
        """Whether the status is final."""
        return self.status in FINAL

    @property
    def is_failed(self) -> bool:
        """Whether the call failed or was denied."""
        return self.status in FAILED

    def take_status(self, status: str | None, seq: int) -> None:
        """Sets the status to the status in a message; does nothing if the message has no status.

        Args:
            status: the status in the message.
            seq: the number of the message's frame.
        """
        if status:
            self.status, self.status_seq = status, seq


@define
class CallState(CallStatus):
    """A tool call according to the messages so far; unknown fields are empty.

    The texts are cut, and safe to print. If a member is null, its earlier text is kept.
    """

    title: str = ""
    """The title, or the name of the tool."""
    kind: str = ""
    tool: str = ""
    """The name of the tool; the 1.0 draft has this member instead of the kind."""
    members: dict[str, Any] | None = None
    """All members of the call, merged; None if only the fields above are kept."""

    def take(self, call: dict[str, Any], seq: int = 0) -> None:
        """Updates the call with the members in a message.

        Args:
            call: the members that `call_of` returned for the message.
            seq: the number of the message's frame.
        """
        said = {name: plain(word(call, name)[:TITLE]) for name in _TEXTS if name in call}.get
        self.title = said("title") or said("name") or said("tool") or self.title
        self.kind = said("kind") or self.kind
        self.tool = said("tool") or self.tool
        self.take_status(said("status"), seq)
        if self.members is not None:
            merge(self.members, call)


def merge(
    known: dict[str, Any], call: dict[str, Any], update: str = "", *, null_clears: bool = False
) -> None:
    """Merges the members of a tool call in one message into the members from earlier messages.

    Args:
        known: the members so far; changed in place.
        call: the members that `call_of` returned for the message.
        update: the kind of the session update. Only the kind `CONTENT_CHUNK` has to be passed.
        null_clears: whether null removes the earlier value, as in v2.
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
    """Returns the members of the tool call in a session update or a permission request.

    Args:
        params: the params of the message, decoded.

    Returns:
        The members; empty if there is no call. The members of an update include ``sessionUpdate``.
    """
    _, update = kind_and_update(params)
    if update:
        return update
    for call in (params.get("toolCall"), member(params, "subject", "toolCall")):
        if isinstance(call, dict) and call:
            return call
    return {}
