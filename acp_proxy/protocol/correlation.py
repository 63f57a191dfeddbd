"""The one machine that says what belongs together: exchanges, sessions, turns, calls, terminals.

Pure and incremental: a frame goes in, its labels come out, and what changed meanwhile is handed
over by `drain`. It knows no file, clock or database; `State` is all it remembers, small enough to
be stored with every batch, so that any reader can go on from there.

- An answer belongs to the open request of the *other* direction with the same id token; of several,
  to the oldest. Both peers number from 0, so an id alone says nothing.
- A turn begins with ``session/prompt``. In v1 and the draft its answer ends it. In v2 the answer
  only accepts, and ``state_update`` to idle ends it. Updates after the end belong to no turn, nor
  does the history that ``session/load`` streams, since no prompt is open then.
- Of several open turns of a session it is the newest that updates and requests belong to: an older
  one is a prompt whose answer is overdue, and the agent has gone on to the next.
- In the draft, ``fs/*`` and ``terminal/*`` name no session. A terminal is of the session that
  created it, a path of the session in whose directory it is; else, while turns of just one session
  are open, it is that one. Where neither tells, the frame has no session.
- An answer that names a new session, to ``session/new`` or ``session/fork``, makes it that of the
  exchange; the request keeps what it said itself.
"""

from typing import Any

from attrs import define, field

from acp_proxy.protocol.dialects import (
    DRAFT,
    INITIALIZE,
    OPENING,
    V2,
    body,
    judge_frame,
    judge_initialize,
)
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.unnamed_sessions import UnnamedSessions
from acp_proxy.recording import Exchange, Turn

FORCED = "forced by --dialect"
"""The reason for a dialect that a person has chosen, whatever the frames say."""

_CANCELLED_CODES = {-32800: None, -32003: DRAFT}
"""Error codes that say a request was cancelled, and the dialect that a code is limited to."""


@define
class Labels:
    """What a frame belongs to."""

    method: str | None = None
    """Its own, or that of the request it answers."""
    exchange: int | None = None
    session: str | None = None
    turn: int | None = None
    tool_call: str | None = None
    terminal: str | None = None


@define
class Handshake:
    """Who talks, and in which dialect."""

    dialect: str | None = None
    dialect_reason: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    protocol_version: str | None = None


@define
class State:
    """All that the machine remembers between two frames."""

    next_exchange: int = 1
    next_turn: int = 1
    open: dict[Direction, dict[str, list[Exchange]]] = field(
        factory=lambda: {Direction.TO_AGENT: {}, Direction.TO_CLIENT: {}}
    )
    """Unanswered requests by their direction and id token, oldest first."""
    turns: dict[str, list[Turn]] = field(factory=dict)
    """Open turns by session, oldest first."""
    handshake: Handshake = field(factory=Handshake)
    params: dict[str, Any] = field(factory=dict)
    """Of the latest initialize request."""
    forced: bool = False
    settled: bool = False
    """Whether an initialize exchange has told the dialect."""
    unnamed: UnnamedSessions = field(factory=UnnamedSessions)
    """What tells the session of a message that names none, while the dialect may be the draft."""


