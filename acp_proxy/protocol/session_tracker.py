"""Tracks the sessions of a connection, with their modes, tool calls and terminals."""

from typing import Any

from acp_proxy.base.limits import REMEMBERED
from acp_proxy.protocol.call_ids import beginning, is_another
from acp_proxy.protocol.connection_state import Exchange, Session, State, Terminal, Turn
from acp_proxy.protocol.dialects import OPENING, body
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.updates import FINAL

_EXITS = ("terminal/wait_for_exit", "terminal/kill")
"""Requests whose result shows that the command of a terminal has ended."""
_SET_MODE = "session/set_mode"
_RESPONSE = Kind.RESPONSE  # enum lookups are slow


class SessionTracker:
    """Updates the sessions, tool calls, terminals, directories and servers in a connection's state.

    Args:
        state: the state of the connection.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def request(self, exchange: Exchange, message: Message) -> None:
        """Updates the state after a request that sets a mode or is about a tool call.

        Args:
            exchange: the request's exchange.
            message: the request.
        """
        if exchange.method == _SET_MODE:
            if (known := self._state.sessions.get(exchange.session or "")) is not None:
                known.wanted_mode = message.mode
        elif message.tool_call is not None and message.status is not None:
            self._follow_call(exchange.session, message.tool_call, message.status)

    def answer(self, exchange: Exchange, message: Message) -> None:
        """Updates the state after the answer to any request.

        Args:
            exchange: the answered exchange. If the request created a session, the exchange has the
                session that the answer names.
            message: the answer.
        """
        state, method = self._state, exchange.method
        is_result = message.kind is _RESPONSE
        if method in OPENING:
            opened = message.session or exchange.session
            state.unnamed.answer(exchange.id, message.session)
            state.servers.answer(exchange.id, opened if is_result else None)
            if is_result and opened is not None:
                _keep(state.sessions, opened, Session(mode=message.mode))
        elif method == _SET_MODE:
            if (known := state.sessions.get(exchange.session or "")) is not None:
                if is_result:
                    known.mode = message.mode or known.wanted_mode
                known.wanted_mode = None
        elif not is_result or method is None:
            return
        elif method == "mcp/connect" and exchange.session is not None:
            connection = body(message, "result").get("connectionId")
            if isinstance(connection, str):
                _keep(state.servers.connections, connection, exchange.session)
        elif method == "terminal/create" and message.terminal is not None:
            _keep(state.terminals, message.terminal, Terminal(exchange.session))
        elif method.startswith("terminal/") and exchange.terminal is not None:
            self._follow_terminal(exchange.terminal, method, message)

    def update(self, session: str | None, message: Message) -> None:
        """Updates the state after a session update.

        Args:
            session: the id of the updated session.
            message: the update.
        """
        if message.tool_call is not None:
            self._follow_call(session, message.tool_call, message.status)
        elif (known := self._state.sessions.get(session or "")) is not None:
            known.mode = message.mode or known.mode

    def begin_call(self, session: str | None, message: Message, turn: Turn | None) -> bool:
        """Adds a tool call if a message begins a call. Call `update` or `request` afterwards.

        Args:
            session: the id of the message's session.
            message: a session update or a request about a tool call.
            turn: the turn of the message; None if no turn is open.

        Returns:
            Whether the message begins a call.
        """
        status, dialect = message.status, self._state.handshake.dialect
        how = beginning(message.method, message.update, status, dialect)
        call = message.tool_call
        if how is None or call is None:
            return False
        calls = self._state.calls.setdefault(session or "", {})
        known = calls.get(call)
        is_over = known is None or known in FINAL  # calls that are over are forgotten after a turn
        is_of_turn = turn is None or call in turn.counted or call in turn.asked
        if not is_another(how, is_over=is_over, is_of_turn=is_of_turn):
            return False
        calls.pop(call, None)
        _keep(calls, call, status or "pending")
        if turn is not None:
            turn.counted.discard(call)
        return True

    def open_calls(self, session: str | None) -> dict[str, str]:
        """Returns the status of each unfinished tool call of a session, by the call's id."""
        calls = self._state.calls.get(session or "", {})
        return {call: status for call, status in calls.items() if status not in FINAL}

    def forget_calls(self, session: str | None) -> None:
        """Forgets a session's finished tool calls."""
        if left := self.open_calls(session):
            self._state.calls[session or ""] = left
        else:
            self._state.calls.pop(session or "", None)

    def _follow_terminal(self, name: str, method: str, message: Message) -> None:
        known = self._state.terminals.get(name)
        if known is None:
            return
        if method == "terminal/release":
            del self._state.terminals[name]
        elif method in _EXITS or (method == "terminal/output" and _has_exited(message)):
            known.has_exited = True

    def _follow_call(self, session: str | None, call: str, status: str | None) -> None:
        calls = self._state.calls.setdefault(session or "", {})
        known = calls.get(call)
        if known is None:
            _keep(calls, call, status or "pending")
        elif status is not None and known not in FINAL:
            calls[call] = status


def _keep(known: dict[str, Any], key: str, value: Any) -> None:
    """Adds an entry to a dict; removes the oldest entry if the dict has too many entries."""
    known[key] = value
    if len(known) > REMEMBERED:
        del known[next(iter(known))]


def _has_exited(message: Message) -> bool:
    """Whether an answer to ``terminal/output`` reports the end of the command."""
    raw = message.raw or b""
    return b'"exitStatus"' in raw and isinstance(body(message, "result").get("exitStatus"), dict)
