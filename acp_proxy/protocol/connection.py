"""The state of one ACP connection: the one machine that knows what is open, and in which state.

Pure and incremental: messages go in, in the order in which they passed. It holds the requests that
wait for an answer, by direction and id; the turns that are open; the sessions with their modes; the
tool calls with their statuses; the terminals; and the handshake of both peers. It knows
no file, clock or database. `State` is all that it remembers. It is small enough to be stored with
every batch of rows, so that any reader can go on from there.

How to use it: with `correlation.Correlator`, which feeds it and labels each frame on the way; ask
``correlator.connection`` for what is open after each frame. `states` has the tables of states, on
which checks of the protocol can rest.

- An answer belongs to the open request of the *other* direction with the same id token; of several,
  to the oldest. Both peers number from 0, so an id alone is ambiguous.
- A turn begins with ``session/prompt``. In v1 and the draft its answer ends it. In v2 the answer
  only accepts it, and ``state_update`` to idle ends it. Updates after the end belong to no turn.
  Nor does the history that ``session/load`` streams, since no prompt is open then.
- Of several open turns of a session, updates and requests belong to the newest: an older one is a
  prompt whose answer is overdue, and the agent has gone on to the next.
- In the draft, ``fs/*`` and ``terminal/*`` name no session. A terminal belongs to the session that
  created it, and a path to the session in whose directory it is; else, while turns of just one
  session are open, the message belongs to that session. Otherwise it has no session.
"""

from typing import Any

from acp_proxy.protocol.connection_state import Session, State, Terminal, meet, shallow
from acp_proxy.protocol.dialects import (
    DRAFT,
    INITIALIZE,
    OPENING,
    V2,
    body,
    dialect_of_frame,
)
from acp_proxy.protocol.exchanges import Exchange, Turn
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.methods import FORK, PERMISSION, PROMPT
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.states import (
    CALLS,
    PHASES,
    SESSIONS,
    TERMINALS,
    TURNS,
    Event,
    Phase,
    TerminalState,
)
from acp_proxy.protocol.updates import FINAL

FORCED = "forced by --dialect"
"""The reason for a dialect that the user has chosen, whatever the frames are."""

_CANCELLED_CODES = {-32800: None, -32003: DRAFT}
"""Error codes of cancelled requests, and the only dialect that has the code."""
_MOST = 1_000
"""How many sessions, terminals, and tool calls of a session are remembered: the latest ones."""
_TERMINAL_EVENTS = {
    "terminal/wait_for_exit": Event.EXIT,
    "terminal/kill": Event.KILL,
    "terminal/release": Event.RELEASE,
}
_ENDING = ("session/close", "session/delete")
_SET_MODE = "session/set_mode"
_RESPONSE, _ERROR = Kind.RESPONSE, Kind.ERROR  # looking them up takes a while
_TO_AGENT, _READY = Direction.TO_AGENT, Phase.READY


