"""Labels frames with what they belong to: exchanges, sessions, turns, tool calls, terminals.

The labels of a frame come from the state of the connection before it. The frame is fed to the state
machine on the way, and what has changed by it is handed over by `Correlator.drain`.
"""

from attrs import define

from acp_proxy.protocol.connection import Connection, is_idle
from acp_proxy.protocol.dialects import DRAFT
from acp_proxy.protocol.exchanges import Exchange, Turn
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.methods import CANCEL, CANCEL_REQUEST, PROMPT
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import UPDATE

_NOTIFICATION, _REQUEST, _BATCH = Kind.NOTIFICATION, Kind.REQUEST, Kind.BATCH
_RESPONSES = (Kind.RESPONSE, Kind.ERROR)
_TO_AGENT = Direction.TO_AGENT


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


class Correlator:
    """Labels frames in the order in which they passed.

    Args:
        connection: the state machine, which the correlator feeds; None for a new one.

    Attributes:
        connection: the same.
    """

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or Connection()
        self._exchanges: dict[int, Exchange] = {}
        self._turns: dict[int, Turn] = {}

    def feed(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        """Labels the next frame.

        Args:
            seq: its number.
            t_ns: its time.
            direction: where it went.
            message: the frame; of a batch, all members are fed.
        """
        kind = message.kind
        if kind is _NOTIFICATION:
            return self._notification(seq, t_ns, direction, message)
        if kind is _REQUEST:
            return self._request(seq, t_ns, direction, message)
        if kind in _RESPONSES:
            return self._answer(seq, t_ns, direction, message)
        if kind is _BATCH:
            return self._batch(seq, t_ns, direction, message)
        return Labels()

    def drain(self) -> tuple[list[Exchange], list[Turn]]:
        """Hands over the exchanges and turns that are new or changed since the last time."""
        changed = list(self._exchanges.values()), list(self._turns.values())
        self._exchanges, self._turns = {}, {}
        return changed

    def _notification(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        method, connection = message.method, self.connection
        labels = Labels(method, None, message.session, None, message.tool_call, message.terminal)
        self._place(labels, message)
        if method == UPDATE:
            turn = connection.update(labels.session, message)
            if turn is not None:
                self._turns[turn.id] = turn
                if is_idle(message):
                    self._note(connection.end_turns(seq, t_ns, labels.session, message))
        elif method == CANCEL_REQUEST and message.target is not None:
            target = connection.cancel_request(direction, message.target)
            if target is not None:
                labels.exchange, labels.session = target.id, target.session
                labels.turn, labels.tool_call = target.turn, target.tool_call
        elif method == CANCEL and direction is _TO_AGENT:
            connection.cancel_turns(labels.session)
        if connection.dialect is None:
            connection.detect_dialect(message)
        return labels

    def _request(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        labels = Labels(message.method, None, message.session, None, message.tool_call)
        labels.terminal = message.terminal
        if self.connection.dialect is None:
            self.connection.detect_dialect(message)
        if message.method != PROMPT or direction is not _TO_AGENT:
            self._place(labels, message)
        place = labels.session, labels.turn
        exchange, turn = self.connection.ask(seq, t_ns, direction, message, place)
        self._exchanges[exchange.id] = exchange
        if turn is not None:
            self._turns[turn.id] = turn
        labels.exchange, labels.turn = exchange.id, exchange.turn
        return labels

    def _answer(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Labels:
        exchange, ended = self.connection.answer(seq, t_ns, direction, message)
        if exchange is None:
            labels = Labels(None, None, message.session, None, None, message.terminal)
            self._place(labels, message)
            return labels
        self._exchanges[exchange.id] = exchange
        self._note(ended)
        return Labels(
            exchange.method,
            exchange.id,
            exchange.session,
            exchange.turn,
            exchange.tool_call,
            message.terminal or exchange.terminal,
        )

    def _note(self, turns: list[Turn]) -> None:
        for turn in turns:
            self._turns[turn.id] = turn

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
        if labels.session is None:
            is_draft = self.connection.dialect == DRAFT
            if not is_draft or not (labels.method or "").startswith(("fs/", "terminal/")):
                return
            found = self.connection.session_of(labels.terminal, message)
            if found is None:
                return
            labels.session = found or None  # a prompt without a session is a turn, too
        turn = self.connection.turn_of(labels.session)
        if turn is not None:
            labels.turn = turn.id
