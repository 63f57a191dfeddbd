"""Rules about session updates: their kinds, message ids, plans and lists of slash commands."""

import re
from collections.abc import Iterator
from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, dialect_name, shown
from acp_proxy.check.checked_message import AGENT, CheckedMessage, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.session_record import PlanRecord, plan_of
from acp_proxy.check.methods import UPDATE_KINDS
from acp_proxy.check.registry import ANY, rule
from acp_proxy.explain.message_pass import HISTORY
from acp_proxy.protocol.dialects import DRAFT, PROMPT, V1, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.updates import PLANS

_KINDS = {
    # Another rule reports kinds that only the other version has.
    V1: UPDATE_KINDS[V1] | UPDATE_KINDS[V2],
    V2: UPDATE_KINDS[V1] | UPDATE_KINDS[V2],
    DRAFT: UPDATE_KINDS[DRAFT],
}
_CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
_COMMANDS = ("available_commands_update", "available_commands")
_COMMAND = re.compile(r"/([A-Za-z][\w:.-]*)(?:\s|$)")
_PRIORITIES = ("high", "medium", "low")
_STATUSES = ("pending", "in_progress", "completed")
_ENTRY: dict[str, dict[str, tuple[str, ...]]] = {
    V1: {"content": (), "priority": _PRIORITIES, "status": _STATUSES},
    V2: {"content": (), "priority": (), "status": ()},
    DRAFT: {"id": (), "description": (), "status": ()},
}
"""For each dialect, the members of a plan entry, each with its allowed values; empty if all values
are allowed."""
_MOST = 1_000


