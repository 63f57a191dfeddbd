"""Updates the state of a conversation with messages that have no partner or use unknown names.

An answer with a wrong id breaks a rule. To prevent further findings about the same mistake, the
answer is matched to an open request that it fits. If no request fits, a later unknown name of the
same kind (session, terminal or tool call) is excused: the answer may have introduced this name. A
name that an unreadable message may have introduced is excused in the same way.
"""

import json
from typing import Any

from acp_proxy.check.checked_message import CheckedMessage, items, strings
from acp_proxy.check.conversation.conversation import SESSION, TERMINAL, Conversation
from acp_proxy.check.conversation.session_record import SessionRecord, TerminalRecord
from acp_proxy.check.methods import REQUEST, kind_of
from acp_proxy.check.schema_check import DialectSchema
from acp_proxy.protocol.dialects import CLOSING, FORK, INITIALIZE, OPENING, PROMPT, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.jsonrpc import Direction

_TO_CLIENT = Direction.TO_CLIENT


def follow_odd(conversation: Conversation, message: CheckedMessage) -> None:
    """Updates the conversation with a line or an object that is not a valid message.

    Args:
        conversation: the conversation before the line.
        message: the line.
    """
    raw, value = message.parsed.raw, message.value
    if value is None and raw is not None and not raw.lstrip().startswith(b"{"):
        return  # a log line
    token = token_of(value)
    if isinstance(value, dict):
        conversation.first.setdefault(message.direction, message.seq)
    if token is not None and isinstance(value, dict) and "method" not in value:
        exchange = conversation.connection.oldest(message.direction.other, token)
        request = None if exchange is None else conversation.settle(exchange.id)
        if exchange is not None and request is not None:
            excuse_names(conversation, exchange.method)
            if request.transition.begun is not None:
                conversation.turns.pop(request.transition.begun.id, None)
            return
    if token is not None:
        conversation.pairs.broken[message.direction].add(token, message.seq)
    if message.direction is _TO_CLIENT:
        conversation.pairs.lose_update(message.seq)
    else:
        conversation.pairs.lost_prompt = ""


def learn(conversation: Conversation, message: CheckedMessage) -> None:
    """Marks the unknown names in a message as known. So each name is reported only once.

    Args:
        conversation: the conversation before the message.
        message: a request or notification. Any other message has no effect.
    """
    method, name = message.parsed.method, message.params.get("sessionId")
    if method is None:
        return
    name = name if isinstance(name, str) and method not in OPENING else None
    if name is not None and message.direction is _TO_CLIENT and conversation.opening:
        name = None  # it may be the id of the new session
    sessions, listed = conversation.sessions, conversation.listed
    if name is not None and name not in sessions:
        if conversation.is_partial and method not in CLOSING:
            sessions.add(name, SessionRecord.of_unseen(name, message.seq))
        if sessions.lacks(name) and listed.lacks(name):
            listed.add(name, message.seq)
            conversation.pairs.use_excuse(SESSION)
            _forget_opening(conversation, message, "session/new")
    if conversation.dialect != V2:
        for terminal in _terminals_in(message):
            if conversation.terminals.lacks(terminal):
                _learn_terminal(conversation, terminal, message)
    kind = kind_of(conversation.dialect, message.direction, method)
    if kind == REQUEST and message.transition.opened is None:
        conversation.pairs.without_id[message.direction] += 1
    if method == PROMPT:
        is_lost = message.transition.begun is None or conversation.session(message.session) is None
        named = "" if message.transition.begun is None else message.session or ""
        conversation.pairs.lost_prompt = named if is_lost else None


def is_answered_otherwise(conversation: Conversation, message: CheckedMessage) -> bool:
    """Whether the id of a request belongs to an earlier unpaired answer or to another open request.

    The unpaired answer is then forgotten, so that it explains only one request.

    Args:
        conversation: the conversation.
        message: the request.
    """
    token = message.parsed.rpc_id or "null"
    if conversation.pairs.early[message.direction].remove(token) is not None:
        return True
    return len(conversation.connection.state.open[message.direction].get(token, [])) > 1


def meant_for(conversation: Conversation, message: CheckedMessage) -> CheckedMessage | None:
    """Returns the open request that an unpaired answer most likely answers, or None.

    Args:
        conversation: the conversation.
        message: the answer.
    """
    direction, token = message.direction.other, message.parsed.rpc_id or "null"
    if token in conversation.answered[direction] or conversation.is_partial:
        return None
    if conversation.pairs.explains(message):
        return None
    retyped = conversation.connection.oldest(direction, retyped_id(token) or "null")
    if retyped is not None:
        return conversation.asked.get(retyped.id)
    return best_fit(message, conversation.open_requests(direction), conversation.schema_of(message))


