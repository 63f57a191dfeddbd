"""Records of sessions, turns, tool calls, plans and terminals for the rules."""

from typing import Any, Generic, TypeVar

from attrs import define, field

from acp_proxy.check.checked_message import CheckedMessage
from acp_proxy.protocol.dialects import FORK
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.tool_calls import CallStatus
from acp_proxy.protocol.updates import RUNNING

NAMING = ("title", "rawInput")
"""The members of a tool call that describe it to people."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Remembered(Generic[_Key, _Value]):
    """A table of limited size. A full table drops its oldest entry.

    Args:
        most: the largest number of entries.

    Attributes:
        has_forgotten: whether an entry was dropped. If so, a missing key may have been in the
            table.
    """

    def __init__(self, most: int = 1_000) -> None:
        self._entries: dict[_Key, _Value] = {}
        self._most = most
        self.has_forgotten = False

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: _Key) -> _Value | None:
        """Returns the value of a key; None for a missing key."""
        return self._entries.get(key)

    def add(self, key: _Key, value: _Value) -> None:
        """Adds an entry, or replaces the value of a key.

        Args:
            key: the key.
            value: the value of the key.
        """
        self._entries[key] = value
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]
            self.has_forgotten = True

    def remove(self, key: _Key) -> _Value | None:
        """Removes an entry and returns its value; None for a missing key."""
        return self._entries.pop(key, None)

    def values(self) -> list[_Value]:
        """Returns the values, the oldest first."""
        return [*self._entries.values()]

    def keys(self) -> list[_Key]:
        """Returns the keys, the oldest first."""
        return [*self._entries]

    def lacks(self, key: _Key) -> bool:
        """Whether a key was certainly never added."""
        return key not in self._entries and not self.has_forgotten


@define(eq=False)
class CallRecord(CallStatus):
    """The record of a tool call."""

    id: str = ""
    seq: int = 0
    """The frame that first named the call."""
    has_run: bool = False
    """Whether the call was ever in progress."""
    announced_seq: int | None = None
    """The frame of the latest ``tool_call`` update with the id of this call; None if there was no
    such update. An earlier call may have had the same id."""
    is_reported: bool = False
    """Whether an update named the call. (A permission request does not count.)"""
    turn: int | None = None
    terminals: set[str] = field(factory=set)
    """The ids of terminals in the content of the call, at most a hundred."""
    refused_seq: int | None = None
    """The frame that refused permission; None if the agent has requested permission again."""
    asked_seq: int | None = None
    """The frame of the open permission request for the call; None if no such request is open."""
    named: dict[str, int] = field(factory=dict)
    """For each member of `NAMING` (the title and the input), the latest frame with a value that is
    not empty."""

    def take(self, message: CheckedMessage, said: Any) -> None:
        """Applies a message about the call: sets the status, and notes a title or an input.

        Args:
            message: an update or a permission request.
            said: the members that describe the tool call.
        """
        self.named |= {name: message.seq for name in NAMING if member(said, name)}
        status = message.parsed.status
        if not self.status and message.update_kind == "tool_call":
            status = status or "pending"  # the default in v1
        self.take_status(status, message.seq)
        self.has_run |= self.status == "in_progress"


@define(eq=False)
class TurnRecord:
    """An open turn."""

    id: int
    session: str | None
    prompt_seq: int
    exchange: int | None
    asked: str = ""
    """The beginning of the prompt's text."""
    cancel_seq: int | None = None
    """The frame that cancels the turn: session/cancel, $/cancel_request or session/close."""
    cancel_ns: int = 0
    must_confirm: bool = False
    """Whether session/cancel cancelled the turn. If so, the stop reason must be "cancelled"."""
    was_cancelling: bool = False
    """Whether an older, cancelled turn of the session was still open when this turn began."""
    dropped: tuple[int, int] | None = None
    """The first permission request of the turn that was answered as cancelled before the turn was
    cancelled: the frame of the request, and the frame of the answer."""
    from_agent: int = 0
    """The number of messages of the agent since the cancel. Messages in other sessions count,
    too."""
    updates: int = 0
    """The number of session updates in the turn."""
    has_text: bool = False
    """Whether the agent has sent, or may have sent, a chunk of a message."""
    calls: dict[tuple[str, int], CallRecord] = field(factory=dict)
    """The first thousand tool calls of the turn, by id and first frame."""
    is_joining: bool = False
    """In v2: whether the session may have been at work before the turn."""
    is_running: bool = False
    """In v2: whether a state_update has reported work."""
    output_seq: int | None = None
    """In v2: the frame of the agent's first message, thought, tool call or plan in the turn."""
    has_user_message: bool = False
    """In v2: whether the agent has reported the prompt."""

    def cancel(self, seq: int, t_ns: int, *, must_confirm: bool) -> None:
        """Notes that a message cancels the turn. Only session/cancel replaces an earlier cancel.

        Args:
            seq: the frame of the message.
            t_ns: the time of the message.
            must_confirm: whether the message is session/cancel.
        """
        if self.cancel_seq is None or (must_confirm and not self.must_confirm):
            self.cancel_seq, self.cancel_ns, self.must_confirm = seq, t_ns, must_confirm
            self.from_agent = 0


