"""What rules ask of a conversation, beside the state machine of the connection under it.

`Conversation.take` follows each message after the rules have looked at it. What does not parse
changes what it can, so that one mistake does not cause a chain of findings. All tables are bounded.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from attrs import define, field

from acp_proxy.conformance.checked_message import CLIENT, CheckedMessage
from acp_proxy.conformance.json_values import integer, items
from acp_proxy.conformance.remembered import Remembered
from acp_proxy.conformance.rule_memory import RuleMemory
from acp_proxy.conformance.schema_check import SchemaSet
from acp_proxy.conformance.session_record import (
    WORK,
    EndedTurn,
    PlanRecord,
    SessionRecord,
    TurnRecord,
    options_by_id,
    plan_of,
)
from acp_proxy.conformance.terminal_record import TerminalRecord
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Exchange, Turn
from acp_proxy.protocol.dialects import (
    CANCEL,
    CANCEL_REQUEST,
    DRAFT,
    FORK,
    INITIALIZE,
    OPENING,
    PERMISSION,
    PROMPT,
    V1,
    V2,
)
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.permissions import DENIED, options_of, read_answer
from acp_proxy.protocol.updates import RUNNING

_LOGIN = ("authenticate", "auth/login")
_CLOSING = ("session/close", "session/delete")
_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT


@define(eq=False)
class Peer:
    """What one side has announced in ``initialize``."""

    root: tuple[str, ...]
    """The members that may hold its capabilities."""
    announced: dict[str, Any] | None = None
    """Its params or result; None until it was seen."""
    seq: int | None = None

    def capability(self, *path: str) -> Any:
        """Returns what it announced at a path below its capabilities, or None."""
        for root in self.root:
            if isinstance(member(self.announced, root), dict):
                return member(self.announced, root, *path)
        return None

    def offers(self, *path: str) -> bool:
        """Whether it offers a capability: it is there, and neither false nor null."""
        return self.capability(*path) not in (None, False)

    @property
    def is_known(self) -> bool:
        """Whether it has announced anything, so that what is missing is not offered."""
        return self.announced is not None


@define(eq=False)
class Conversation:
    """A conversation as far as it has been read."""

    connection: Connection
    dialect: str | None
    client: Peer = field(factory=lambda: Peer(("clientCapabilities", "capabilities")))
    agent: Peer = field(factory=lambda: Peer(("agentCapabilities", "capabilities")))
    asked: Remembered[int, CheckedMessage] = field(
        factory=lambda: Remembered[int, CheckedMessage](10_000)
    )
    """The open requests by their exchange."""
    opening: dict[int, CheckedMessage] = field(factory=dict)
    """Those of them that open a session."""
    answered: dict[Direction, Remembered[str, int]] = field(
        factory=lambda: {one: Remembered[str, int](10_000) for one in Direction}
    )
    """Ids that were answered, by the direction of the request, with the frame of the answer."""
    sessions: Remembered[str, SessionRecord] = field(
        factory=lambda: Remembered[str, SessionRecord](1_000)
    )
    listed: Remembered[str, int] = field(factory=lambda: Remembered[str, int](10_000))
    """The sessions that an answer to session/list has named, with its frame."""
    cursors: Remembered[str, int] = field(factory=lambda: Remembered[str, int](10_000))
    """The cursors that such an answer has given."""
    last_ends: Remembered[str, EndedTurn] = field(factory=lambda: Remembered[str, EndedTurn](1_000))
    """The turn of each session that ended last, also where its opening was not recorded."""
    turns: dict[int, TurnRecord] = field(factory=dict)
    """Open turns by their number."""
    cancelling: dict[int, TurnRecord] = field(factory=dict)
    """Those of them that were cancelled."""
    terminals: Remembered[str, TerminalRecord] = field(
        factory=lambda: Remembered[str, TerminalRecord](1_000)
    )
    initialize: list[CheckedMessage] = field(factory=list)
    """The first two requests for it."""
    first: dict[Direction, int] = field(factory=dict)
    """The first message of each direction."""
    messages: dict[Direction, int] = field(factory=lambda: dict.fromkeys(Direction, 0))
    """How many messages went in each direction."""
    is_logged_in: bool = False
    """Whether a login has succeeded, and no logout has followed."""
    auth_required: CheckedMessage | None = None
    """The latest answer that asked for a login, until one is tried."""
    has_gap: bool = False
    """Whether something passed that was not recorded, so that nothing missing can be judged."""
    left: str | None = None
    """Who left first, client or agent, once one has."""
    left_seq: int | None = None
    is_over: bool = False
    """Whether the recording has ended; while it has not, what is missing may still come."""
    open_at_leaving: list[CheckedMessage] = field(factory=list)
    """The requests that were open when the first of the two left, or at the end."""
    hung: set[int] = field(factory=set)
    """Those of them by frame whose receiver had to act and was silent for too long."""
    ended_streams: dict[Direction, int] = field(factory=dict)
    """The events with which streams ended."""
    cut_lines: list[tuple[int, str]] = field(factory=list)
    """The lines that no newline ends, each with its sender."""
    messages_on_stderr: list[int] = field(factory=list)
    """The lines on stderr that look like messages."""
    own_schemas: SchemaSet | None = None
    """Those of a file that the user has named, which hold in place of them."""
    memory: RuleMemory = field(factory=RuleMemory)
    """What single rules keep."""

    # What rules ask

    def dialect_of(self, seen: CheckedMessage) -> str | None:
        """Returns the dialect of a message: a client asks for a version in the form of that one."""
        if seen.method in INITIALIZE and not seen.is_result and self.dialect != DRAFT:
            return V2 if seen.params.get("protocolVersion") == 2 else V1
        return self.dialect

    def schemas_of(self, seen: CheckedMessage) -> SchemaSet | None:
        """Returns the types of the messages of a dialect; None while that is not known."""
        if self.own_schemas is not None:
            return self.own_schemas
        dialect = self.dialect_of(seen)
        return None if dialect is None else SchemaSet.of_dialect(dialect)

    def is_of_its_type(self, seen: CheckedMessage) -> bool:
        """Whether a message is certainly of the type of its method, without other members."""
        if not seen.is_plain or (schemas := self.schemas_of(seen)) is None:
            return False
        exchange, method = seen.answered, seen.method or ""
        if exchange is not None:
            return schemas.fits(seen.direction.other, method, True, seen.value["result"])
        return "params" in seen.value and schemas.fits(
            seen.direction, method, False, seen.value["params"]
        )

    def peer(self, side: str) -> Peer:
        """Returns what the client or the agent has announced."""
        return self.client if side == CLIENT else self.agent

    def session(self, name: str | None) -> SessionRecord | None:
        """Returns what is known of a session, or None."""
        return None if name is None else self.sessions.get(name)

    def turn(self, number: int | None) -> TurnRecord | None:
        """Returns an open turn by its number, or None."""
        return None if number is None else self.turns.get(number)

    def turn_of(self, session: str | None) -> TurnRecord | None:
        """Returns the newest open turn of a session, or None."""
        found = self.connection.turn_of(session)
        return None if found is None else self.turns.get(found.id)

    def other_turn(self, session: str | None, number: int | None) -> TurnRecord | None:
        """Returns the newest open turn of a session but for one, or None.

        Args:
            session: the session.
            number: that of the turn that does not count.
        """
        open_ = self.connection.state.turns.get(session or "", ())
        found = next((one for one in reversed(open_) if one.id != number), None)
        return None if found is None else self.turns.get(found.id)

    def open_requests(self, direction: Direction, session: str | None) -> list[CheckedMessage]:
        """Returns the open requests of a session, the oldest first.

        Args:
            direction: that of the requests.
            session: the session that they belong to.
        """
        asked = [self.asked.get(one.id) for one in self.connection.open_requests(direction)]
        return [one for one in asked if one is not None and one.session == session]

    def is_opening(self, session: str | None, *methods: str) -> bool:
        """Whether a request that opens a session is open.

        Args:
            session: its session.
            *methods: the methods that count.
        """
        return any(
            one.session == session and one.method in methods for one in self.opening.values()
        )

    def request_of(self, answer: CheckedMessage) -> CheckedMessage | None:
        """Returns what a message answers, or None; from now on it is not open any more."""
        if (exchange := answer.answered) is None:
            return None
        self.opening.pop(exchange.id, None)
        return self.asked.get(exchange.id)

    # What passes

    def take(self, seen: CheckedMessage) -> list[EndedTurn]:
        """Follows a message, and returns the turns that it has ended."""
        self.first.setdefault(seen.direction, seen.seq)
        self.messages[seen.direction] += 1
        if seen.direction is _TO_CLIENT:
            for turn in self.cancelling.values():
                turn.from_agent += 1
        if seen.done.begun is not None:
            self._begin(seen, seen.done.begun)
        if seen.done.opened is not None:
            self.asked.add(seen.done.opened.id, seen)
            if seen.method in OPENING and len(self.opening) < 1_000:
                self.opening[seen.done.opened.id] = seen
            self._request(seen)
        elif seen.message.kind in ("response", "error"):
            self._answer(seen)
        elif seen.update_kind:
            self._update(seen)
        elif seen.method == CANCEL and seen.direction is _TO_AGENT:
            self._cancel(seen, seen.session, must_confirm=seen.session is not None)
        elif seen.method == CANCEL_REQUEST and (target := seen.done.cancelled) is not None:
            cancelled = self.turn(target.turn) if target.method == PROMPT else None
            if cancelled is not None:
                self._cancel_turn(cancelled, seen, must_confirm=False)
        return [ended for turn in seen.done.ended if (ended := self._end(seen, turn)) is not None]

    def peer_left(self, side: str, seq: int, hung: Iterable[int]) -> None:
        """Notes that a peer has left; only the first one counts.

        Args:
            side: client or agent.
            seq: the number of the event.
            hung: the frames of open requests whose receiver has been silent for too long.
        """
        if self.left is None:
            self.left, self.left_seq = side, seq
            self.open_at_leaving, self.hung = self._all_open(), {*hung}

    def end(self, hung: Iterable[int], *, is_over: bool) -> None:
        """Notes that nothing more is recorded.

        Args:
            hung: as in `peer_left`.
            is_over: whether the recording has ended.
        """
        self.is_over = is_over
        if self.left is None:
            self.open_at_leaving, self.hung = self._all_open(), {*hung}

    def _all_open(self) -> list[CheckedMessage]:
        return sorted(self.asked.values(), key=lambda one: one.seq)

    def _begin(self, seen: CheckedMessage, begun: Turn) -> None:
        opened = seen.done.opened
        exchange = None if opened is None else opened.id
        turn = TurnRecord(begun.id, begun.session, seen.seq, exchange)
        session, older = self.session(begun.session), self.other_turn(begun.session, begun.id)
        if older is not None:
            turn.was_cancelling = older.cancel_seq is not None or older.was_cancelling
        turn.is_joining = older is not None or session is None or session.may_be_running
        self.turns[begun.id] = turn
        if session is not None:
            session.had_prompt = True

    def _end(self, seen: CheckedMessage, ended: Turn) -> EndedTurn | None:
        turn = self.turns.pop(ended.id, None)
        self.cancelling.pop(ended.id, None)
        if turn is None:
            return None
        code = seen.message.error_code
        reason = seen.message.stop_reason
        is_answer = seen.answered is not None
        end = EndedTurn(turn, seen.seq, seen.t_ns, reason, seen.is_error, code, is_answer)
        self.last_ends.add(turn.session or "", end)
        return end

    def _cancel(self, seen: CheckedMessage, session: str | None, *, must_confirm: bool) -> None:
        open_ = self.connection.state.turns
        every = [*open_.values()] if session is None else [open_.get(session, [])]
        for one in chain.from_iterable(every):
            if (turn := self.turns.get(one.id)) is not None:
                self._cancel_turn(turn, seen, must_confirm=must_confirm)

    def _cancel_turn(self, turn: TurnRecord, seen: CheckedMessage, *, must_confirm: bool) -> None:
        turn.cancel(seen.seq, seen.t_ns, must_confirm=must_confirm)
        self.cancelling[turn.id] = turn

    def _request(self, seen: CheckedMessage) -> None:
        method = seen.method
        if method in INITIALIZE and seen.direction is _TO_AGENT:
            if len(self.initialize) < 2:
                self.initialize.append(seen)
            if not self.client.is_known and seen.value is not None:
                self.client.announced, self.client.seq = seen.params, seen.seq
        elif method in (*_CLOSING, CANCEL) and seen.direction is _TO_AGENT:
            self._cancel(seen, seen.session, must_confirm=False)
        elif method in _LOGIN:
            self.auth_required = None
        elif method == PERMISSION:
            session, call_id = self.session(seen.session), seen.message.tool_call
            if session is not None and call_id is not None:
                call = session.call(call_id, seen.seq, self.turn(seen.done.turn))
                call.refused_seq = None
                _set_status(call, seen)

    def _answer(self, seen: CheckedMessage) -> None:
        exchange, request = seen.answered, seen.request
        if exchange is None:
            return
        self.asked.remove(exchange.id)
        self.answered[seen.direction.other].add(exchange.rpc_id or "null", seen.seq)
        if seen.is_error:
            if seen.message.error_code == (-32001 if self.dialect == DRAFT else -32000):
                self.auth_required = seen
            return
        method = exchange.method or ""
        if method in INITIALIZE:
            if seen.value is not None:
                self.agent.announced, self.agent.seq = seen.result, seen.seq
        elif method in OPENING:
            self._open(seen, exchange, request)
        elif method == "session/list":
            self._listed(seen)
        elif method in _CLOSING:
            if (closed := self.session(exchange.session)) is not None:
                closed.closed_seq = seen.seq
        elif method in _LOGIN:
            self.is_logged_in = seen.result.get("success") is not False
        elif method in ("logout", "auth/logout"):
            self.is_logged_in = False
        elif method == "session/set_mode":
            self._mode_set(exchange, request)
        elif method == "session/set_config_option":
            if (session := self.session(exchange.session)) is not None:
                _set_options(session, seen.result, seen)
        elif method == PERMISSION:
            self._permission_answered(seen, exchange)
        elif method.startswith("terminal/"):
            self._terminal_answered(seen, exchange, request)

    def _open(
        self, seen: CheckedMessage, exchange: Exchange, request: CheckedMessage | None
    ) -> None:
        name, method = seen.message.session or exchange.session, exchange.method or ""
        if name is None:
            return
        params = request.params if request is not None else {}
        known = None if method in ("session/new", FORK) else self.session(name)
        session = known or SessionRecord(name, method, seen.seq)
        session.closed_seq, session.had_prompt = None, False
        session.opened, session.seq = method, seen.seq
        session.is_readable = seen.value is not None
        cwd, others = (
            params.get("cwd", params.get("workingDirectory")),
            params.get("additionalDirectories"),
        )
        if isinstance(cwd, str):
            session.cwd = cwd
            extra = [one for one in items(others, None) if isinstance(one, str)]
            session.roots = [cwd, *extra]
        session.servers = items(params.get("mcpServers"))
        modes = seen.result.get("modes")
        if isinstance(modes, dict):
            session.modes, session.mode = _ids(modes.get("availableModes")), None
            if isinstance(current := modes.get("currentModeId"), str):
                session.mode = current
        _set_options(session, seen.result, seen)
        self.sessions.add(name, session)

    def _listed(self, seen: CheckedMessage) -> None:
        for one in items(seen.result.get("sessions"), None):
            if isinstance(name := member(one, "sessionId"), str):
                self.listed.add(name, seen.seq)
        if isinstance(cursor := seen.result.get("nextCursor"), str):
            self.cursors.add(cursor, seen.seq)

    def _mode_set(self, exchange: Exchange, request: CheckedMessage | None) -> None:
        params = request.params if request is not None else {}
        wanted = params.get("modeId", params.get("mode"))
        if (session := self.session(exchange.session)) is not None and isinstance(wanted, str):
            session.mode = wanted

    def _permission_answered(self, seen: CheckedMessage, exchange: Exchange) -> None:
        session, request = self.session(exchange.session), seen.request
        if request is None:
            return
        answer = read_answer(options_of(request.value), seen.value)
        turn = self.turn(exchange.turn)
        is_unasked = answer.is_cancelled and not exchange.cancelled
        if turn is not None and is_unasked and turn.cancel_seq is None and turn.dropped is None:
            turn.dropped = request.seq, seen.seq
        if session is not None and exchange.tool_call is not None and answer.decision == DENIED:
            call = session.calls.get(exchange.tool_call)
            if call is not None:
                call.refused_seq = seen.seq

    def _terminal_answered(
        self, seen: CheckedMessage, exchange: Exchange, request: CheckedMessage | None
    ) -> None:
        method = exchange.method
        if method == "terminal/create":
            if (name := seen.message.terminal) is not None:
                limit = request.params.get("outputByteLimit") if request is not None else None
                record = TerminalRecord(name, exchange.session, seen.seq, exchange.turn)
                record.limit = integer(limit)
                self.terminals.add(name, record)
            return
        terminal = self.terminals.get(exchange.terminal or "")
        if terminal is None:
            return
        if method == "terminal/output" and self.dialect == V1:
            terminal.read(seen.seq, seen.result)
        elif method == "terminal/wait_for_exit":
            terminal.ended(seen.seq, seen.result)
        elif method == "terminal/release":
            terminal.release_seq = terminal.release_seq or seen.seq

    def _progress(self, seen: CheckedMessage) -> None:
        """Follows what an update of v2 says of the open turns of its session."""
        kind = seen.update_kind
        for turn in self.turns.values():
            if turn.session != seen.session:
                continue
            if kind in ("user_message", "user_message_chunk"):
                turn.has_user_message = True
            elif kind == "state_update":
                turn.is_running |= seen.update.get("state") != "idle"
            elif kind in WORK and turn.output_seq is None:
                turn.output_seq = seen.seq

    def _update(self, seen: CheckedMessage) -> None:
        session, turn = self.session(seen.session), self.turn(seen.done.turn)
        kind, update = seen.update_kind, seen.update
        if turn is not None:
            turn.updates += 1
            turn.work += kind in WORK
            if self.dialect == V2:
                self._progress(seen)
        if session is None:
            return
        if (call_id := seen.message.tool_call) is not None:
            call = session.call(call_id, seen.seq, turn)
            if kind == "tool_call" and call.announced_seq is None:
                call.announced_seq = seen.seq
            for item in items(update.get("content"), 100):
                terminal = member(item, "terminalId")
                if isinstance(terminal, str) and len(call.terminals) < 100:
                    call.terminals.add(terminal)
            _set_status(call, seen)
        elif kind in ("plan", "plan_update"):
            _set_plan(session, seen)
        elif kind in ("available_commands_update", "available_commands"):
            found = update.get("availableCommands", update.get("commands"))
            session.commands = _ids(found, "name")
        elif kind == "current_mode_update":
            mode = update.get("currentModeId", update.get("currentMode", update.get("modeId")))
            session.mode = mode if isinstance(mode, str) else session.mode
        elif kind == "config_option_update":
            _set_options(session, update, seen)
        elif kind == "state_update":
            state = update.get("state")
            session.state = state if isinstance(state, str) else session.state
        elif isinstance(message_id := update.get("messageId"), str):
            before = session.message_ids.get(kind)
            if before is not None and before != message_id:
                session.past_message_ids.add(f"{kind} {before}", None)
            session.message_ids[kind] = message_id


def _set_status(call: Any, seen: CheckedMessage) -> None:
    if (status := seen.message.status) is not None:
        call.status, call.status_seq = status, seen.seq
    elif call.status is None and seen.update_kind == "tool_call":
        call.status, call.status_seq = "pending", seen.seq  # what v1 says of one without a status


def _set_options(session: SessionRecord, holder: dict[str, Any], seen: CheckedMessage) -> None:
    found = options_by_id(holder.get("configOptions"))
    if found is not None:
        session.options, session.options_seq, session.options_ns = found, seen.seq, seen.t_ns


def _set_plan(session: SessionRecord, seen: CheckedMessage) -> None:
    name, entries = plan_of(seen.update)
    new: dict[str, str | None] = {}
    for one in entries[:1000]:
        text = member(one, "content") or member(one, "description")
        status = member(one, "status")
        if isinstance(text, str):
            new[text] = status if isinstance(status, str) and text not in new else None
    before = session.plans.get(name)
    left_out: dict[str, int] = {}
    if (
        before is not None
        and before.turn == seen.done.turn
        and not new.keys().isdisjoint(before.entries)
    ):
        gone = {text: seen.seq for text, status in before.entries.items() if status in RUNNING}
        left_out = {
            text: seq for text, seq in {**gone, **before.left_out}.items() if text not in new
        }
    session.plans.add(name, PlanRecord(seen.seq, seen.done.turn, new, left_out))


def _ids(values: Any, name: str = "id") -> list[str]:
    every = items(values, 10_000)
    return [found for one in every if isinstance(found := member(one, name), str)]
