"""The state of one ACP connection: the only code that tracks which requests and turns are open.

`Connection.feed` accepts one message at a time, in order. The returned transition contains the
labels of the message and the changes that the message made. `State` is everything that the state
machine remembers. The state machine uses no file, clock or database.

- An answer belongs to the oldest open request of the *other* direction with the same id token. An
  id alone is ambiguous, since both peers number their requests from 0.
- In v1 and the draft, a turn begins with ``session/prompt`` and ends with the answer. In v2 the
  answer only accepts the prompt, and a ``state_update`` to idle ends the turn. Updates after the
  end of a turn, and the history that ``session/load`` streams, belong to no turn.
- If a session has several open turns, updates and requests belong to the newest turn.
- In the draft, ``fs/*`` and ``terminal/*`` messages name no session. A message about a terminal
  belongs to the session that created the terminal. A message with a path belongs to the session
  whose directory contains the path. Any other message belongs to the only session with open turns.
  If several sessions or no sessions have open turns, it belongs to no session.
- ``mcp/*`` messages name no session either. A message about a server belongs to the session that
  declared the server. A message about a connection belongs to the session of its ``mcp/connect``.
  If several sessions fit, only a session with an open turn counts. If several or no sessions count,
  the message belongs to no session.
"""

from bisect import bisect_left, bisect_right
from operator import attrgetter

from acp_proxy.protocol.connection_state import Exchange, State, Transition, Turn
from acp_proxy.protocol.dialects import (
    CANCEL,
    CANCEL_REQUEST,
    DRAFT,
    FORK,
    INITIALIZE,
    MCP_MESSAGE,
    OPENING,
    PERMISSION,
    PROMPT,
    V2,
    Evidence,
    body,
    carries_mcp_error,
)
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message
from acp_proxy.protocol.session_tracker import SessionTracker
from acp_proxy.protocol.updates import UPDATE

FORCED = "forced by --dialect"
"""The reason for a dialect that the user has chosen. Messages never change this dialect."""

_CANCELLED_CODES = {-32800: None, -32003: DRAFT}
"""The error codes of cancelled requests. The value is the only dialect with the code, or None for
every dialect."""
# Looking up a member of an enum is slow.
_NOTIFICATION, _REQUEST, _BATCH = Kind.NOTIFICATION, Kind.REQUEST, Kind.BATCH
_RESPONSE, _ERROR = Kind.RESPONSE, Kind.ERROR
_TO_AGENT = Direction.TO_AGENT


