"""Applies messages to the state of a conversation.

Invalid messages also change the state, as far as they can be understood. Otherwise one mistake
would cause many findings.
"""

from itertools import chain
from typing import Any

from acp_proxy.check.checked_message import CheckedMessage, integer, items, names_in, strings
from acp_proxy.check.conversation.conversation import CALL, Conversation
from acp_proxy.check.conversation.session_record import (
    EndedTurn,
    SessionRecord,
    TerminalRecord,
    TurnRecord,
    options_by_id,
)
from acp_proxy.check.conversation.unpaired_messages import (
    correct,
    excuse_names,
    follow_stray,
    is_answered_otherwise,
    learn,
    meant_for,
)
from acp_proxy.protocol.connection_state import Exchange, Turn
from acp_proxy.protocol.dialects import (
    CANCEL,
    CANCEL_REQUEST,
    CLOSING,
    DRAFT,
    FORK,
    INITIALIZE,
    LOGIN,
    OPENING,
    PERMISSION,
    PROMPT,
    V1,
    V2,
)
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.permissions import DENIED, options_of, read_answer
from acp_proxy.protocol.updates import MESSAGES, NEW_CHILD, PLANS, UPDATE, WORK

_ASKED = 20_000
_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT


def follow(conversation: Conversation, message: CheckedMessage) -> list[EndedTurn]:
    """Updates the conversation with a message, after the rules have checked the message.

    Args:
        conversation: the conversation before the message.
        message: the message.

    Returns:
        The turns that the message has ended.
    """
    conversation.first.setdefault(message.direction, message.seq)
    conversation.messages[message.direction] += 1
    if message.direction is _TO_CLIENT:
        for turn in conversation.cancelling.values():
            turn.from_agent += 1
    if message.transition.begun is not None:
        _begin(conversation, message, message.transition.begun)
    learn(conversation, message)
    if message.transition.opened is not None:
        if not is_answered_otherwise(conversation, message):
            conversation.asked.add(message.transition.opened.id, message)
            if message.method in OPENING and len(conversation.opening) < 1_000:
                conversation.opening[message.transition.opened.id] = message
        elif message.transition.begun is not None:
            conversation.turns.pop(message.transition.begun.id, None)
        _request(conversation, message)
    elif message.parsed.kind in ("response", "error"):
        _answer(conversation, message)
    elif message.method == UPDATE:
        _update(conversation, message)
    elif message.method == CANCEL and message.direction is _TO_AGENT:
        _cancel(conversation, message, message.session, must_confirm=message.session is not None)
    elif message.method == CANCEL_REQUEST and (target := message.transition.cancelled) is not None:
        cancelled = conversation.turn(target.turn) if target.method == PROMPT else None
        if cancelled is not None:
            _cancel_turn(conversation, cancelled, message, must_confirm=False)
    ends = [_end(conversation, message, turn) for turn in message.transition.ended]
    return [end for end in ends if end is not None]


def _begin(conversation: Conversation, message: CheckedMessage, begun: Turn) -> None:
    opened = message.transition.opened
    exchange = None if opened is None else opened.id
    turn = TurnRecord(begun.id, begun.session, message.seq, exchange, str(message.params)[:_ASKED])
    session = conversation.session(begun.session)
    older = conversation.other_turn(begun.session, begun.id)
    if older is not None:
        turn.was_cancelling = older.cancel_seq is not None or older.was_cancelling
    turn.is_joining = older is not None or session is None or session.may_be_running
    conversation.turns[begun.id] = turn
    if session is not None:
        session.had_prompt = True


def _end(conversation: Conversation, message: CheckedMessage, ended: Turn) -> EndedTurn | None:
    turn = conversation.turns.pop(ended.id, None)
    conversation.cancelling.pop(ended.id, None)
    if turn is None:
        return None
    code = message.parsed.error_code
    reason = message.parsed.stop_reason
    is_answer = message.answered is not None
    end = EndedTurn(turn, message.seq, message.t_ns, reason, message.is_error, code, is_answer)
    conversation.last_ends.add(turn.session or "", end)
    return end


