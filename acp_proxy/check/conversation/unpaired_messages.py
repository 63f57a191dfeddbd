"""What changes by a message that cannot be paired, or names what nothing has given.

One mistake is to be reported once: see `mistaken_pairs`.
"""

from acp_proxy.check.checked_message import CheckedMessage, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.conversation.mistaken_pairs import (
    SESSION,
    TERMINAL,
    best_fit,
    retyped_id,
    token_of,
)
from acp_proxy.check.conversation.session_record import SessionRecord, TerminalRecord
from acp_proxy.check.methods import REQUEST, kind_of
from acp_proxy.protocol.dialects import CLOSING, FORK, OPENING, PROMPT, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.peers import Direction

_TO_CLIENT = Direction.TO_CLIENT


def follow_odd(talk: Conversation, seen: CheckedMessage) -> None:
    """Notes what a line changes that is no message, or an object that is none.

    Args:
        talk: the conversation before it.
        seen: the line.
    """
    raw, value = seen.message.raw, seen.value
    if value is None and raw is not None and not raw.lstrip().startswith(b"{"):
        return  # a log line
    token = token_of(value)
    if isinstance(value, dict):
        talk.first.setdefault(seen.direction, seen.seq)
    if token is not None and isinstance(value, dict) and "method" not in value:
        exchange = talk.connection.oldest(seen.direction.other, token)
        request = None if exchange is None else talk.settle(exchange.id)
        if exchange is not None and request is not None:
            excuse_names(talk, exchange.method)
            if request.done.begun is not None:
                talk.turns.pop(request.done.begun.id, None)
            return
    if token is not None:
        talk.pairs.broken[seen.direction].add(token, seen.seq)
    if seen.direction is _TO_CLIENT:
        talk.pairs.lose_update(seen.seq)
    else:
        talk.pairs.lost_prompt = ""


def learn(talk: Conversation, seen: CheckedMessage) -> None:
    """Takes names that nothing has given for known, so that each is reported once.

    Args:
        talk: the conversation before the message.
        seen: a request or a notification; others have none.
    """
    method, name = seen.message.method, seen.params.get("sessionId")
    if method is None:
        return
    name = name if isinstance(name, str) and method not in OPENING else None
    if name is not None and seen.direction is _TO_CLIENT and talk.opening:
        name = None  # it may be the one that is being opened
    if name is not None and talk.is_partial and method not in CLOSING and name not in talk.sessions:
        talk.sessions.add(name, SessionRecord.of_unseen(name, seen.seq))
    if name is not None and talk.sessions.lacks(name) and talk.listed.lacks(name):
        talk.listed.add(name, seen.seq)
        talk.pairs.use_excuse(SESSION)
        _forget_opening(talk, seen, "session/new")
    if talk.dialect != V2:
        for terminal in _terminals_in(seen):
            if talk.terminals.lacks(terminal):
                _learn_terminal(talk, terminal, seen)
    if seen.done.opened is None and kind_of(talk.dialect, seen.direction, method) == REQUEST:
        talk.pairs.without_id[seen.direction] += 1
    if method == PROMPT:
        is_lost = seen.done.begun is None or talk.session(seen.session) is None
        named = "" if seen.done.begun is None else seen.session or ""
        talk.pairs.lost_prompt = named if is_lost else None


def is_answered_otherwise(talk: Conversation, seen: CheckedMessage) -> bool:
    """Whether a request has the id of an open one, or of an answer that came before it.

    Args:
        talk: the conversation.
        seen: the request.
    """
    token = seen.message.rpc_id or "null"
    if talk.pairs.early[seen.direction].remove(token) is not None:
        return True
    return len(talk.connection.state.open[seen.direction].get(token, [])) > 1


def meant_for(talk: Conversation, seen: CheckedMessage) -> CheckedMessage | None:
    """Returns the open request that an answer fits which belongs to none.

    Args:
        talk: the conversation.
        seen: the answer.
    """
    direction, token = seen.direction.other, seen.message.rpc_id or "null"
    if token in talk.answered[direction] or talk.pairs.explains(seen) or talk.is_partial:
        return None
    retyped = talk.connection.oldest(direction, retyped_id(token) or "null")
    if retyped is not None:
        return talk.asked.get(retyped.id)
    return best_fit(seen, talk.open_requests(direction), talk.schema_of(seen))


def follow_stray(talk: Conversation, seen: CheckedMessage) -> None:
    """Follows an answer that fits no request: what it names is known from now on.

    Args:
        talk: the conversation before it.
        seen: the answer.
    """
    direction, token = seen.direction.other, seen.message.rpc_id or "null"
    if token in talk.answered[direction]:
        return
    if talk.pairs.broken[direction].remove(token) is None and talk.pairs.without_id[direction]:
        talk.pairs.without_id[direction] -= 1
    talk.pairs.early[direction].add(token, seen.seq)
    name, terminal = seen.result.get("sessionId"), seen.result.get("terminalId")
    if seen.direction is _TO_CLIENT:
        if isinstance(name, str):
            talk.listed.add(name, seen.seq)
        if "protocolVersion" in seen.result and not talk.agent.is_known:
            talk.agent.announced, talk.agent.seq = seen.result, seen.seq
    elif isinstance(terminal, str):
        _learn_terminal(talk, terminal, seen)
    elif seen.is_result:
        for one in talk.terminals.values():  # which this may have released
            one.release_asked_seq = one.release_asked_seq or seen.seq


def correct(talk: Conversation, exchange: int) -> None:
    """Notes that an answer that was taken for that of a request was for another one.

    Args:
        talk: the conversation.
        exchange: that of the request, whose own answer has come.
    """
    stray = talk.pairs.adopted.remove(exchange)
    other = None if stray is None else meant_for(talk, stray)
    if other is not None and other.done.opened is not None:
        talk.settle(other.done.opened.id)
        if other.done.begun is not None:
            talk.turns.pop(other.done.begun.id, None)


def excuse_names(talk: Conversation, method: str | None) -> None:
    """Notes that an answer has not named what it had to.

    Args:
        talk: the conversation.
        method: that of the request.
    """
    if method in ("session/new", FORK):
        talk.pairs.excuse(SESSION)
    elif method == "terminal/create":
        talk.pairs.excuse(TERMINAL)


def _learn_terminal(talk: Conversation, name: str, seen: CheckedMessage) -> None:
    talk.pairs.use_excuse(TERMINAL)
    _forget_opening(talk, seen, "terminal/create")
    for other in reversed(talk.terminals.values()):  # which may be what is meant
        if other.release_seq is None and other.release_asked_seq is None:
            other.release_asked_seq = seen.seq
            break
    record = TerminalRecord(name, None, seen.seq, is_created=False, release_asked_seq=seen.seq)
    talk.terminals.add(name, record)


def _forget_opening(talk: Conversation, seen: CheckedMessage, method: str) -> None:
    """Takes the oldest open request for a name as answered, by a message that uses the name."""
    for one in talk.connection.open_requests(seen.direction):
        if one.method == method and talk.settle(one.id) is not None:
            return


def _terminals_in(seen: CheckedMessage) -> list[str]:
    """The terminals that a request of the agent, or the content of a tool call, names."""
    if (seen.method or "").startswith("terminal/"):
        found = [seen.params.get("terminalId")]
    else:
        content = items(seen.update.get("content"), 100) if seen.update_kind else []
        found = [member(one, "terminalId") for one in content if member(one, "type") == "terminal"]
    return [name for name in found if isinstance(name, str)]
