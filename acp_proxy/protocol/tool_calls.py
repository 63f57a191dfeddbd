"""What a tool call is now: the one place where the messages about a tool call are merged.

A message about a tool call has only the members that change. Each of them replaces what was said
before, and what the message omits stays. A member that is null changes nothing; in v2 it removes
what was said before. A ``tool_call_content_chunk`` (v2) adds an item to the content.

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
"""Members of an update that are no members of the tool call."""


@define
class CallStatus:
    """The status of a tool call, for those who need nothing else of it."""

    status: str = ""
    """Empty until a message names one."""
    status_seq: int = 0
    """The frame of the last message that named one."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens after its status."""
        return self.status in FINAL

    @property
    def is_failed(self) -> bool:
        """Whether it failed, or was denied."""
        return self.status in FAILED

    def take_status(self, status: str | None, seq: int) -> None:
        """Takes the status that a message names, if it names one.

        Args:
            status: the status.
            seq: the frame of the message.
        """
        if status:
            self.status, self.status_seq = status, seq


@define
class CallState(CallStatus):
    """A tool call by the messages about it so far; what none of them has is empty.

    Its texts are safe to print, and cut. They are for people, who want to know what was said last:
    so null changes nothing here, in no dialect.
    """

    title: str = ""
    """Or the name of its tool."""
    kind: str = ""
    tool: str = ""
    """The name of the tool, which the 1.0 draft has in place of the kind."""
    members: dict[str, Any] | None = None
    """All of the call's members, merged; None where only what is above is kept."""

    def take(self, call: dict[str, Any], seq: int = 0) -> None:
        """Takes the members of a call, as a message about it has them.

        Args:
            call: as of `call_of`.
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
    """Merges the members of a call, as a message has them, with those of the messages before.

    Args:
        known: the members so far, which this changes.
        call: as of `call_of`.
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
    """Returns the members of the call in a session update or a permission request; or none.

    Args:
        params: those of the message, decoded.
    """
    _, update = kind_and_update(params)
    for call in (update, params.get("toolCall"), member(params, "subject", "toolCall")):
        if isinstance(call, dict) and call:
            return call
    return {}


def _text(call: dict[str, Any], *names: str) -> str:
    text = word(call, *names)
    return plain(text[:TITLE]) if text else ""