@define(eq=False)
class EndedTurn:
    """The record of a turn that has ended."""

    turn: TurnRecord
    seq: int
    """The frame that ended the turn."""
    t_ns: int
    stop_reason: str | None
    is_error: bool
    """Whether the answer to the prompt was an error."""
    error_code: int | None = None
    is_answer: bool = False
    """Whether the answer to the prompt ended the turn. (In v2, an update ends the turn.)"""


@define(eq=False)
class PlanRecord:
    """The latest version of a plan."""

    seq: int
    turn: int | None
    entries: dict[str, str | None]
    """The status of each entry, by the entry's text; None if several entries have the same text."""
    left_out: dict[str, int]
    """Unfinished entries that an update in the same turn left out, each with the frame of the
    update."""


@define(eq=False)
class SessionRecord:
    """The record of a session."""

    id: str
    opened: str
    """The method that introduced the session, such as session/new, session/load or session/list."""
    seq: int
    """The frame that opened the session."""
    is_readable: bool = True
    """Whether the answer that opened the session could be decoded. If not, no member counts as
    missing."""
    roots: list[str] = field(factory=list)
    """The working directory and the additional directories of the session."""
    servers: list[Any] = field(factory=list)
    """The MCP servers that the client named for the session."""
    modes: list[str] | None = None
    """The ids of the session's modes; None if no modes were announced."""
    has_models: bool = False
    """Whether the answer that opened the session listed models. (Some v1 versions did this.)"""
    options: dict[str, dict[str, Any]] | None = None
    """The session's configuration options by id; None if no options were announced."""
    options_seq: int | None = None
    """The latest frame that listed the options."""
    options_ns: int = 0
    may_be_cancelled: bool = False
    """Whether the client may cancel the work of a child session."""
    commands: list[str] | None = None
    """The names of the session's slash commands; None if no commands were announced."""
    plans: Remembered[str, PlanRecord] = field(factory=lambda: Remembered[str, PlanRecord](100))
    """The plans by id. In v1, the only plan has no id."""
    calls: Remembered[str, CallRecord] = field(factory=lambda: Remembered[str, CallRecord](10_000))
    had_prompt: bool = False
    """Whether a prompt was sent since the session was opened."""
    closed_seq: int | None = None
    state: str | None = None
    """In v2: the latest state: running, idle or requires_action."""
    message_ids: dict[str, str] = field(factory=dict)
    """For each kind of chunk, the latest message id."""
    past_message_ids: Remembered[str, None] = field(factory=Remembered)
    """The ids of earlier messages. Each key is the kind of the message's chunks, a blank, and the
    id."""

    @classmethod
    def of_unseen(cls, name: str, seq: int) -> "SessionRecord":
        """Returns a new record for a session whose opening may not have been recorded.

        Args:
            name: the id of the session.
            seq: the first frame that names the session.
        """
        session = cls(name, "", seq, is_readable=False, had_prompt=True)
        session.calls.has_forgotten = True
        return session

    @property
    def may_be_running(self) -> bool:
        """In v2: whether the session is, or may be, at work."""
        is_new = self.opened in ("session/new", FORK)
        return not is_new if self.state is None else self.state != "idle"

    def call(self, call_id: str, message: CheckedMessage, turn: TurnRecord | None) -> CallRecord:
        """Returns the record of a tool call. Makes a new record if ``message`` begins the call.

        Args:
            call_id: the id of the call.
            message: the message that names the call.
            turn: the turn of the message.
        """
        known = self.calls.get(call_id)
        if known is None or message.transition.begins_call:
            announced_seq = None if known is None else known.announced_seq
            number = None if turn is None else turn.id
            known = CallRecord(
                id=call_id, seq=message.seq, announced_seq=announced_seq, turn=number
            )
            self.calls.add(call_id, known)
        if turn is not None and len(turn.calls) < 1_000:
            turn.calls[call_id, known.seq] = known
        return known

    def take_plan(self, update: dict[str, Any], seq: int, turn: int | None) -> None:
        """Replaces a plan by its new version. Notes the unfinished entries that the update omits.

        Args:
            update: the members of the update.
            seq: the frame of the update.
            turn: the turn of the update.
        """
        name, entries = plan_of(update)
        new: dict[str, str | None] = {}
        for entry in entries[:1000]:
            text = member(entry, "content") or member(entry, "description")
            status = member(entry, "status")
            if isinstance(text, str):
                new[text] = status if isinstance(status, str) and text not in new else None
        before = self.plans.get(name)
        gone: dict[str, int] = {}
        if before is not None and before.turn == turn and not new.keys().isdisjoint(before.entries):
            gone = {text: seq for text, status in before.entries.items() if status in RUNNING}
            gone |= before.left_out
        left_out = {text: since for text, since in gone.items() if text not in new}
        self.plans.add(name, PlanRecord(seq, turn, new, left_out))

    def take_options(self, holder: dict[str, Any], message: CheckedMessage) -> None:
        """Sets the configuration options, if a message lists them.

        Args:
            holder: the result or the update that may list them.
            message: the message.
        """
        options = options_by_id(holder.get("configOptions"))
        if options is not None:
            self.options, self.options_seq, self.options_ns = options, message.seq, message.t_ns


