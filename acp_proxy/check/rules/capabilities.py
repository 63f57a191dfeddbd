"""Rules about capabilities: messages that a peer may send only if one side has announced them."""

from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, not_offered, shown
from acp_proxy.check.checked_message import CLIENT, CheckedMessage, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import MessageRule, rule
from acp_proxy.protocol.capabilities import TABLE, Need
from acp_proxy.protocol.dialects import CANCEL, PROMPT
from acp_proxy.protocol.json_text import member, pointer
from acp_proxy.protocol.updates import NEW_CHILD

_CHANGING = (PROMPT, "session/set_mode", "session/set_config_option")


def _rule_of(need: Need) -> MessageRule:
    """Returns the function that checks the capability required by one row of the table."""

    def capability_is_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
        """Finds messages whose capability was not announced."""
        side = message.sender if need.is_own else message.receiver
        peer, path = conversation.peer(side), need.path(conversation.dialect)
        if not path or not peer.is_known or peer.offers(*path):
            return
        if message.parsed.terminal in conversation.terminals:
            return  # the client has terminals; the missing capability was reported before
        root, holder = ("result", message.result) if need.is_result else ("params", message.params)
        place = _found(holder, need.where.split("/"), need.value) if need.where else ()
        if place is None:
            return
        what = need.what or message.update_kind or message.method or ""
        yield Breach(not_offered(what, ".".join(path), side), frames_of(peer),
                     severity=Severity.WARNING if need.is_wanted else None,
                     place=pointer((root, *place)) if place else None)  # fmt: skip

    return capability_is_offered


@rule("session.child-capability", requests=_CHANGING, notifications=(CANCEL,))
def children_are_left_alone(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages of the client that a child session does not allow by its capabilities."""
    child = conversation.session(message.session)
    if child is None or child.opened != NEW_CHILD or message.sender != CLIENT:
        return
    if message.method != CANCEL or not child.may_be_cancelled:
        text = f"{message.method} is sent for the child session {shown(child.id)}"
        yield Breach(f"{text}, whose capabilities do not allow it", (child.seq,))


def _register() -> None:
    for need in TABLE:
        if need.is_result:
            bind = rule(need.rule, results=need.uses)
        elif need.is_update:
            bind = rule(need.rule, updates=need.uses)
        else:
            bind = rule(need.rule, requests=need.uses, notifications=need.uses)
        bind(_rule_of(need))


def _found(holder: Any, where: list[str], value: str) -> tuple[str, ...] | None:
    """Returns the path to the first member with a value, or with any value if `value` is empty.

    Returns None if there is no such member.
    """
    name, rest = where[0], where[1:]
    every = enumerate(items(holder)) if name == "*" else [(name, member(holder, name))]
    for key, inside in every:
        if rest and (inner := _found(inside, rest, value)) is not None:
            return (str(key), *inner)
        if not rest and inside is not None and value in ("", inside):
            return (str(key),)
    return None


_register()