class Correlator:
    """Labels frames in the order in which they passed."""

    def __init__(self, state: State | None = None, dialect: str = "auto") -> None:
        self.state = state or State()
        if dialect != "auto" and not self.state.forced:
            self.state.forced = True
            self.state.handshake.dialect = dialect
            self.state.handshake.dialect_reason = FORCED
        self._exchanges: dict[int, Exchange] = {}
        self._turns: dict[int, Turn] = {}

    def feed(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        """Takes the next frame; ``seq`` is its number and ``t_ns`` its time."""
        kind = message.kind
        if kind is Kind.NOTIFICATION:
            return self._notification(seq, t_ns, direction, message)
        if kind is Kind.REQUEST:
            return self._request(seq, t_ns, direction, message)
        if kind is Kind.RESPONSE or kind is Kind.ERROR:
            return self._answer(seq, t_ns, direction, message)
        if kind is Kind.BATCH:
            return self._batch(seq, t_ns, direction, message)
        return Labels()

    def drain(self) -> tuple[list[Exchange], list[Turn]]:
        """Hands over the exchanges and turns that are new or changed since the last time."""
        changed = list(self._exchanges.values()), list(self._turns.values())
        self._exchanges, self._turns = {}, {}
        return changed

    def open_requests(self, direction: Direction) -> list[Exchange]:
        """Returns the requests of one direction that wait for their answer, oldest first."""
        waiting = [e for same_id in self.state.open[direction].values() for e in same_id]
        return sorted(waiting, key=lambda e: e.id)

    @property
    def dialect(self) -> str | None:
        """The dialect as far as it is known."""
        return self.state.handshake.dialect

    def _notification(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        labels = Labels(message.method, None, message.session, None, message.tool_call)
        labels.terminal = message.terminal
        self._place(labels, message)
        if message.method == "session/update":
            self._count(seq, t_ns, labels, message)
        elif message.method == "$/cancel_request" and message.target is not None:
            self._cancel(labels, self._oldest(direction, message.target))
        if not self.state.settled:
            self._judge(message)
        return labels

    def _request(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        state = self.state
        labels = Labels(message.method, state.next_exchange, message.session)
        labels.tool_call, labels.terminal = message.tool_call, message.terminal
        state.next_exchange += 1
        if not state.settled:
            self._judge(message)
        if message.method == "session/prompt" and direction is Direction.TO_AGENT:
            labels.turn = self._open_turn(seq, t_ns, message.session)
        else:
            self._place(labels, message)
        if message.method in OPENING and self.dialect in (None, DRAFT):
            opened = message.session if message.method != "session/fork" else None
            state.unnamed.asked(labels.exchange or 0, body(message, "params"), opened)
        if message.method in INITIALIZE and direction is Direction.TO_AGENT:
            state.params = _shallow(body(message, "params"))
            self._meet(state.params, None)
        exchange = Exchange(
            id=labels.exchange or 0,
            direction=direction,
            method=message.method,
            rpc_id=message.rpc_id,
            session=labels.session,
            request_seq=seq,
            request_ns=t_ns,
            turn=labels.turn,
            tool_call=labels.tool_call,
            terminal=labels.terminal,
        )
        state.open[direction].setdefault(message.rpc_id or "null", []).append(exchange)
        self._exchanges[exchange.id] = exchange
        return labels

    def _answer(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        exchange = self._close(direction.other, message.rpc_id)
        if exchange is None:
            labels = Labels(None, None, message.session, None, None, message.terminal)
            self._place(labels, message)
            return labels
        exchange.response_seq = seq
        exchange.latency_ns = t_ns - exchange.request_ns
        exchange.outcome = self._outcome(exchange, message)
        if exchange.session is None and exchange.turn is None:
            exchange.session = message.session  # the answer to session/new names it
        elif exchange.method == "session/fork" and message.session is not None:
            exchange.session, exchange.turn = message.session, None
        self._learn(exchange, message)
        self._exchanges[exchange.id] = exchange
        labels = Labels(
            exchange.method,
            exchange.id,
            exchange.session,
            exchange.turn,
            exchange.tool_call,
            message.terminal or exchange.terminal,
        )
        if not self.state.settled:
            self._judge(message, exchange.method)
        if exchange.method == "session/prompt" and exchange.turn is not None:
            accepted_only = self.dialect == V2 and message.stop_reason is None
            if message.kind is Kind.ERROR or not accepted_only:
                self._end_turn(exchange.session, exchange.turn, seq, t_ns, message.stop_reason)
        elif exchange.method in INITIALIZE and message.kind is Kind.RESPONSE:
            self._meet(self.state.params, body(message, "result"))
        return labels

    def _batch(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        """Gives each member its exchange; the frame bears what all members agree on."""
        members = [self.feed(seq, t_ns, direction, member) for member in message.members]
        labels = Labels()
        for name in ("exchange", "session", "turn", "tool_call", "terminal"):
            values = {getattr(member, name) for member in members}
            setattr(labels, name, values.pop() if len(values) == 1 else None)
        return labels

    def _place(self, labels: Labels, message: Message) -> None:
        """Finds the turn; in the draft also the session, where the message names none."""
        turns = self.state.turns
        if labels.session is None:
            if self.dialect != DRAFT or not (labels.method or "").startswith(("fs/", "terminal/")):
                return
            found = self._find_session(labels, message)
            if found is None:
                return
            labels.session = found or None  # a prompt without a session is a turn, too
        if open_turns := turns.get(labels.session or ""):
            labels.turn = open_turns[-1].id

    def _find_session(self, labels: Labels, message: Message) -> str | None:
        """The session of a message that names none: of its terminal, its path, or the only one."""
        unnamed, turns = self.state.unnamed, self.state.turns
        if (session := unnamed.terminals.get(labels.terminal or "")) is not None:
            return session
        if len(unnamed.directories) > 1:
            owners = unnamed.candidates(body(message, "params"))
            if certain := [session for session in owners if session in turns] or owners:
                return certain[0] if len(certain) == 1 else None
        return next(iter(turns)) if len(turns) == 1 else None

    def _learn(self, exchange: Exchange, message: Message) -> None:
        """Remembers what the answer to a request tells of new sessions and terminals."""
        unnamed = self.state.unnamed
        if exchange.method in OPENING:
            unnamed.opened(exchange.id, message.session)
        elif self.dialect != DRAFT or message.kind is not Kind.RESPONSE:
            return
        elif exchange.method == "terminal/create":
            if message.terminal is not None and exchange.session is not None:
                unnamed.created(message.terminal, exchange.session)
        elif exchange.method == "terminal/release" and exchange.terminal is not None:
            unnamed.released(exchange.terminal)

    def _open_turn(self, seq: int, t_ns: int, session: str | None) -> int:
        turn = Turn(self.state.next_turn, session, seq, t_ns)
        self.state.next_turn += 1
        self.state.turns.setdefault(session or "", []).append(turn)
        self._turns[turn.id] = turn
        return turn.id

    def _end_turn(
        self, session: str | None, turn_id: int, seq: int, t_ns: int, reason: str | None
    ) -> None:
        open_turns = self.state.turns.get(session or "", [])
        for turn in [turn for turn in open_turns if turn.id == turn_id]:
            turn.end_seq, turn.stop_reason = seq, reason
            turn.duration_ns = t_ns - turn.prompt_ns
            self._turns[turn.id] = turn
            open_turns.remove(turn)
        if not open_turns:
            self.state.turns.pop(session or "", None)

    def _count(self, seq: int, t_ns: int, labels: Labels, message: Message) -> None:
        """Counts a session update to its turn, and ends the turn if it says so (v2)."""
        open_turns = self.state.turns.get(labels.session or "")
        if not open_turns:
            return
        turn = open_turns[-1]
        turn.updates += 1
        if labels.tool_call is not None and labels.tool_call not in turn.seen:
            turn.seen.add(labels.tool_call)
            turn.tool_calls = len(turn.seen)
        self._turns[turn.id] = turn
        if message.update == "state_update" and message.state == "idle":
            for turn in list(open_turns):
                self._end_turn(labels.session, turn.id, seq, t_ns, message.stop_reason)

    def _cancel(self, labels: Labels, target: Exchange | None) -> None:
        """Labels a ``$/cancel_request`` as part of the exchange that it cancels."""
        if target is not None:
            target.cancelled = True
            labels.exchange, labels.session = target.id, target.session
            labels.turn, labels.tool_call = target.turn, target.tool_call

    def _oldest(self, direction: Direction, token: str | None) -> Exchange | None:
        same_id = self.state.open[direction].get(token or "null")
        return same_id[0] if same_id else None

    def _close(self, direction: Direction, token: str | None) -> Exchange | None:
        exchange = self._oldest(direction, token)
        if exchange is not None:
            same_id = self.state.open[direction]
            same_id[token or "null"].pop(0)
            if not same_id[token or "null"]:
                del same_id[token or "null"]
        return exchange

    def _outcome(self, exchange: Exchange, message: Message) -> str:
        if message.kind is Kind.RESPONSE:
            return "result"
        code = message.error_code
        if exchange.cancelled or (
            code in _CANCELLED_CODES and _CANCELLED_CODES[code] in (None, self.dialect)
        ):
            return "cancelled"
        return "error"

    def _judge(self, message: Message, answered: str | None = None) -> None:
        handshake = self.state.handshake
        if self.state.forced or handshake.dialect is not None:
            return
        if verdict := judge_frame(message, answered):
            handshake.dialect, handshake.dialect_reason = verdict.dialect, verdict.reason

    def _meet(self, params: dict[str, Any], result: dict[str, Any] | None) -> None:
        """Learns names, version and dialect from an initialize request or exchange."""
        handshake = self.state.handshake
        client = _either(params, "clientInfo", "info")
        handshake.client_name = _text(client, "name")
        handshake.client_version = _text(client, "version")
        if result is not None:
            agent = _either(result, "agentInfo", "info")
            handshake.agent_name = _text(agent, "name")
            handshake.agent_version = _text(agent, "version")
            if isinstance(version := result.get("protocolVersion"), int | float):
                handshake.protocol_version = str(version)
            else:
                handshake.protocol_version = _text(result, "protocolVersion")
            self.state.settled = True
        if not self.state.forced and (verdict := judge_initialize(params, result)):
            handshake.dialect, handshake.dialect_reason = verdict.dialect, verdict.reason


def _either(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        if isinstance(found := value.get(name), dict):
            return found
    return {}


def _text(value: dict[str, Any], name: str) -> str | None:
    """A string that can be stored: a lone surrogate is written as its escape."""
    found = value.get(name)
    return found.encode("utf-8", "backslashreplace").decode() if isinstance(found, str) else None


def _shallow(value: dict[str, Any], levels: int = 3) -> dict[str, Any]:
    """What can tell a dialect, without the depths that no converter could follow."""
    kept: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict):
            kept[name] = _shallow(inner, levels - 1) if levels > 1 else {}
        elif not isinstance(inner, list):
            kept[name] = inner
    return kept