def options_by_id(options: Any) -> dict[str, dict[str, Any]] | None:
    """Returns the options in a list, by ``configId`` or ``id``; None if the value is not a list."""
    if not isinstance(options, list):
        return None
    objects = [option for option in options[:1000] if isinstance(option, dict)]
    named = [(option.get("configId", option.get("id")), option) for option in objects]
    return {name: option for name, option in named if isinstance(name, str)}


def plan_of(update: dict[str, Any]) -> tuple[str, list[Any]]:
    """Returns the id of a plan (empty without an id), and its entries.

    Args:
        update: the members of an update in any dialect.
    """
    plan = update.get("plan")
    holder = plan if isinstance(plan, dict) else update
    name, entries = holder.get("planId"), holder.get("entries", holder.get("steps"))
    return name if isinstance(name, str) else "", entries if isinstance(entries, list) else []


_LONGEST = 1 << 20
"""The largest number of characters of output that are kept."""


@define(eq=False)
class TerminalRecord:
    """A terminal that the client has created, or an unknown terminal in a message of the agent."""

    id: str
    session: str | None
    seq: int
    """The frame that created the terminal."""
    turn: int | None = None
    """The turn in which the terminal was created; None outside of turns."""
    limit: int | None = None
    """The agent's limit for the output, in bytes; None for no limit."""
    output: str | None = None
    """The latest output; None if no output was read, or if it is too long to be kept."""
    output_seq: int | None = None
    was_truncated: bool = False
    exit: dict[str, Any] | None = None
    """The first exit status that the client reported."""
    exit_seq: int | None = None
    release_seq: int | None = None
    """The frame that released the terminal."""
    is_created: bool = True
    """Whether the client introduced the terminal's id. If not, the agent used an unknown id."""
    release_asked_seq: int | None = None
    """The first frame that requests, or may request, the release of the terminal."""

    @property
    def is_released(self) -> bool:
        """Whether the terminal is released, or its release is requested."""
        return self.release_seq is not None or self.release_asked_seq is not None

    def read(self, seq: int, result: dict[str, Any]) -> None:
        """Notes the output in an answer to ``terminal/output``.

        Args:
            seq: the frame of the answer.
            result: the result in the answer.
        """
        output, status = result.get("output"), result.get("exitStatus")
        is_kept = isinstance(output, str) and len(output) <= _LONGEST
        self.output = output if is_kept else None
        self.output_seq = seq
        self.was_truncated = self.was_truncated or result.get("truncated") is True
        if isinstance(status, dict):
            self.ended(seq, status)

    def ended(self, seq: int, status: dict[str, Any]) -> None:
        """Notes an exit status. Does nothing if an exit status was reported before.

        Args:
            seq: the frame that reports the status.
            status: the exit code and the signal.
        """
        if self.exit is None:
            self.exit, self.exit_seq = status, seq