def _cancel(
    conversation: Conversation, message: CheckedMessage, session: str | None, *, must_confirm: bool
) -> None:
    open_ = conversation.connection.state.turns
    turns = chain(*open_.values()) if session is None else open_.get(session, [])
    for open_turn in turns:
        turn = conversation.turns.get(open_turn.id)
        if turn is not None and not conversation.is_overtaken(turn.session, turn.prompt_seq):
            _cancel_turn(conversation, turn, message, must_confirm=must_confirm)


def _cancel_turn(
    conversation: Conversation, turn: TurnRecord, message: CheckedMessage, *, must_confirm: bool
) -> None:
    turn.cancel(message.seq, message.t_ns, must_confirm=must_confirm)
    conversation.cancelling[turn.id] = turn


def _request(conversation: Conversation, message: CheckedMessage) -> None:
    method = message.method
    if method in INITIALIZE and message.direction is _TO_AGENT:
        if len(conversation.initialize) < 2:
            conversation.initialize.append(message)
        if not conversation.client.is_known and isinstance(member(message.value, "params"), dict):
            conversation.client.announced, conversation.client.seq = message.params, message.seq
    elif method in (*CLOSING, CANCEL) and message.direction is _TO_AGENT:
        _cancel(conversation, message, message.session, must_confirm=False)
    elif method in LOGIN:
        conversation.auth_required = None
    elif method == PERMISSION:
        session, call_id = conversation.session(message.session), message.parsed.tool_call
        if session is not None and call_id is not None:
            turn = conversation.turn(message.transition.turn)
            call = session.call(call_id, message, turn)
            call.refused_seq, call.asked_seq = None, message.seq
            call.take(message, message.params.get("toolCall"))
    elif method == "terminal/release":
        released = conversation.terminals.get(message.parsed.terminal or "")
        for record in conversation.terminals.values() if released is None else (released,):
            record.release_asked_seq = record.release_asked_seq or message.seq


def _answer(conversation: Conversation, message: CheckedMessage) -> None:
    exchange = message.answered
    if exchange is None:
        request = meant_for(conversation, message)
        exchange = None if request is None else request.transition.opened
        if request is None or exchange is None:
            follow_stray(conversation, message)
            return
        message.request = request
        conversation.pairs.adopted.add(exchange.id, message)
        if request.transition.begun is not None:
            _end(conversation, message, request.transition.begun)
    else:
        correct(conversation, exchange.id)
    conversation.settle(exchange.id)
    session = conversation.session(exchange.session) if exchange.method == PERMISSION else None
    call = None if session is None else session.calls.get(exchange.tool_call or "")
    if call is not None:
        call.asked_seq = None
    conversation.answered[message.direction.other].add(exchange.rpc_id or "null", message.seq)
    if message.is_error:
        if message.parsed.error_code == (-32001 if conversation.dialect == DRAFT else -32000):
            conversation.auth_required = message
        return
    method = exchange.method or ""
    if method in INITIALIZE:
        if isinstance(member(message.value, "result"), dict):
            # The 1.0 draft requires capabilities, so a missing member does not mean "none".
            unsaid = {"capabilities": None} if conversation.dialect == DRAFT else {}
            conversation.agent.announced = {**unsaid, **message.result}
            conversation.agent.seq = message.seq
    elif method in OPENING:
        _open(conversation, message, exchange)
    elif method == "session/list":
        _listed(conversation, message)
    elif method == "nes/start" and message.parsed.session is not None:
        conversation.listed.add(message.parsed.session, message.seq)
    elif method in CLOSING:
        if (closed := conversation.session(exchange.session)) is not None:
            closed.closed_seq = message.seq
    elif method in LOGIN:
        conversation.is_logged_in = message.result.get("success") is not False
    elif method in ("logout", "auth/logout"):
        conversation.is_logged_in = False
    elif method == "session/set_config_option":
        if (session := conversation.session(exchange.session)) is not None:
            session.take_options(message.result, message)
    elif method == PERMISSION:
        _allow(conversation, message, exchange)
    elif method.startswith("terminal/"):
        _run(conversation, message, exchange)