@rule("update.unknown", updates=(ANY,), odd=True, alone=True)
def kind_is_known(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates of an unknown kind."""
    kind = message.update_kind
    if kind in _KINDS.get(conversation.dialect or "", (kind,)) or not kind:
        return
    if conversation.dialect == V2 and kind.startswith("_"):
        return
    if ("update" in message.params) == (conversation.dialect != DRAFT):
        place = "/params/type" if conversation.dialect == DRAFT else "/params/update/sessionUpdate"
        name = dialect_name(conversation.dialect)
        yield Breach(f"{name} has no update {shown(kind)}", place=place)


@rule("update.wrong-dialect", "last", alone=True)
def form_is_of_the_dialect(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds updates with the envelope of another dialect."""
    if conversation.dialect is None or not message.update_kind:
        return
    if ("update" in message.params) == (conversation.dialect == DRAFT):
        forms = ["type and data", "update.sessionUpdate"]
        got, expected = reversed(forms) if conversation.dialect == DRAFT else forms
        text = f"the update has {got}; {dialect_name(conversation.dialect)} has {expected}"
        yield Breach(text, place="/params")


@rule("update.message-id", updates=_CHUNKS)
def ids_do_not_return(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports messages that continue after another message of the same kind has begun."""
    session, name = conversation.session(message.session), message.update.get("messageId")
    if session is None or conversation.dialect != V1 or not isinstance(name, str):
        return
    if session.message_ids.get(message.update_kind) == name or message.sender != AGENT:
        return
    had_ended = f"{message.update_kind} {name}" in session.past_message_ids
    if had_ended and not conversation.is_opening(message.session, *HISTORY):
        yield Breach(f"the message {shown(name)} goes on after another one has begun",
                     place="/params/update/messageId")  # fmt: skip


@rule("plan.entry", updates=PLANS, alone=True)
def entries_are_whole(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds plan entries without a required member, or with a forbidden value."""
    members = _ENTRY.get(conversation.dialect or "")
    if members is None or ("update" in message.params) == (conversation.dialect == DRAFT):
        return
    for at, entry in enumerate(plan_of(message.update)[1][:_MOST]):
        for name, allowed in members.items():
            value = member(entry, name)
            if isinstance(value, str) and (not allowed or value in allowed):
                continue
            place = f"{_plan_place(message)}/{at}"
            if not isinstance(entry, dict):
                yield Breach(f"an entry of the plan is {shown(entry)}", place=place)
                break
            text = f"the {name} of an entry of the plan is {shown(value)}"
            text = text if name in entry else f"an entry of the plan has no {name}"
            yield Breach(text, place=f"{place}/{name}")


@rule("plan.partial", updates=PLANS)
def updates_are_complete(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports plan entries that are missing from an update, but return in a later update."""
    before = _plan_before(message, conversation)
    if before is None or not before.left_out:
        return
    texts = [_text(entry) for entry in plan_of(message.update)[1][:_MOST]]
    back = [text for text in texts if text is not None and text in before.left_out]
    for seq in sorted({before.left_out[text] for text in back}):
        named = ", ".join(shown(text) for text in back if before.left_out[text] == seq)
        text = f"the plan leaves out {named[:200]}, which a later update has again"
        yield Breach(text, (message.seq,), seq=seq)


@rule("plan.regression", updates=PLANS)
def states_move_on(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports plan entries that are pending again after they were completed."""
    before = _plan_before(message, conversation)
    if before is None:
        return
    entries = plan_of(message.update)[1][:_MOST]
    texts = [_text(entry) for entry in entries]
    for at, text in enumerate(texts):
        was_done = text is not None and before.entries.get(text) == "completed"
        if was_done and member(entries[at], "status") == "pending" and texts.count(text) == 1:
            yield Breach(f"the entry {shown(text)} was completed, but is pending", (before.seq,),
                         place=f"{_plan_place(message)}/{at}/status")  # fmt: skip


@rule("commands.slash", updates=_COMMANDS, alone=True)
def names_have_no_slash(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds slash commands whose name contains the leading slash."""
    for place, name in _names(message):
        if name.startswith("/"):
            yield Breach(f"the command {shown(name)} is named with a slash", place=place)


@rule("commands.duplicate", updates=_COMMANDS, alone=True)
def names_are_unique(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds slash commands whose name occurs twice in a list."""
    known: set[str] = set()
    for place, name in _names(message):
        if name in known:
            yield Breach(f"several commands have the name {shown(name)}", place=place)
        known.add(name)


@rule("commands.unknown", requests=(PROMPT,))
def command_is_advertised(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports prompts with a slash command that is missing from the agent's latest list."""
    session = conversation.session(message.session)
    if session is None or not session.commands:
        return
    name = "content" if conversation.dialect == DRAFT else "prompt"
    blocks = message.params.get(name)
    first = blocks[0] if isinstance(blocks, list) and blocks else None
    text = member(first, "text") if member(first, "type") == "text" else None
    command = _COMMAND.match(text) if isinstance(text, str) else None
    if command is not None and command[1] not in (known.lstrip("/") for known in session.commands):
        yield Breach(f"the command {shown(command[1])} is not listed",
                     place=f"/params/{name}/0/text")  # fmt: skip


def _plan_before(message: CheckedMessage, conversation: Conversation) -> PlanRecord | None:
    """Returns the plan that an earlier update of the same turn has set; None if none has."""
    session = conversation.session(message.session)
    before = None if session is None else session.plans.get(plan_of(message.update)[0])
    turn = message.transition.turn
    return before if before is not None and before.turn == turn is not None else None


def _plan_place(message: CheckedMessage) -> str:
    if "update" not in message.params:
        return "/params/data/steps"
    is_nested = isinstance(message.update.get("plan"), dict)
    return "/params/update/plan/entries" if is_nested else "/params/update/entries"


def _text(entry: Any) -> str | None:
    """Returns the text of a plan entry; None if the entry has no text."""
    text = member(entry, "content") or member(entry, "description")
    return text if isinstance(text, str) else None


def _names(message: CheckedMessage) -> Iterator[tuple[str, str]]:
    """Yields the name of each command, and the JSON pointer of the name."""
    name = "availableCommands" if "update" in message.params else "commands"
    every = message.update.get(name)
    root = "/params/update" if "update" in message.params else "/params/data"
    for at, entry in enumerate(items(every, 10_000)):
        if isinstance(text := member(entry, "name"), str):
            yield f"{root}/{name}/{at}/name", text
