"""State changes by session updates."""

from typing import Any

from acp_proxy.check.checked_message import CheckedMessage, items, strings
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.mistaken_pairs import CALL
from acp_proxy.check.conversation.session_record import (
    NAMING,
    CallRecord,
    SessionRecord,
    options_by_id,
)
from acp_proxy.protocol.dialects import (
    OPENING,
    V2,
)
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.updates import MESSAGES, NEW_CHILD, PLANS, WORK


def follow_update(conversation: Conversation, message: CheckedMessage) -> None:
    """Updates the conversation with a session update.

    Args:
        conversation: the conversation before the update.
        message: the update.
    """
    session = conversation.session(message.session)
    turn = conversation.turn(message.transition.turn)
    kind, update = message.update_kind, message.update
    if turn is not None:
        turn.updates += 1
        turn.has_text |= kind in ("", "agent_message_chunk")
        if conversation.dialect == V2:
            _progress(conversation, message)
    if kind == NEW_CHILD:
        _announce(conversation, message)
    if session is None or not kind:
        conversation.pairs.lose_update(message.seq)
        return
    if (call_id := message.parsed.tool_call) is not None:
        if kind == "tool_call_update" and session.calls.lacks(call_id):
            conversation.pairs.use_excuse(CALL)
        call = session.call(call_id, message, turn)
        call.is_reported = True
        if kind == "tool_call":
            call.announced_seq = message.seq
        for terminal in names_in(update.get("content"), "terminalId", 100):
            if len(call.terminals) < 100:
                call.terminals.add(terminal)
        set_status(call, message, update)
    elif kind == "tool_call":
        conversation.pairs.lose_update(message.seq)
    elif kind in PLANS:
        session.take_plan(update, message.seq, message.transition.turn)
    elif kind in ("available_commands_update", "available_commands"):
        commands = update.get("availableCommands", update.get("commands"))
        session.commands = names_in(commands, "name")
    elif kind == "config_option_update":
        set_options(session, update, message)
    elif kind == "state_update":
        state = update.get("state")
        if not isinstance(state, str):
            conversation.pairs.lose_update(message.seq)
        session.state = state if isinstance(state, str) else session.state
    elif kind in MESSAGES and isinstance(message_id := update.get("messageId"), str):
        before = session.message_ids.get(kind)
        if before is not None and before != message_id:
            session.past_message_ids.add(f"{kind} {before}", None)
        session.message_ids[kind] = message_id


def _progress(conversation: Conversation, message: CheckedMessage) -> None:
    """Applies an update of v2 to the open turns of its session."""
    kind = message.update_kind
    for turn in conversation.turns.values():
        if turn.session != message.session:
            continue
        if kind in ("user_message", "user_message_chunk"):
            turn.has_user_message = True
        elif kind == "state_update":
            turn.is_running |= message.update.get("state") != "idle"
        elif kind in WORK and turn.output_seq is None:
            turn.output_seq = message.seq


def _announce(conversation: Conversation, message: CheckedMessage) -> None:
    """Adds or changes the child session that an update announces in its parent session."""
    name, parent = message.update.get("sessionId"), conversation.session(message.session)
    if not isinstance(name, str):
        return
    child = conversation.session(name)
    if child is None:
        child = SessionRecord.of_unseen(name, message.seq)
        child.opened = NEW_CHILD
        child.calls.has_forgotten = conversation.is_opening(message.session, *OPENING)
        cwd = message.update.get("cwd")
        child.roots = [cwd] if isinstance(cwd, str) else [] if parent is None else parent.roots
        conversation.sessions.add(name, child)
    if "capabilities" in message.update:  # "Omitted means unchanged"
        child.may_be_cancelled = member(message.update, "capabilities", "cancel") is not None


def set_status(call: CallRecord, message: CheckedMessage, said: Any) -> None:
    """Updates the status of a tool call, and notes when it had a title and an input.

    Args:
        call: the tool call.
        message: an update or a permission request.
        said: the members that describe the tool call.
    """
    call.named |= {name: message.seq for name in NAMING if member(said, name)}
    status = message.parsed.status
    if not call.status and message.update_kind == "tool_call":
        status = status or "pending"  # the default in v1
    call.take_status(status, message.seq)
    call.has_run |= call.status == "in_progress"


def set_options(session: SessionRecord, holder: dict[str, Any], message: CheckedMessage) -> None:
    """Sets the configuration options of a session, if a message lists them.

    Args:
        session: the session.
        holder: the result or the update that may list them.
        message: the message.
    """
    options = options_by_id(holder.get("configOptions"))
    if options is not None:
        session.options, session.options_seq = options, message.seq
        session.options_ns = message.t_ns


def names_in(values: Any, name: str = "id", most: int | None = 10_000) -> list[str]:
    """Returns the strings under one member name of the objects in a list.

    Args:
        values: the list; other values have no names.
        name: the name of the member.
        most: the largest number of objects that are read; None for all.
    """
    return strings(member(value, name) for value in items(values, most))