def _open(conversation: Conversation, message: CheckedMessage, exchange: Exchange) -> None:
    name, method = message.parsed.session or exchange.session, exchange.method or ""
    if name is None:
        excuse_names(conversation, method)
        return
    params = message.request.params if message.request is not None else {}
    known = conversation.session(name)
    if known is not None and method in ("session/new", FORK):
        excuse_names(conversation, method)  # the agent should have made a new id
        known = None
    session = known or SessionRecord(name, method, message.seq)
    session.closed_seq, session.had_prompt = None, False
    session.opened, session.seq = method, message.seq
    session.is_readable = message.value is not None and _is_listed(message.result)
    cwd = params.get("cwd", params.get("workingDirectory"))
    if isinstance(cwd, str):
        session.roots = [cwd, *strings(items(params.get("additionalDirectories"), None))]
    session.servers = items(params.get("mcpServers"))
    modes = message.result.get("modes")
    if isinstance(modes, dict):
        session.modes = names_in(modes.get("availableModes"))
    session.has_models = isinstance(message.result.get("models"), dict)
    session.take_options(message.result, message)
    conversation.sessions.add(name, session)


def _listed(conversation: Conversation, message: CheckedMessage) -> None:
    for name in names_in(message.result.get("sessions"), "sessionId", None):
        conversation.listed.add(name, message.seq)
    if isinstance(cursor := message.result.get("nextCursor"), str):
        conversation.cursors.add(cursor, message.seq)


def _allow(conversation: Conversation, message: CheckedMessage, exchange: Exchange) -> None:
    """Notes the effects of an answer to a permission request, such as a refused call."""
    session, request = conversation.session(exchange.session), message.request
    if request is None or not isinstance(message.result.get("granted", True), bool):
        return
    answer = read_answer(options_of(request.value), message.value)
    turn = conversation.turn(exchange.turn)
    is_unasked = answer.is_cancelled and not exchange.cancelled
    if turn is not None and is_unasked and turn.cancel_seq is None and turn.dropped is None:
        turn.dropped = request.seq, message.seq
    if session is not None and exchange.tool_call is not None and answer.decision == DENIED:
        call = session.calls.get(exchange.tool_call)
        if call is not None:
            call.refused_seq = message.seq


def _run(conversation: Conversation, message: CheckedMessage, exchange: Exchange) -> None:
    """Notes the effects of an answer to a terminal request: a new, ended or released terminal."""
    method, request = exchange.method, message.request
    if method == "terminal/create":
        if (name := message.parsed.terminal) is not None:
            limit = request.params.get("outputByteLimit") if request is not None else None
            record = TerminalRecord(name, exchange.session, message.seq, exchange.turn)
            record.limit = integer(limit)
            if record.session is not None and conversation.sessions.lacks(record.session):
                record.session = None
            known = conversation.terminals.get(name)
            if known is not None and not known.is_created:
                record.release_asked_seq = message.seq
            conversation.terminals.add(name, record)
        else:
            excuse_names(conversation, method)
        return
    terminal = conversation.terminals.get(exchange.terminal or "")
    if terminal is None:
        return
    if method == "terminal/output" and conversation.dialect == V1:
        terminal.read(message.seq, message.result)
    elif method == "terminal/wait_for_exit":
        terminal.ended(message.seq, message.result)
    elif method == "terminal/release":
        terminal.release_seq = terminal.release_seq or message.seq


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


def _update(conversation: Conversation, message: CheckedMessage) -> None:
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
        call.take(message, update)
    elif kind == "tool_call":
        conversation.pairs.lose_update(message.seq)
    elif kind in PLANS:
        session.take_plan(update, message.seq, message.transition.turn)
    elif kind in ("available_commands_update", "available_commands"):
        commands = update.get("availableCommands", update.get("commands"))
        session.commands = names_in(commands, "name")
    elif kind == "config_option_update":
        session.take_options(update, message)
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


def _announce(conversation: Conversation, message: CheckedMessage) -> None:
    """Adds or changes a child session that is announced by an update of its parent session."""
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


def _is_listed(result: dict[str, Any]) -> bool:
    """Whether the modes and options in the answer that opens a session are readable."""
    modes, options = result.get("modes"), result.get("configOptions")
    if modes is not None:
        listed = member(modes, "availableModes")
        if not isinstance(listed, list) or len(names_in(listed)) != len(listed):
            return False
    if options is None:
        return True
    return isinstance(options, list) and len(options_by_id(options) or ()) == len(options)
