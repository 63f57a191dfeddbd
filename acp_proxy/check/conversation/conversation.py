"""The state of a conversation that rules need, beyond the state of its connection.

All tables are bounded. `conversation_changes` applies a message after the rules have checked it.
`RuleMemory` contains what a rule remembers of earlier messages.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from attrs import define, field

from acp_proxy.check.checked_message import CLIENT, CheckedMessage
from acp_proxy.check.conversation.session_record import (
    EndedTurn,
    Remembered,
    SessionRecord,
    TerminalRecord,
    TurnRecord,
)
from acp_proxy.check.schema_check import DialectSchema
from acp_proxy.check.schema_problems import SchemaComparison
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.dialects import DRAFT, INITIALIZE, V1, V2
from acp_proxy.protocol.jsonrpc import Direction

SESSION, TERMINAL, CALL = "session", "terminal", "tool call"


@define(eq=False)
class TurnText:
    """The text of the agent in the latest turn of a session."""

    turn: int
    asked: str
    """The beginning of the prompt's text."""
    again: int = 0
    """How many turns in a row had the text `line`, after different prompts."""
    line: str = ""
    """The text of the latest ended turn, with 0 for each number. It is empty if the text was long,
    or if the turn had tool calls."""
    text: str = ""
    last: str = ""
    """The latest chunk of the text."""
    grown: int = 0
    """How many chunks in a row began with the whole text of the chunk before."""
    seq: int = 0
    """The frame of the latest chunk."""
    first_seq: int = 0


@define(eq=False)
class RuleMemory:
    """Tables and flags in which rules remember earlier messages."""

    split_lines: dict[Direction, tuple[int, list[tuple[int, bytes]]]] = field(factory=dict)
    """For each direction: consecutive lines that may be parts of one split message, and the number
    of messages before these lines."""
    is_version_ignored: bool = False
    """Whether a finding has reported that the client continued after an answer with an unsupported
    version."""
    was_initialize_open: bool = False
    """Whether a finding has reported that the client did not wait for the answer to
    ``initialize``."""
    boolean_options: Remembered[str, int] = field(factory=Remembered)
    """The sessions with a reported boolean option, each with the frame of the option. (An option is
    reported if the client does not accept boolean options.)"""
    early_updates: Remembered[str, int] = field(factory=Remembered)
    """By session, the frame of the first update that came before the answer to session/new."""
    replays: Remembered[int, int] = field(factory=Remembered)
    """By the frame of a request that loads or resumes a session: the frame of the latest update of
    the history."""
    agent_replays: Remembered[int, int] = field(factory=Remembered)
    """Like `replays`, but only for updates about the agent's own messages and tool calls."""
    deleted_sessions: Remembered[str, int] = field(factory=Remembered)
    pending_permissions: Remembered[int, int] = field(factory=Remembered)
    """By the frame of a permission request: the frame of the cancel that must settle this
    request."""
    written_files: Remembered[tuple[str | None, str], tuple[int, int]] = field(factory=Remembered)
    """By session and path: the frame of the last write, and the hash of the text. An entry is
    removed when the file is read."""
    leaked_terminals: Remembered[str, int] = field(factory=Remembered)
    """Terminals that were still unreleased when their turn ended, each with the frame that ended
    the turn."""
    slow_terminals: Remembered[str, int] = field(factory=Remembered)
    """Terminals whose creation took too long, each with the frame of the answer to
    terminal/create."""
    mcp_connections: Remembered[str, bool] = field(factory=Remembered)
    """The connections to MCP servers: True for an open connection, False for a closed one."""
    custom_requests: set[str] = field(factory=set)
    """The custom requests that were reported: for each, the sender, a blank and the method's
    namespace."""
    elicitations: Remembered[str, int | None] = field(factory=Remembered)
    """The ids of elicitations, each with the frame that completed it; None for an open
    elicitation."""
    credentials: Remembered[str, int] = field(factory=Remembered)
    """The masked credentials of MCP servers (1.0 draft): the hash in each marker, with the frame of
    the credential."""
    texts: Remembered[str, TurnText] = field(factory=Remembered)
    """The text of the latest turn of each session."""
    early_output: Remembered[str, int] = field(factory=Remembered)
    """By session, the frame of the first output before any prompt."""
    grants: Remembered[str, int] = field(factory=Remembered)
    """The permissions that were granted for more than one use, each with the frame of its
    answer."""
    set_modes: Remembered[str, int] = field(factory=Remembered)
    """By session, the frame of the answer that set the mode. The entry is removed when an update
    reports the mode (1.0 draft)."""
    mode_updates: Remembered[str, int] = field(factory=Remembered)
    """By session, the frame of the latest update of the mode (1.0 draft)."""


