"""Keeps what an agent has announced of the tool calls that have not ended.

A permission request may name a tool call by its id alone, and an update changes only the members
that it has. So the scope of a request is what all of these contain together. The names of the
members are those of the dialect: ``kind`` and ``rawInput`` in v1 and v2, ``tool`` and ``input`` in
the 1.0 draft.
"""

from collections import OrderedDict
from math import nan as NAN  # noqa: N812
from typing import Any

from acp_proxy.engine.client.messages import member, params_of
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.updates import FINAL

_ABOUT_IT = frozenset({"sessionUpdate", "_meta"})
_UNREADABLE = "(an update that cannot be read)"
_MOST = 1000
"""Tool calls that are remembered; the oldest are forgotten when there are more."""

_Key = tuple[str | None, str]


class ToolCalls:
    """Tool calls by session and id.

    Args:
        null_clears: whether a member that is null removes the earlier value, as in v2.
    """

    def __init__(self, *, null_clears: bool) -> None:
        self._null_clears = null_clears
        self._calls: OrderedDict[_Key, dict[str, Any]] = OrderedDict()

    def take(self, message: Message, value: Any) -> None:
        """Takes an update of a session; one that is about no tool call changes nothing.

        Args:
            message: the update.
            value: the same, decoded; None if it cannot be. Its content is unknown then, so the tool
                call equals no other from then on.
        """
        if message.tool_call is None:
            return
        if value is None:
            self._calls.setdefault((message.session, message.tool_call), {})[_UNREADABLE] = NAN
            return
        params = params_of(value)
        update = params.get("update", params.get("data"))
        if not isinstance(update, dict):
            return
        key = message.session, message.tool_call
        if update.get("status") in FINAL:
            self._calls.pop(key, None)
            return
        call = self._calls.setdefault(key, {})
        self._calls.move_to_end(key)
        if message.update == "tool_call_content_chunk":
            known = call.get("content")
            items = known if isinstance(known, list) else []
            call["content"] = [*items, update.get("content")]
        else:
            self._merge(call, update)
        if len(self._calls) > _MOST:
            self._calls.popitem(last=False)

    def announced(self, session: str | None, call: str | None) -> dict[str, Any]:
        """Returns what is known of a tool call; empty if it was never announced.

        The caller must not change it.

        Args:
            session: its session.
            call: its id.
        """
        return {} if call is None else self._calls.get((session, call), {})

    def _merge(self, call: dict[str, Any], update: dict[str, Any]) -> None:
        for name, value in update.items():
            if name in _ABOUT_IT:
                continue
            if value is not None:
                call[name] = value
            elif self._null_clears:
                call.pop(name, None)


def call_named(request: Any) -> str | None:
    """The id of the tool call that a permission request is about, wherever its dialect has it."""
    params = params_of(request)
    subject = params.get("subject")
    for holder in (params.get("toolCall"), member(subject, "toolCall"), subject, params):
        found = member(holder, "toolCallId")
        if isinstance(found, str):
            return found
    return None