class Connection:
    """The state machine of a connection; the only writer of its `State`.

    Args:
        state: where to go on; None for a connection that has just begun.
        dialect: the dialect of the connection, or ``auto`` to detect it.
    """

    def __init__(self, state: State | None = None, dialect: str = "auto") -> None:
        self.state = state or State()
        if dialect != "auto" and not self.state.forced:
            self.state.forced = True
            self.state.handshake.dialect = dialect
            self.state.handshake.dialect_reason = FORCED

    # What is open

    @property
    def dialect(self) -> str | None:
        """The dialect as far as it is known."""
        return self.state.handshake.dialect

    def open_requests(self, direction: Direction) -> list[Exchange]:
        """Returns the requests of one direction that wait for their answer, oldest first."""
        waiting = [e for same_id in self.state.open[direction].values() for e in same_id]
        return sorted(waiting, key=lambda e: e.id)

    @property
    def permissions(self) -> list[Exchange]:
        """The permission requests that wait for their answer, oldest first."""
        asked = self.open_requests(Direction.TO_CLIENT)
        return [exchange for exchange in asked if exchange.method == PERMISSION]

    def open_calls(self, session: str | None) -> dict[str, str]:
        """Returns the tool calls of a session that are not over, with their statuses."""
        every = self.state.calls.get(session or "", {})
        return {call: status for call, status in every.items() if status not in FINAL}

    def oldest(self, direction: Direction, token: str | None) -> Exchange | None:
        """Returns the open request that an answer would belong to.

        Args:
            direction: that of the request.
            token: the id's JSON token.
        """
        same_id = self.state.open[direction].get(token or "null")
        return same_id[0] if same_id else None

    def turn_of(self, session: str | None) -> Turn | None:
        """Returns the newest open turn of a session."""
        turns = self.state.turns.get(session or "")
        return turns[-1] if turns else None

    def session_of(self, terminal: str | None, message: Message) -> str | None:
        """Returns the session of a draft message that names none; empty for a turn without one.

        Args:
            terminal: the terminal that it names.
            message: the message.
        """
        directories, turns = self.state.unnamed, self.state.turns
        known = self.state.terminals.get(terminal or "")
        if known is not None and known.session is not None:
            return known.session
        if len(directories.directories) > 1:
            owners = directories.candidates(body(message, "params"))
            if certain := [session for session in owners if session in turns] or owners:
                return certain[0] if len(certain) == 1 else None
        return next(iter(turns)) if len(turns) == 1 else None

    # What passes

    def ask(
        self,
        seq: int,
        t_ns: int,
        direction: Direction,
        message: Message,
        place: tuple[str | None, int | None],
    ) -> tuple[Exchange, Turn | None]:
        """Takes a request.

        Args:
            seq: the number of its frame.
            t_ns: its time.
            direction: where it goes.
            message: the request.
            place: its session and its turn.

        Returns:
            The exchange that it opens, and the turn that it begins.
        """
        state, method, session = self.state, message.method, place[0]
        turn = None
        if method == PROMPT and direction is _TO_AGENT:
            turn = self._begin_turn(seq, t_ns, session)
        exchange = Exchange(
            id=state.next_exchange,
            direction=direction,
            method=method,
            rpc_id=message.rpc_id,
            session=session,
            request_seq=seq,
            request_ns=t_ns,
            turn=place[1] if turn is None else turn.id,
            tool_call=message.tool_call,
            terminal=message.terminal,
        )
        state.next_exchange += 1
        state.open[direction].setdefault(message.rpc_id or "null", []).append(exchange)
        if method in OPENING and self.dialect in (None, DRAFT):
            opened = message.session if method != FORK else None
            state.unnamed.asked(exchange.id, body(message, "params"), opened)
        elif method in INITIALIZE and direction is _TO_AGENT:
            state.params = shallow(body(message, "params"))
            meet(state, None)
            self._initialize(Event.INITIALIZE)
        elif method == _SET_MODE and (known := state.sessions.get(session or "")) is not None:
            known.wanted_mode = message.mode
        elif message.tool_call is not None and message.status is not None:
            self._follow_call(session, message.tool_call, message.status)
        return exchange, turn

    def answer(
        self, seq: int, t_ns: int, direction: Direction, message: Message
    ) -> tuple[Exchange | None, list[Turn]]:
        """Takes a response.

        Args:
            seq: the number of its frame.
            t_ns: its time.
            direction: where it goes.
            message: the response.

        Returns:
            The exchange that it closes, and the turns that it ends.
        """
        exchange = self._close(direction.other, message.rpc_id)
        if exchange is None:
            return None, []
        exchange.response_seq = seq
        exchange.latency_ns = t_ns - exchange.request_ns
        exchange.outcome = self._outcome(exchange, message)
        if exchange.session is None and exchange.turn is None:
            exchange.session = message.session  # the answer to session/new names it
        elif exchange.method == FORK and message.session is not None:
            exchange.session, exchange.turn = message.session, None
        self._learn(exchange, message)
        self.detect_dialect(message, exchange.method)
        ended: list[Turn] = []
        if exchange.method == PROMPT and exchange.turn is not None:
            is_accepted_only = self.dialect == V2 and message.stop_reason is None
            if message.kind is _ERROR or not is_accepted_only:
                ended = self.end_turns(seq, t_ns, exchange.session, message, exchange.turn)
        elif exchange.method in INITIALIZE and message.kind is _ERROR:
            self._initialize(Event.REFUSED)
        elif exchange.method in INITIALIZE:
            result = body(message, "result")
            self.state.result = shallow(result)
            meet(self.state, result)
            self._initialize(Event.INITIALIZED)
        return exchange, ended

    def update(self, session: str | None, message: Message) -> Turn | None:
        """Takes a session update.

        Args:
            session: its session.
            message: the update; where `is_idle` holds for it, call `end_turns` next.

        Returns:
            The turn that it belongs to.
        """
        turns = self.state.turns.get(session or "")
        turn = turns[-1] if turns else None
        call = message.tool_call
        if call is not None:
            self._follow_call(session, call, message.status)
        elif message.state is not None or message.mode is not None:
            self._follow_session(session, message)
        if turn is not None:
            turn.updates += 1
            if call is not None and call not in turn.seen:
                turn.seen.add(call)
                turn.tool_calls = len(turn.seen)
        return turn

    def cancel_turns(self, session: str | None) -> None:
        """Takes the client's ``session/cancel``."""
        for turn in self.state.turns.get(session or "", ()):
            turn.state = TURNS[turn.state].get(Event.CANCEL, turn.state)

    def cancel_request(self, direction: Direction, token: str) -> Exchange | None:
        """Takes a ``$/cancel_request``.

        Args:
            direction: where it goes; the request that it cancels went there, too.
            token: the JSON token of that request's id.

        Returns:
            The exchange that it cancels; None if that request is not open.
        """
        exchange = self.oldest(direction, token)
        if exchange is not None:
            exchange.cancelled = True
        return exchange

    def detect_dialect(self, message: Message, answered: str | None = None) -> None:
        """Detects the dialect from a message, unless an initialize exchange was answered.

        Args:
            message: the message.
            answered: the method of the request that it answers, if it is an answer.
        """
        handshake = self.state.handshake
        if handshake.dialect is not None or self.state.phase is _READY:
            return
        if found := dialect_of_frame(message, answered):
            handshake.dialect, handshake.dialect_reason = found.dialect, found.reason

    def _close(self, direction: Direction, token: str | None) -> Exchange | None:
        exchange = self.oldest(direction, token)
        if exchange is not None:
            same_id = self.state.open[direction]
            same_id[token or "null"].pop(0)
            if not same_id[token or "null"]:
                del same_id[token or "null"]
        return exchange

    def _outcome(self, exchange: Exchange, message: Message) -> str:
        if message.kind is _RESPONSE:
            return "result"
        code = message.error_code
        if exchange.cancelled or (
            code in _CANCELLED_CODES and _CANCELLED_CODES[code] in (None, self.dialect)
        ):
            return "cancelled"
        return "error"

    def _learn(self, exchange: Exchange, message: Message) -> None:
        """Follows sessions and terminals by the answer to a request."""
        state, method = self.state, exchange.method
        if method in OPENING:
            state.unnamed.opened(exchange.id, message.session)
        known = state.sessions.get(exchange.session or "")
        if method == _SET_MODE and known is not None:
            if message.kind is _RESPONSE:
                known.mode = message.mode or known.wanted_mode
            known.wanted_mode = None
        if message.kind is not _RESPONSE or method is None:
            return
        if method in OPENING:
            self._open_session(exchange, message)
        elif method == "terminal/create" and message.terminal is not None:
            _keep(state.terminals, message.terminal, Terminal(exchange.session))
        elif method.startswith("terminal/") and exchange.terminal is not None:
            self._follow_terminal(exchange, message)
        elif method in _ENDING and known is not None:
            known.state = SESSIONS[known.state].get(Event.CLOSE, known.state)

    def _open_session(self, exchange: Exchange, message: Message) -> None:
        opened = message.session or exchange.session
        if opened is not None:
            _keep(self.state.sessions, opened, Session(mode=message.mode))

    def _follow_session(self, session: str | None, message: Message) -> None:
        known = self.state.sessions.get(session or "")
        if known is None:
            return
        known.mode = message.mode or known.mode
        known.activity = message.state or known.activity

    def _follow_terminal(self, exchange: Exchange, message: Message) -> None:
        known = self.state.terminals.get(exchange.terminal or "")
        event = _TERMINAL_EVENTS.get(exchange.method or "")
        if event is None and exchange.method == "terminal/output" and _has_exited(message):
            event = Event.EXIT
        if known is None or event is None:
            return
        known.state = TERMINALS[known.state].get(event, known.state)
        if known.state is TerminalState.RELEASED:
            del self.state.terminals[exchange.terminal or ""]

    def _follow_call(self, session: str | None, call: str, status: str | None) -> None:
        calls = self.state.calls.setdefault(session or "", {})
        known = calls.get(call)
        if known is None:
            _keep(calls, call, status or "pending")
        elif status is not None and status in CALLS.get(known, (status,)):
            calls[call] = status

    def _begin_turn(self, seq: int, t_ns: int, session: str | None) -> Turn:
        turn = Turn(self.state.next_turn, session, seq, t_ns)
        self.state.next_turn += 1
        self.state.turns.setdefault(session or "", []).append(turn)
        return turn

    def end_turns(
        self, seq: int, t_ns: int, session: str | None, message: Message, only: int | None = None
    ) -> list[Turn]:
        """Ends the open turns of a session.

        Args:
            seq: the number of the frame that ends them.
            t_ns: its time.
            session: the session.
            message: the answer to the prompt, or the update (v2).
            only: the turn to end; None for all of them.

        Returns:
            The turns that have ended.
        """
        open_turns = self.state.turns.get(session or "", [])
        ended = [turn for turn in open_turns if only is None or turn.id == only]
        for turn in ended:
            turn.end_seq, turn.stop_reason = seq, message.stop_reason
            turn.duration_ns = t_ns - turn.prompt_ns
            turn.state = TURNS[turn.state].get(Event.END, turn.state)
            open_turns.remove(turn)
        if not open_turns:
            self.state.turns.pop(session or "", None)
            self._forget_calls(session)
        return ended

    def _forget_calls(self, session: str | None) -> None:
        if (session or "") not in self.state.calls:
            return
        left = self.open_calls(session)
        if left:
            self.state.calls[session or ""] = left
        else:
            del self.state.calls[session or ""]

    def _initialize(self, event: Event) -> None:
        self.state.phase = PHASES[self.state.phase].get(event, self.state.phase)


def is_idle(message: Message) -> bool:
    """Whether a session update ends the turns of its session (v2)."""
    return message.state == "idle" and message.update == "state_update"


def _keep(known: dict[str, Any], key: str, value: Any) -> None:
    """Adds an entry, and removes the oldest if there are too many."""
    known[key] = value
    if len(known) > _MOST:
        del known[next(iter(known))]


def _has_exited(message: Message) -> bool:
    """Whether an answer to ``terminal/output`` reports the end of the command."""
    raw = message.raw or b""
    return b'"exitStatus"' in raw and isinstance(body(message, "result").get("exitStatus"), dict)