@define(eq=False)
class Peer:
    """The announcement that one side makes in ``initialize``."""

    root: tuple[str, ...]
    """The names that dialects use for the member with this side's capabilities."""
    announced: dict[str, Any] | None = None
    """The params or the result of ``initialize``; None before this message was sent."""
    seq: int | None = None

    def capability(self, *path: str) -> Any:
        """Returns the announced value at a path below the capabilities; None if there is no value.

        If the path leads into a value that is not an object, returns that value. If the member
        with the capabilities is null, returns True.
        """
        for root in self.root:
            if self.announced is not None and root in self.announced:
                value = self.announced[root]
                if value is None:
                    return True
                for name in path:
                    if not isinstance(value, dict):
                        break
                    value = value.get(name)
                return value
        return None

    def offers(self, *path: str) -> bool:
        """Whether this side offers a capability: its value is neither missing, false nor null."""
        return self.capability(*path) not in (None, False)

    @property
    def is_known(self) -> bool:
        """Whether this side has announced its capabilities."""
        return self.announced is not None


def _by_direction() -> dict[Direction, Remembered[str, int]]:
    return {way: Remembered() for way in Direction}


@define(eq=False)
class MistakenPairs:
    """Answers without a request, and requests without an answer."""

    early: dict[Direction, Remembered[str, int]] = field(factory=_by_direction)
    """The ids in answers that have no request, by the direction of the missing request."""
    broken: dict[Direction, Remembered[str, int]] = field(factory=_by_direction)
    """The ids of invalid requests, for example with a method that is not a string."""
    without_id: Counter[Direction] = field(factory=Counter)
    """The number of requests without an id. The other side may have answered them."""
    excused: Counter[str] = field(factory=Counter)
    """How many unknown names are excused, by kind: session, terminal or tool call. Each of these
    names may have been in an unreadable message."""
    lost_update_seq: int = 0
    """The latest frame to the client that was unreadable, and so may have been an update."""
    adopted: Remembered[int, CheckedMessage] = field(factory=Remembered)
    """By exchange: the answer that was taken for its answer, despite a wrong id."""
    lost_prompt: str | None = None
    """The unknown session that the latest prompt names; empty if the prompt could not be read. None
    if the latest prompt names a known session."""

    def explains(self, message: CheckedMessage) -> bool:
        """Whether an answer without a request may be the answer to an invalid request."""
        direction, token = message.direction.other, message.parsed.rpc_id or "null"
        return token in self.broken[direction] or bool(self.without_id[direction])

    def may_be_prompted(self, session: str) -> bool:
        """Whether the latest prompt names no known session, and so may have meant `session`."""
        return self.lost_prompt not in (None, session)

    def excuse(self, what: str) -> None:
        """Excuses one later unknown name: an unreadable message has perhaps introduced it."""
        self.excused[what] += 1

    def lose_update(self, seq: int) -> None:
        """Notes an update that is unreadable or misplaced, and so may have named a tool call."""
        self.excused[CALL] += 1
        self.lost_update_seq = seq

    def use_excuse(self, what: str) -> None:
        """Uses up one excuse for an unknown name, if any is left."""
        if self.excused[what]:
            self.excused[what] -= 1