def follow_stray(conversation: Conversation, message: CheckedMessage) -> None:
    """Applies an answer that fits no request. The names in the answer become known.

    Args:
        conversation: the conversation before the answer.
        message: the answer.
    """
    direction, token = message.direction.other, message.parsed.rpc_id or "null"
    if token in conversation.answered[direction]:
        return
    pairs = conversation.pairs
    if pairs.broken[direction].remove(token) is None and pairs.without_id[direction]:
        pairs.without_id[direction] -= 1
    pairs.early[direction].add(token, message.seq)
    name, terminal = message.result.get("sessionId"), message.result.get("terminalId")
    if message.direction is _TO_CLIENT:
        if isinstance(name, str):
            conversation.listed.add(name, message.seq)
        if "protocolVersion" in message.result and not conversation.agent.is_known:
            conversation.agent.announced, conversation.agent.seq = message.result, message.seq
    elif isinstance(terminal, str):
        _learn_terminal(conversation, terminal, message)
    elif message.is_result:
        for record in conversation.terminals.values():  # the answer may have released any of them
            record.release_asked_seq = record.release_asked_seq or message.seq


def correct(conversation: Conversation, exchange: int) -> None:
    """Corrects a mistake: an answer with a wrong id was taken for the answer of `exchange`.

    Now the right answer of `exchange` has come. So the answer with the wrong id is for another
    request: if it fits an open request, that request is marked as answered.

    Args:
        conversation: the conversation.
        exchange: the exchange with the right answer.
    """
    stray = conversation.pairs.adopted.remove(exchange)
    other = None if stray is None else meant_for(conversation, stray)
    if other is not None and other.transition.opened is not None:
        conversation.settle(other.transition.opened.id)
        if other.transition.begun is not None:
            conversation.turns.pop(other.transition.begun.id, None)


def excuse_names(conversation: Conversation, method: str | None) -> None:
    """Allows one unknown name: the name that an unusable answer should have introduced.

    Args:
        conversation: the conversation.
        method: the method of the request that was answered.
    """
    if method in ("session/new", FORK):
        conversation.pairs.excuse(SESSION)
    elif method == "terminal/create":
        conversation.pairs.excuse(TERMINAL)


def _learn_terminal(conversation: Conversation, name: str, message: CheckedMessage) -> None:
    conversation.pairs.use_excuse(TERMINAL)
    _forget_opening(conversation, message, "terminal/create")
    for other in reversed(conversation.terminals.values()):  # the message may mean this terminal
        if not other.is_released:
            other.release_asked_seq = message.seq
            break
    seq = message.seq
    record = TerminalRecord(name, None, seq, is_created=False, release_asked_seq=seq)
    conversation.terminals.add(name, record)


def _forget_opening(conversation: Conversation, message: CheckedMessage, method: str) -> None:
    """Marks the oldest open request of a method as answered by an answer that was not read.

    The unread answer has probably introduced a name that ``message`` uses.
    """
    for open_request in conversation.connection.open_requests(message.direction):
        if open_request.method == method and conversation.settle(open_request.id) is not None:
            return


def _terminals_in(message: CheckedMessage) -> list[str]:
    """Returns the terminals in a request of the agent or in the content of a tool call."""
    if (message.method or "").startswith("terminal/"):
        return strings([message.params.get("terminalId")])
    blocks = items(message.update.get("content"), 100) if message.update_kind else []
    return strings(member(b, "terminalId") for b in blocks if member(b, "type") == "terminal")


def best_fit(
    message: CheckedMessage, open_: list[CheckedMessage], schema: DialectSchema | None
) -> CheckedMessage | None:
    """Returns the newest open request that an unpaired answer fits; None if no request fits.

    Args:
        message: the answer.
        open_: the open requests, the oldest first.
        schema: the types of the dialect.
    """
    if message.is_error:
        # These errors answer unreadable lines.
        is_open = message.parsed.error_code not in (-32700, -32600)
        return open_[0] if len(open_) == 1 and is_open else None
    return next((request for request in reversed(open_) if _fits(message, request, schema)), None)


def retyped_id(token: str) -> str | None:
    """Returns an id in the other type: 7 for "7", and "7" for 7."""
    if token.startswith('"'):
        inner = token[1:-1]
        return inner if inner.lstrip("-").isdigit() else None
    return f'"{token}"'


def token_of(value: Any) -> str | None:
    """Returns the id of an object as JSON; None if the id is neither a string nor a number."""
    rpc_id = value.get("id") if isinstance(value, dict) else None
    return json.dumps(rpc_id) if isinstance(rpc_id, str | int) else None


def _fits(message: CheckedMessage, request: CheckedMessage, schema: DialectSchema | None) -> bool:
    method = request.method or ""
    if method in INITIALIZE:
        return "protocolVersion" in message.result
    result = message.value.get("result") if isinstance(message.value, dict) else None
    if schema is None or not schema.knows(request.direction, method, is_result=True):
        return False
    return schema.compare(request.direction, method, True, result).fits