class Connection:
    """The state machine of a connection; the only writer of its `State`.

    Args:
        state: the state to continue from; None for a new connection.
        dialect: the dialect of the connection, or ``auto`` to detect it.
    """

    def __init__(self, state: State | None = None, dialect: str = "auto") -> None:
        self.state = state or State()
        self._tracker = SessionTracker(self.state)
        if dialect != "auto" and not self.state.forced:
            self.state.forced = self.state.evidence.is_complete = True
            self.state.handshake.dialect = dialect
            self.state.handshake.dialect_reason = FORCED

    # Open requests and turns

    @property
    def dialect(self) -> str | None:
        """The dialect; None if it is not known yet."""
        return self.state.handshake.dialect

    def open_requests(self, direction: Direction) -> list[Exchange]:
        """Returns the unanswered requests of one direction, oldest first."""
        waiting = [e for same_id in self.state.open[direction].values() for e in same_id]
        return sorted(waiting, key=lambda e: e.id)

    def oldest(self, direction: Direction, token: str | None) -> Exchange | None:
        """Returns the open request that an answer with the given id belongs to, or else None.

        Args:
            direction: the direction of the request.
            token: the JSON token of the id.
        """
        same_id = self.state.open[direction].get(token or "null")
        return same_id[0] if same_id else None

    def turn_of(self, session: str | None) -> Turn | None:
        """Returns the newest open turn of a session; None if the session has no open turn."""
        turns = self.state.turns.get(session or "")
        return turns[-1] if turns else None

    def open_calls(self, session: str | None) -> dict[str, str]:
        """Returns the status of each unfinished tool call of a session, by the call's id."""
        return self._tracker.open_calls(session)

    # Messages

    def feed(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Transition:
        """Processes the next message.

        Args:
            seq: the number of the message's frame.
            t_ns: the time of the message in nanoseconds, on any clock.
            direction: the direction of the message.
            message: the message; all members of a batch are processed.

        Returns:
            The labels of the message, and the changes that the message made.
        """
        kind = message.kind
        if kind is _NOTIFICATION:
            return self._notification(seq, t_ns, direction, message)
        if kind is _REQUEST:
            return self._request(seq, t_ns, direction, message)
        if kind is _RESPONSE or kind is _ERROR:
            return self._answer(seq, t_ns, direction, message)
        if kind is _BATCH:
            return self._batch(seq, t_ns, direction, message)
        return Transition()

    def _batch(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Transition:
        """Processes all members of a batch. The batch has the labels that its members share."""
        members = [self.feed(seq, t_ns, direction, member) for member in message.members]
        transition = Transition(members=members)
        for name in ("exchange", "session", "turn", "tool_call", "terminal"):
            values = {getattr(member, name) for member in members}
            setattr(transition, name, values.pop() if len(values) == 1 else None)
        return transition

    def _notification(
        self, seq: int, t_ns: int, direction: Direction, message: Message
    ) -> Transition:
        method = message.method
        transition = Transition(
            method, None, message.session, None, message.tool_call, message.terminal
        )
        self._place(transition, message)
        if method == UPDATE:
            self._update(seq, t_ns, message, transition)
        elif method == CANCEL_REQUEST and message.target is not None:
            # The cancelled request went in the same direction.
            if (target := self.oldest(direction, message.target)) is not None:
                target.cancelled = True
                transition.cancelled = target
                transition.exchange, transition.session = target.id, target.session
                transition.turn, transition.tool_call = target.turn, target.tool_call
        elif method == CANCEL and direction is _TO_AGENT:
            for turn in self.state.turns.get(transition.session or "", ()):
                turn.is_cancelling = True
        evidence = self.state.evidence
        if not evidence.is_complete and (message.state or message.update not in evidence.kinds):
            self._detect_dialect(message)
        return transition

    def _update(self, seq: int, t_ns: int, message: Message, transition: Transition) -> None:
        call, turn = message.tool_call, self.turn_of(transition.session)
        if call is not None:
            transition.begins_call = self._tracker.begin_call(transition.session, message, turn)
        if call is not None or message.mode is not None:
            self._tracker.update(transition.session, message)
        if turn is None:
            return
        transition.updated = turn
        turn.updates += 1
        if call is not None and call not in turn.counted:
            turn.counted.add(call)
            turn.asked.discard(call)
            turn.tool_calls += 1
        if message.state == "idle" and message.update == "state_update":  # v2
            transition.ended = self._end_turns(seq, t_ns, transition.session, message)

    def _request(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Transition:
        state, method = self.state, message.method
        transition = Transition(
            method, None, message.session, None, message.tool_call, message.terminal
        )
        if not state.evidence.is_complete and (direction is _TO_AGENT or method not in INITIALIZE):
            self._detect_dialect(message)
        if method != PROMPT or direction is not _TO_AGENT:
            self._place(transition, message)
        else:
            transition.begun = self._begin_turn(seq, t_ns, transition.session)
            transition.turn = transition.begun.id
        transition.opened = exchange = Exchange(
            state.next_exchange, direction, method, message.rpc_id, transition.session, seq, t_ns,
            turn=transition.turn, tool_call=message.tool_call, terminal=message.terminal,
        )  # fmt: skip
        transition.exchange = exchange.id
        state.next_exchange += 1
        state.open[direction].setdefault(message.rpc_id or "null", []).append(exchange)
        if method in OPENING:
            if self.dialect in (None, DRAFT):
                opened = message.session if method != FORK else None
                state.unnamed.request(exchange.id, body(message, "params"), opened)
            if message.raw is not None and b'"acp"' in message.raw:
                state.servers.request(exchange.id, body(message, "params"))
        elif method in INITIALIZE:
            if direction is _TO_AGENT:
                state.handshake.meet_client(body(message, "params"))
        else:
            if method == PERMISSION and message.tool_call is not None:
                self._ask(message.tool_call, message, transition)
            self._tracker.request(exchange, message)
        return transition

    def _ask(self, call: str, message: Message, transition: Transition) -> None:
        """Notes that the agent asks for permission for a tool call."""
        turn = self.turn_of(transition.session)
        transition.begins_call = self._tracker.begin_call(transition.session, message, turn)
        if turn is not None and call not in turn.counted:
            turn.asked.add(call)

    def _answer(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Transition:
        exchange = self._close(direction.other, message.rpc_id)
        if exchange is None:
            transition = Transition(session=message.session, terminal=message.terminal)
            self._place(transition, message)
            return transition
        exchange.response_seq = seq
        exchange.latency_ns = t_ns - exchange.request_ns
        exchange.outcome = self._outcome(exchange, message)
        if exchange.session is None and exchange.turn is None:
            exchange.session = message.session  # the answer to session/new names the session
        elif exchange.method == FORK and message.session is not None:
            exchange.session, exchange.turn = message.session, None
        self._tracker.answer(exchange, message)
        if not self.state.evidence.is_complete:
            self._detect_dialect(message, exchange.method)
        ended: list[Turn] = []
        if exchange.method == PROMPT and exchange.turn is not None:
            is_accepted_only = self.dialect == V2 and message.stop_reason is None
            if message.kind is _ERROR or not is_accepted_only:
                ended = self._end_turns(seq, t_ns, exchange.session, message, exchange.turn)
        elif exchange.method in INITIALIZE and message.kind is not _ERROR:
            self.state.handshake.meet_agent(body(message, "result"))
        return Transition(
            exchange.method, exchange.id, exchange.session, exchange.turn, exchange.tool_call,
            message.terminal or exchange.terminal, answered=exchange, ended=ended,
        )  # fmt: skip

    def _place(self, transition: Transition, message: Message) -> None:
        """Sets a message's turn, and the session if the message names no session (draft, MCP)."""
        if transition.session is None:
            method = transition.method or ""
            if method.startswith("mcp/"):
                owner = self._session_of_server(message)
            elif self.dialect == DRAFT and method.startswith(("fs/", "terminal/", "_mcp/")):
                owner = self._session_of(transition.terminal, message)
            else:
                return
            if owner is None:
                return
            transition.session = owner or None  # "" is the key of turns without a session
        if turns := self.state.turns.get(transition.session or ""):
            transition.turn = turns[-1].id

    def _session_of_server(self, message: Message) -> str | None:
        """Returns the session of a message to or from an MCP server.

        The result is None if the session is unknown or ambiguous. It is "" if the message belongs
        to a turn whose prompt names no session.
        """
        turns = self.state.turns
        candidates = self.state.servers.candidates(body(message, "params"))
        if not candidates and len(turns) == 1:
            return next(iter(turns))
        owners = [session for session in candidates if session in turns] or candidates
        return owners[0] if len(owners) == 1 else None

    def _session_of(self, terminal: str | None, message: Message) -> str | None:
        """Returns the session of a draft message that does not name its session.

        The result is None if the session is unknown or ambiguous. It is "" if the message belongs
        to a turn whose prompt names no session.
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
            is_mcp_error = exchange.method == MCP_MESSAGE and carries_mcp_error(message)
            return "error" if is_mcp_error else "result"
        code = message.error_code
        if exchange.cancelled or (
            code in _CANCELLED_CODES and _CANCELLED_CODES[code] in (None, self.dialect)
        ):
            return "cancelled"
        return "error"

    def _begin_turn(self, seq: int, t_ns: int, session: str | None) -> Turn:
        turn = Turn(self.state.next_turn, session, seq, t_ns)
        self.state.next_turn += 1
        self.state.turns.setdefault(session or "", []).append(turn)
        return turn

    def _end_turns(
        self, seq: int, t_ns: int, session: str | None, message: Message, only: int | None = None
    ) -> list[Turn]:
        """Ends all open turns of a session, or only the turn with the number ``only``."""
        open_turns = self.state.turns.get(session or "", [])
        first, last = 0, len(open_turns)
        if only is not None:  # turns are numbered in order
            first = bisect_left(open_turns, only, key=attrgetter("id"))
            last = bisect_right(open_turns, only, key=attrgetter("id"))
        ended = open_turns[first:last]
        del open_turns[first:last]
        for turn in ended:
            turn.end_seq, turn.stop_reason = seq, message.stop_reason
            turn.duration_ns = t_ns - turn.prompt_ns
            turn.is_cancelling = False
        if not open_turns:
            self.state.turns.pop(session or "", None)
            self._tracker.forget_calls(session)
        return ended

    def _detect_dialect(self, message: Message, answered: str | None = None) -> None:
        """Detects the dialect from the messages of the handshake and the first turn."""
        state, evidence = self.state, self.state.evidence
        if evidence.take(message, answered) and (owners := evidence.best()) is not None:
            state.handshake.dialect, state.handshake.dialect_reason = owners
        if evidence.is_complete:
            state.evidence = Evidence(is_complete=True)