@define(eq=False)
class Conversation:
    """A conversation as far as it has been read."""

    connection: Connection
    dialect: str | None
    client: Peer = field(factory=lambda: Peer(("clientCapabilities", "capabilities")))
    agent: Peer = field(factory=lambda: Peer(("agentCapabilities", "capabilities")))
    asked: Remembered[int, CheckedMessage] = field(factory=lambda: Remembered(10_000))
    """The open requests, by exchange."""
    opening: dict[int, CheckedMessage] = field(factory=dict)
    """The open requests that open a session, by exchange."""
    answered: dict[Direction, Remembered[str, int]] = field(
        factory=lambda: {way: Remembered(10_000) for way in Direction}
    )
    """For each direction of requests: the ids of answered requests, each with the frame of the
    answer."""
    sessions: Remembered[str, SessionRecord] = field(factory=Remembered)
    listed: Remembered[str, int] = field(factory=lambda: Remembered(10_000))
    """Sessions in answers to session/list or nes/start, each with the frame of the answer."""
    cursors: Remembered[str, int] = field(factory=lambda: Remembered(10_000))
    """Cursors in answers to session/list, each with the frame of the answer."""
    last_ends: Remembered[str, EndedTurn] = field(factory=Remembered)
    """The latest ended turn of each session, even if the session's opening was not recorded."""
    turns: dict[int, TurnRecord] = field(factory=dict)
    """The open turns by number."""
    cancelling: dict[int, TurnRecord] = field(factory=dict)
    """The open turns that were cancelled, by number."""
    terminals: Remembered[str, TerminalRecord] = field(factory=Remembered)
    initialize: list[CheckedMessage] = field(factory=list)
    """The first two ``initialize`` requests."""
    first: dict[Direction, int] = field(factory=dict)
    """The frame of the first message of each direction."""
    messages: dict[Direction, int] = field(factory=lambda: dict.fromkeys(Direction, 0))
    """The number of messages in each direction."""
    is_logged_in: bool = False
    """Whether a login succeeded, and no logout followed."""
    auth_required: CheckedMessage | None = None
    """The latest answer that required a login; None after a new attempt to log in."""
    is_partial: bool = False
    """Whether messages may be missing: at the beginning, or in between."""
    has_gap: bool = False
    """Whether some frames were not recorded. After a gap, no message counts as missing."""
    left: str | None = None
    """The side that left first: client or agent; None if both are present."""
    is_over: bool = False
    """Whether the recording has ended. If not, a missing message may still come."""
    open_at_leaving: list[CheckedMessage] = field(factory=list)
    """The requests that were open when the first side left, or at the end of the recording."""
    hung: set[int] = field(factory=set)
    """The frames of open requests whose receiver was silent for too long."""
    ended_streams: dict[Direction, int] = field(factory=dict)
    """The number of the event that ended each stream."""
    cut_lines: list[tuple[int, str]] = field(factory=list)
    """The frames of lines without a newline at their end, each with its sender."""
    messages_on_stderr: list[int] = field(factory=list)
    """The frames of lines on stderr that look like messages."""
    pairs: MistakenPairs = field(factory=MistakenPairs)
    """Answers without a request, and requests without an answer."""
    memory: RuleMemory = field(factory=RuleMemory)
    """The tables and flags in which rules remember earlier messages."""

    # Queries of rules

    def dialect_of(self, message: CheckedMessage) -> str | None:
        """Returns the dialect of a message. ``initialize`` has the dialect that it requests."""
        if message.method in INITIALIZE and not message.is_result and self.dialect != DRAFT:
            return V2 if message.params.get("protocolVersion") == 2 else V1
        return self.dialect

    def schema_of(self, message: CheckedMessage) -> DialectSchema | None:
        """Returns the types of a message's dialect; None for an unknown dialect."""
        dialect = self.dialect_of(message)
        return None if dialect is None else DialectSchema.of_dialect(dialect)

    def compared(self, message: CheckedMessage) -> SchemaComparison:
        """Returns where a message does not match its type; no problems in an unknown dialect."""
        if message.comparison is None:
            message.comparison = message.compared_with(self.schema_of(message))
        return message.comparison

    def is_of_its_type(self, message: CheckedMessage) -> bool:
        """Whether a message certainly matches its type and has no extra members."""
        if not message.is_plain or self.schema_of(message) is None:
            return False
        return self.compared(message).fits

    def peer(self, side: str) -> Peer:
        """Returns the announcement of the client or the agent."""
        return self.client if side == CLIENT else self.agent

    def session(self, name: str | None) -> SessionRecord | None:
        """Returns the record of a session; None if the session is unknown."""
        return None if name is None else self.sessions.get(name)

    def turn(self, number: int | None) -> TurnRecord | None:
        """Returns the open turn with a number; None if no open turn has the number."""
        return None if number is None else self.turns.get(number)

    def turn_of(self, session: str | None) -> TurnRecord | None:
        """Returns the newest open turn of a session; None if no turn is open."""
        open_turn = self.connection.turn_of(session)
        return None if open_turn is None else self.turns.get(open_turn.id)

    def other_turn(self, session: str | None, number: int | None) -> TurnRecord | None:
        """Returns the newest of a session's open turns except a given turn; None if none remains.

        Args:
            session: the session.
            number: the number of the turn that is left out.
        """
        open_ = self.connection.state.turns.get(session or "", ())
        other = next((open_turn for open_turn in reversed(open_) if open_turn.id != number), None)
        return None if other is None else self.turns.get(other.id)

    def is_overtaken(self, session: str | None, prompt: int) -> bool:
        """Whether the latest ended turn of a session began after the prompt of an open turn.

        Args:
            session: the session.
            prompt: the frame of the prompt of the open turn.
        """
        last = self.last_ends.get(session or "")
        return last is not None and last.turn.prompt_seq > prompt

    def open_requests(self, direction: Direction) -> list[CheckedMessage]:
        """Returns the open requests of one direction, the oldest first."""
        exchanges = self.connection.open_requests(direction)
        requests = (self.asked.get(exchange.id) for exchange in exchanges)
        return [request for request in requests if request is not None]

    def is_opening(self, session: str | None, *methods: str) -> bool:
        """Whether an unanswered request with one of these methods is to open a given session.

        Args:
            session: the id of the session.
            *methods: the methods.
        """
        requests = self.opening.values()
        return any(r.session == session and r.method in methods for r in requests)

    def request_of(self, answer: CheckedMessage) -> CheckedMessage | None:
        """Removes the request of an answer from `opening`. Returns the request, if it is known."""
        if (exchange := answer.answered) is None:
            return None
        self.opening.pop(exchange.id, None)
        return self.asked.get(exchange.id)

    # Changes

    def begin_partially(self) -> None:
        """Notes that messages may be missing. From now on, no name counts as unknown."""
        self.is_partial = True
        self.sessions.has_forgotten = self.terminals.has_forgotten = True
        for table in (self.listed, self.cursors, *self.answered.values()):
            table.has_forgotten = True

    def settle(self, exchange: int) -> CheckedMessage | None:
        """Marks a request as answered. Returns the request; None if it was not open."""
        self.opening.pop(exchange, None)
        return self.asked.remove(exchange)

    def peer_left(self, side: str, hung: Iterable[int]) -> None:
        """Notes that a side has left. Only the first call has an effect.

        Args:
            side: client or agent.
            hung: the frames of open requests whose receiver was silent for too long.
        """
        if self.left is None:
            self.left = side
            self.open_at_leaving, self.hung = self._all_open(), {*hung}

    def end(self, hung: Iterable[int], *, is_over: bool) -> None:
        """Notes the end of the recorded messages.

        Args:
            hung: the frames of open requests whose receiver was silent for too long.
            is_over: whether the recording has ended.
        """
        self.is_over = is_over
        if self.left is None:
            self.open_at_leaving, self.hung = self._all_open(), {*hung}

    def _all_open(self) -> list[CheckedMessage]:
        return sorted(self.asked.values(), key=lambda request: request.seq)
