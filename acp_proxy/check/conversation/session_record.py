"""What rules ask of a session, its turns, tool calls and plan, and of a terminal."""

from typing import Any, Generic, TypeVar

from attrs import define, field

from acp_proxy.check.checked_message import CheckedMessage
from acp_proxy.protocol.dialects import FORK
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.tool_calls import CallStatus
from acp_proxy.protocol.updates import RUNNING

NAMING = ("title", "rawInput")
"""Members by which a person knows a tool call."""
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Remembered(Generic[_Key, _Value]):
    """A table that forgets its oldest entry when it has too many, so that memory is flat.

    Args:
        most: how many entries it keeps.

    Attributes:
        has_forgotten: whether an entry was lost, so that a key that is missing may have been known.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._entries: dict[_Key, _Value] = {}
        self._most = most
        self.has_forgotten = False

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: _Key) -> _Value | None:
        """Returns the value of a key, or None."""
        return self._entries.get(key)

    def add(self, key: _Key, value: _Value) -> None:
        """Adds an entry, or replaces its value.

        Args:
            key: what to remember.
            value: what is known of it.
        """
        self._entries[key] = value
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]
            self.has_forgotten = True

    def remove(self, key: _Key) -> _Value | None:
        """Removes an entry, and returns its value, or None."""
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
    """A tool call."""

    id: str = ""
    seq: int = 0
    """Where it was named first."""
    has_run: bool = False
    """Whether it was in progress at any time."""
    announced_seq: int | None = None
    """The last ``tool_call`` with its id, also of an earlier call; None if there was none."""
    is_reported: bool = False
    """Whether an update named it, not only a request for permission."""
    turn: int | None = None
    terminals: set[str] = field(factory=set)
    """The terminals that it has shown, of the first hundred."""
    refused_seq: int | None = None
    """The answer that refused permission, unless the agent has asked again since."""
    asked_seq: int | None = None
    """The permission request for it that is open."""
    named: dict[str, int] = field(factory=dict)
    """The latest frames in which it had a title and an input that were not empty."""


@define(eq=False)
class TurnRecord:
    """An open turn."""

    id: int
    session: str | None
    prompt_seq: int
    exchange: int | None
    asked: str = ""
    """The beginning of what its prompt says."""
    cancel_seq: int | None = None
    """The first message that cancels it: session/cancel, $/cancel_request or session/close."""
    cancel_ns: int = 0
    must_confirm: bool = False
    """Whether that is session/cancel, which its stop reason must confirm."""
    was_cancelling: bool = False
    """Whether an older turn of the session was cancelled and still open when it began."""
    dropped: tuple[int, int] | None = None
    """The first permission request, and its answer, that says that the turn was cancelled, though
    nothing had cancelled it."""
    from_agent: int = 0
    """Messages of the agent since the cancel, in any session."""
    updates: int = 0
    """Session updates."""
    has_text: bool = False
    """Whether the agent has sent a piece of a message, or may have."""
    calls: dict[tuple[str, int], CallRecord] = field(factory=dict)
    """The first thousand tool calls that it has named, by their id and first frame."""
    is_joining: bool = False
    """v2: its session may have been at work already when it began."""
    is_running: bool = False
    """v2: a state_update said so."""
    output_seq: int | None = None
    """v2: the first message, thought, tool call or plan of the agent in it."""
    has_user_message: bool = False
    """v2: the agent has reported the prompt."""

    def cancel(self, seq: int, t_ns: int, *, must_confirm: bool) -> None:
        """Notes what cancels it; session/cancel counts more than what came before it.

        Args:
            seq: the message.
            t_ns: its time.
            must_confirm: whether it is session/cancel.
        """
        if self.cancel_seq is None or (must_confirm and not self.must_confirm):
            self.cancel_seq, self.cancel_ns, self.must_confirm = seq, t_ns, must_confirm
            self.from_agent = 0


@define(eq=False)
class EndedTurn:
    """A turn that is over."""

    turn: TurnRecord
    seq: int
    """The message that ended it."""
    t_ns: int
    stop_reason: str | None
    is_error: bool
    """Whether the prompt was answered with an error."""
    error_code: int | None = None
    is_answer: bool = False
    """Whether the answer to the prompt ended it; in v2 an update does."""


@define(eq=False)
class PlanRecord:
    """The latest update of a plan."""

    seq: int
    turn: int | None
    entries: dict[str, str | None]
    """The statuses of its entries by what they say; None if several say the same."""
    left_out: dict[str, int]
    """Entries that were not done when an update of the same turn left them out, with its frame."""


@define(eq=False)
class SessionRecord:
    """A session."""

    id: str
    opened: str
    """The method by which it is known: session/new, session/load, session/list and so on."""
    seq: int
    """The answer that opened it."""
    is_readable: bool = True
    """Whether that answer could be decoded, so that what it lacks was not announced."""
    roots: list[str] = field(factory=list)
    """Its working directory and the additional ones."""
    servers: list[Any] = field(factory=list)
    """The MCP servers that its client named."""
    modes: list[str] | None = None
    """The ids of its modes; None if it announced none."""
    has_models: bool = False
    """Whether the agent listed models as it opened it, which v1 had for a time."""
    options: dict[str, dict[str, Any]] | None = None
    """Its configuration options by id, None if it announced none."""
    options_seq: int | None = None
    """The message that named them last."""
    options_ns: int = 0
    may_be_cancelled: bool = False
    """Of a child session: whether the agent has said that the client may cancel its work."""
    commands: list[str] | None = None
    """The names of its slash commands, None if it announced none."""
    plans: Remembered[str, PlanRecord] = field(factory=lambda: Remembered[str, PlanRecord](100))
    """By their id; v1 has one plan, without an id."""
    calls: Remembered[str, CallRecord] = field(factory=lambda: Remembered[str, CallRecord](10_000))
    had_prompt: bool = False
    """Whether a prompt was sent since it was opened."""
    closed_seq: int | None = None
    state: str | None = None
    """v2: running, idle or requires_action, as the latest state_update said."""
    message_ids: dict[str, str] = field(factory=dict)
    """The latest message id of each kind of piece."""
    past_message_ids: Remembered[str, None] = field(factory=lambda: Remembered[str, None](1_000))
    """The ids of messages that another one has followed, each with its kind before it."""

    @classmethod
    def of_unseen(cls, name: str, seq: int) -> "SessionRecord":
        """Returns a session whose opening may be missing, and what was said of it since then.

        Args:
            name: its id.
            seq: the first message that names it.
        """
        session = cls(name, "", seq, is_readable=False, had_prompt=True)
        session.calls.has_forgotten = True
        return session

    @property
    def may_be_running(self) -> bool:
        """v2: Whether it is at work, or may be, since its state is not known."""
        is_new = self.opened in ("session/new", FORK)
        return not is_new if self.state is None else self.state != "idle"

    def call(self, call_id: str, message: CheckedMessage, turn: TurnRecord | None) -> CallRecord:
        """Returns the record of a tool call; makes a new record if the call begins here.

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
        """Takes an update of a plan.

        Args:
            update: the members of the update.
            seq: its frame.
            turn: the turn of that frame.
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


def options_by_id(options: Any) -> dict[str, dict[str, Any]] | None:
    """Returns configuration options by their id, as v1 or v2 names it; None if they are no list."""
    if not isinstance(options, list):
        return None
    objects = [option for option in options[:1000] if isinstance(option, dict)]
    named = [(option.get("configId", option.get("id")), option) for option in objects]
    return {name: option for name, option in named if isinstance(name, str)}


def plan_of(update: dict[str, Any]) -> tuple[str, list[Any]]:
    """Returns the id of a plan, empty if it has none, and the entries of its update.

    Args:
        update: the members of an update of any dialect.
    """
    plan = update.get("plan")
    holder = plan if isinstance(plan, dict) else update
    name, entries = holder.get("planId"), holder.get("entries", holder.get("steps"))
    return name if isinstance(name, str) else "", entries if isinstance(entries, list) else []


_LONGEST = 1 << 20
"""Characters of output that are kept, to be compared with what is read later."""


@define(eq=False)
class TerminalRecord:
    """A terminal that the client has created, or one that is only named (v2)."""

    id: str
    session: str | None
    seq: int
    """The answer that created it."""
    turn: int | None = None
    """The turn in which it was created."""
    limit: int | None = None
    """Bytes of output that are kept, if the agent set a limit."""
    output: str | None = None
    """What was read of it last; None if nothing was, or if that is too long to be kept."""
    output_seq: int | None = None
    was_truncated: bool = False
    exit: dict[str, Any] | None = None
    """The exit status that the client reported first."""
    exit_seq: int | None = None
    release_seq: int | None = None
    """The answer that released it."""
    is_created: bool = True
    """Whether the client has named it; else the agent used a name that it was not given."""
    release_asked_seq: int | None = None
    """The first message by which the agent has asked to release it, or may have meant it."""

    @property
    def is_released(self) -> bool:
        """Whether the agent has released it, or has asked to."""
        return self.release_seq is not None or self.release_asked_seq is not None

    def read(self, seq: int, result: dict[str, Any]) -> None:
        """Takes the answer to ``terminal/output``.

        Args:
            seq: its frame.
            result: its result.
        """
        output, status = result.get("output"), result.get("exitStatus")
        is_kept = isinstance(output, str) and len(output) <= _LONGEST
        self.output = output if is_kept else None
        self.output_seq = seq
        self.was_truncated = self.was_truncated or result.get("truncated") is True
        if isinstance(status, dict):
            self.ended(seq, status)

    def ended(self, seq: int, status: dict[str, Any]) -> None:
        """Takes an exit status.

        Args:
            seq: the frame that reports it.
            status: its exit code and signal.
        """
        if self.exit is None:
            self.exit, self.exit_seq = status, seq
