"""What each message changes in a conversation.

What does not parse changes what it can, so that one mistake does not cause a chain of findings.
"""

from itertools import chain
from typing import Any

from acp_proxy.check.checked_message import CheckedMessage, integer, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.mistaken_pairs import CALL
from acp_proxy.check.conversation.session_record import (
    NAMING,
    CallRecord,
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
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.permissions import DENIED, options_of, read_answer
from acp_proxy.protocol.updates import MESSAGES, NEW_CHILD, PLANS, UPDATE, WORK

_ASKED = 20_000
_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT


def follow(talk: Conversation, seen: CheckedMessage) -> list[EndedTurn]:
    """Notes what a message changes, after the rules have looked at it.

    Args:
        talk: the conversation before it.
        seen: the message.

    Returns:
        The turns that it has ended.
    """
    talk.first.setdefault(seen.direction, seen.seq)
    talk.messages[seen.direction] += 1
    if seen.direction is _TO_CLIENT:
        for turn in talk.cancelling.values():
            turn.from_agent += 1
    if seen.done.begun is not None:
        _begin(talk, seen, seen.done.begun)
    learn(talk, seen)
    if seen.done.opened is not None:
        if not is_answered_otherwise(talk, seen):
            talk.asked.add(seen.done.opened.id, seen)
            if seen.method in OPENING and len(talk.opening) < 1_000:
                talk.opening[seen.done.opened.id] = seen
        elif seen.done.begun is not None:
            talk.turns.pop(seen.done.begun.id, None)
        _request(talk, seen)
    elif seen.message.kind in ("response", "error"):
        _answer(talk, seen)
    elif seen.method == UPDATE:
        _update(talk, seen)
    elif seen.method == CANCEL and seen.direction is _TO_AGENT:
        _cancel(talk, seen, seen.session, must_confirm=seen.session is not None)
    elif seen.method == CANCEL_REQUEST and (target := seen.done.cancelled) is not None:
        cancelled = talk.turn(target.turn) if target.method == PROMPT else None
        if cancelled is not None:
            _cancel_turn(talk, cancelled, seen, must_confirm=False)
    return [ended for turn in seen.done.ended if (ended := _end(talk, seen, turn)) is not None]


def _begin(talk: Conversation, seen: CheckedMessage, begun: Turn) -> None:
    opened = seen.done.opened
    exchange = None if opened is None else opened.id
    turn = TurnRecord(begun.id, begun.session, seen.seq, exchange, str(seen.params)[:_ASKED])
    session, older = talk.session(begun.session), talk.other_turn(begun.session, begun.id)
    if older is not None:
        turn.was_cancelling = older.cancel_seq is not None or older.was_cancelling
    turn.is_joining = older is not None or session is None or session.may_be_running
    talk.turns[begun.id] = turn
    if session is not None:
        session.had_prompt = True


def _end(talk: Conversation, seen: CheckedMessage, ended: Turn) -> EndedTurn | None:
    turn = talk.turns.pop(ended.id, None)
    talk.cancelling.pop(ended.id, None)
    if turn is None:
        return None
    code = seen.message.error_code
    reason = seen.message.stop_reason
    is_answer = seen.answered is not None
    end = EndedTurn(turn, seen.seq, seen.t_ns, reason, seen.is_error, code, is_answer)
    talk.last_ends.add(turn.session or "", end)
    return end


def _cancel(
    talk: Conversation, seen: CheckedMessage, session: str | None, *, must_confirm: bool
) -> None:
    open_ = talk.connection.state.turns
    every = [*open_.values()] if session is None else [open_.get(session, [])]
    for one in chain.from_iterable(every):
        turn = talk.turns.get(one.id)
        if turn is not None and not talk.is_overtaken(turn.session, turn.prompt_seq):
            _cancel_turn(talk, turn, seen, must_confirm=must_confirm)


def _cancel_turn(
    talk: Conversation, turn: TurnRecord, seen: CheckedMessage, *, must_confirm: bool
) -> None:
    turn.cancel(seen.seq, seen.t_ns, must_confirm=must_confirm)
    talk.cancelling[turn.id] = turn


def _request(talk: Conversation, seen: CheckedMessage) -> None:
    method = seen.method
    if method in INITIALIZE and seen.direction is _TO_AGENT:
        if len(talk.initialize) < 2:
            talk.initialize.append(seen)
        if not talk.client.is_known and isinstance(member(seen.value, "params"), dict):
            talk.client.announced, talk.client.seq = seen.params, seen.seq
    elif method in (*CLOSING, CANCEL) and seen.direction is _TO_AGENT:
        _cancel(talk, seen, seen.session, must_confirm=False)
    elif method in LOGIN:
        talk.auth_required = None
    elif method == PERMISSION:
        session, call_id = talk.session(seen.session), seen.message.tool_call
        if session is not None and call_id is not None:
            turn, begins = talk.turn(seen.done.turn), seen.done.begins_call
            call = session.call(call_id, seen.seq, turn, begins=begins)
            call.refused_seq, call.asked_seq = None, seen.seq
            _set_status(call, seen, seen.params.get("toolCall"))
    elif method == "terminal/release":
        released = talk.terminals.get(seen.message.terminal or "")
        for one in talk.terminals.values() if released is None else (released,):
            one.release_asked_seq = one.release_asked_seq or seen.seq


def _answer(talk: Conversation, seen: CheckedMessage) -> None:
    exchange = seen.answered
    if exchange is None:
        request = meant_for(talk, seen)
        exchange = None if request is None else request.done.opened
        if request is None or exchange is None:
            follow_stray(talk, seen)
            return
        seen.request = request
        talk.pairs.adopted.add(exchange.id, seen)
        if request.done.begun is not None:
            _end(talk, seen, request.done.begun)
    else:
        correct(talk, exchange.id)
    talk.settle(exchange.id)
    session = talk.session(exchange.session) if exchange.method == PERMISSION else None
    call = None if session is None else session.calls.get(exchange.tool_call or "")
    if call is not None:
        call.asked_seq = None
    talk.answered[seen.direction.other].add(exchange.rpc_id or "null", seen.seq)
    if seen.is_error:
        if seen.message.error_code == (-32001 if talk.dialect == DRAFT else -32000):
            talk.auth_required = seen
        return
    method = exchange.method or ""
    if method in INITIALIZE:
        if isinstance(member(seen.value, "result"), dict):
            # The 1.0 draft demands capabilities: what lacks them says nothing of them.
            unsaid = {"capabilities": None} if talk.dialect == DRAFT else {}
            talk.agent.announced, talk.agent.seq = {**unsaid, **seen.result}, seen.seq
    elif method in OPENING:
        _open(talk, seen, exchange)
    elif method == "session/list":
        _listed(talk, seen)
    elif method == "nes/start" and seen.message.session is not None:
        talk.listed.add(seen.message.session, seen.seq)
    elif method in CLOSING:
        if (closed := talk.session(exchange.session)) is not None:
            closed.closed_seq = seen.seq
    elif method in LOGIN:
        talk.is_logged_in = seen.result.get("success") is not False
    elif method in ("logout", "auth/logout"):
        talk.is_logged_in = False
    elif method == "session/set_config_option":
        if (session := talk.session(exchange.session)) is not None:
            _set_options(session, seen.result, seen)
    elif method == PERMISSION:
        _permission_answered(talk, seen, exchange)
    elif method.startswith("terminal/"):
        _terminal_answered(talk, seen, exchange)


def _open(talk: Conversation, seen: CheckedMessage, exchange: Exchange) -> None:
    name, method = seen.message.session or exchange.session, exchange.method or ""
    if name is None:
        excuse_names(talk, method)
        return
    params = seen.request.params if seen.request is not None else {}
    known = talk.session(name)
    if known is not None and method in ("session/new", FORK):
        excuse_names(talk, method)  # it was to be another one
        known = None
    session = known or SessionRecord(name, method, seen.seq)
    session.closed_seq, session.had_prompt = None, False
    session.opened, session.seq = method, seen.seq
    session.is_readable = seen.value is not None and _is_listed(seen.result)
    cwd = params.get("cwd", params.get("workingDirectory"))
    if isinstance(cwd, str):
        others = items(params.get("additionalDirectories"), None)
        session.roots = [cwd, *(one for one in others if isinstance(one, str))]
    session.servers = items(params.get("mcpServers"))
    modes = seen.result.get("modes")
    if isinstance(modes, dict):
        session.modes = _ids(modes.get("availableModes"))
    session.has_models = isinstance(seen.result.get("models"), dict)
    _set_options(session, seen.result, seen)
    talk.sessions.add(name, session)


def _listed(talk: Conversation, seen: CheckedMessage) -> None:
    for one in items(seen.result.get("sessions"), None):
        if isinstance(name := member(one, "sessionId"), str):
            talk.listed.add(name, seen.seq)
    if isinstance(cursor := seen.result.get("nextCursor"), str):
        talk.cursors.add(cursor, seen.seq)


def _permission_answered(talk: Conversation, seen: CheckedMessage, exchange: Exchange) -> None:
    session, request = talk.session(exchange.session), seen.request
    if request is None or not isinstance(seen.result.get("granted", True), bool):
        return
    answer = read_answer(options_of(request.value), seen.value)
    turn = talk.turn(exchange.turn)
    is_unasked = answer.is_cancelled and not exchange.cancelled
    if turn is not None and is_unasked and turn.cancel_seq is None and turn.dropped is None:
        turn.dropped = request.seq, seen.seq
    if session is not None and exchange.tool_call is not None and answer.decision == DENIED:
        call = session.calls.get(exchange.tool_call)
        if call is not None:
            call.refused_seq = seen.seq


def _terminal_answered(talk: Conversation, seen: CheckedMessage, exchange: Exchange) -> None:
    method, request = exchange.method, seen.request
    if method == "terminal/create":
        if (name := seen.message.terminal) is not None:
            limit = request.params.get("outputByteLimit") if request is not None else None
            record = TerminalRecord(name, exchange.session, seen.seq, exchange.turn)
            record.limit = integer(limit)
            if record.session is not None and talk.sessions.lacks(record.session):
                record.session = None
            known = talk.terminals.get(name)
            if known is not None and not known.is_created:
                record.release_asked_seq = seen.seq
            talk.terminals.add(name, record)
        else:
            excuse_names(talk, method)
        return
    terminal = talk.terminals.get(exchange.terminal or "")
    if terminal is None:
        return
    if method == "terminal/output" and talk.dialect == V1:
        terminal.read(seen.seq, seen.result)
    elif method == "terminal/wait_for_exit":
        terminal.ended(seen.seq, seen.result)
    elif method == "terminal/release":
        terminal.release_seq = terminal.release_seq or seen.seq


def _progress(talk: Conversation, seen: CheckedMessage) -> None:
    """Follows what an update of v2 says of the open turns of its session."""
    kind = seen.update_kind
    for turn in talk.turns.values():
        if turn.session != seen.session:
            continue
        if kind in ("user_message", "user_message_chunk"):
            turn.has_user_message = True
        elif kind == "state_update":
            turn.is_running |= seen.update.get("state") != "idle"
        elif kind in WORK and turn.output_seq is None:
            turn.output_seq = seen.seq


def _update(talk: Conversation, seen: CheckedMessage) -> None:
    session, turn = talk.session(seen.session), talk.turn(seen.done.turn)
    kind, update = seen.update_kind, seen.update
    if turn is not None:
        turn.updates += 1
        turn.has_text |= kind in ("", "agent_message_chunk")
        if talk.dialect == V2:
            _progress(talk, seen)
    if kind == NEW_CHILD:
        _announce(talk, seen)
    if session is None or not kind:
        talk.pairs.lose_update(seen.seq)
        return
    if (call_id := seen.message.tool_call) is not None:
        if kind == "tool_call_update" and session.calls.lacks(call_id):
            talk.pairs.use_excuse(CALL)
        call = session.call(call_id, seen.seq, turn, begins=seen.done.begins_call)
        call.is_reported = True
        if kind == "tool_call":
            call.announced_seq = seen.seq
        for item in items(update.get("content"), 100):
            terminal = member(item, "terminalId")
            if isinstance(terminal, str) and len(call.terminals) < 100:
                call.terminals.add(terminal)
        _set_status(call, seen, update)
    elif kind == "tool_call":
        talk.pairs.lose_update(seen.seq)
    elif kind in PLANS:
        session.take_plan(update, seen.seq, seen.done.turn)
    elif kind in ("available_commands_update", "available_commands"):
        found = update.get("availableCommands", update.get("commands"))
        session.commands = _ids(found, "name")
    elif kind == "config_option_update":
        _set_options(session, update, seen)
    elif kind == "state_update":
        state = update.get("state")
        if not isinstance(state, str):
            talk.pairs.lose_update(seen.seq)
        session.state = state if isinstance(state, str) else session.state
    elif kind in MESSAGES and isinstance(message_id := update.get("messageId"), str):
        before = session.message_ids.get(kind)
        if before is not None and before != message_id:
            session.past_message_ids.add(f"{kind} {before}", None)
        session.message_ids[kind] = message_id


def _announce(talk: Conversation, seen: CheckedMessage) -> None:
    """Takes the child session that an update announces on the session of its parent."""
    name, parent = seen.update.get("sessionId"), talk.session(seen.session)
    if not isinstance(name, str):
        return
    child = talk.session(name)
    if child is None:
        child = SessionRecord.of_unseen(name, seen.seq)
        child.opened = NEW_CHILD
        child.calls.has_forgotten = talk.is_opening(seen.session, *OPENING)
        cwd = seen.update.get("cwd")
        child.roots = [cwd] if isinstance(cwd, str) else [] if parent is None else parent.roots
        talk.sessions.add(name, child)
    if "capabilities" in seen.update:  # "Omitted means unchanged"
        child.may_be_cancelled = member(seen.update, "capabilities", "cancel") is not None


def _set_status(call: CallRecord, seen: CheckedMessage, said: Any) -> None:
    call.named |= {name: seen.seq for name in NAMING if member(said, name)}
    status = seen.message.status
    if not call.status and seen.update_kind == "tool_call":
        status = status or "pending"  # what v1 says of one without a status
    call.take_status(status, seen.seq)
    call.has_run |= call.status == "in_progress"


def _set_options(session: SessionRecord, holder: dict[str, Any], seen: CheckedMessage) -> None:
    found = options_by_id(holder.get("configOptions"))
    if found is not None:
        session.options, session.options_seq, session.options_ns = found, seen.seq, seen.t_ns


def _is_listed(result: dict[str, Any]) -> bool:
    """Whether the modes and options that open a session can be read, if it has any."""
    modes, options = result.get("modes"), result.get("configOptions")
    if modes is not None:
        listed = member(modes, "availableModes")
        if not isinstance(listed, list) or len(_ids(listed)) != len(listed):
            return False
    if options is None:
        return True
    return isinstance(options, list) and len(options_by_id(options) or ()) == len(options)


def _ids(values: Any, name: str = "id") -> list[str]:
    every = items(values, 10_000)
    return [found for one in every if isinstance(found := member(one, name), str)]
