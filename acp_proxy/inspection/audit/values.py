"""The values of `inspect audit`, whose members `docs/json.md` documents for programs."""

from enum import StrEnum

from attrs import define, field, frozen

from acp_proxy.recording import Recording


class ActionKind(StrEnum):
    """What an action does."""

    READ = "read"
    SEARCH = "search"
    WRITE = "write"
    DELETE = "delete"
    MOVE = "move"
    RUN = "run"
    FETCH = "fetch"
    OTHER = "other"
    """Another tool, or one whose kind the agent did not say."""


ASKED_FOR = frozenset(
    {ActionKind.WRITE, ActionKind.DELETE, ActionKind.MOVE, ActionKind.RUN, ActionKind.FETCH}
)
"""Kinds of actions for which agents usually ask permission."""


class Source(StrEnum):
    """Who says that an action was done."""

    CLIENT = "client"
    """The agent asked its client to do it, so that the client's answer says what became of it."""
    CLAIMED = "claimed"
    """The agent alone says so, in a tool call or a permission request."""


class ActionStatus(StrEnum):
    """What became of an action."""

    DONE = "done"
    STARTED = "started"
    """The client has started a command; the recording does not say how it ended."""
    FAILED = "failed"
    REFUSED = "refused"
    """Permission was refused, and nothing says that it was done nevertheless."""
    CANCELLED = "cancelled"
    UNANSWERED = "unanswered"
    """The client has not answered the request, or the permission request."""
    UNKNOWN = "unknown"
    """The agent announced it, and did not say what became of it."""


class PathPlace(StrEnum):
    """Where a path is, by its text alone."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"
    """It depends on what the recording does not have: the session's directory, that of a user, or
    whether upper and lower case matter."""


@frozen
class AuditedPath:
    """A file or a directory that an action is about."""

    path: str
    """As it was sent, cut to 2,000 characters."""
    shown: str
    """Relative to the session's directory if it is inside, else without ``.`` and ``..``."""
    place: PathPlace
    credential: bool = False
    """Whether its name is one that files with credentials usually have."""
    operation: str | None = None
    """What a diff does with it, if the agent says so: add, modify, delete, move, copy."""


@define
class AuditedRequest:
    """A request with which the agent had its client do something."""

    seq: int
    method: str
    answer_seq: int | None = None
    outcome: str = "unanswered"
    """result, error, cancelled or unanswered."""
    error: str | None = None
    """The code and the message of an error."""
    paths: list[AuditedPath] = field(init=False, factory=list)
    """What it is about; not in the JSON, as it has no argument."""


@define
class AuditedPermission:
    """A permission request, and how the client answered it."""

    seq: int
    title: str
    """What the agent asked for, in its own words."""
    answer_seq: int | None = None
    decision: str = "unanswered"
    """granted, denied, cancelled, ambiguous, error, unanswered, or what else the answer has."""
    option: str | None = None
    """The kind of the chosen option; in the draft the scope of what is granted."""
    name: str | None = None
    """The name of the chosen option."""
    waited_ns: int | None = None
    """From the request to the answer."""
    lasting: bool = False
    """Whether the answer was to allow more than this once."""
    paths: list[AuditedPath] = field(factory=list)
    """What was asked for, as far as it was known then."""
    command: str | None = None


@frozen
class LastingGrant:
    """An earlier answer that may have covered an action for which permission was not asked."""

    seq: int
    """Of the permission request."""
    answer_seq: int
    option: str | None
    name: str | None
    title: str


@define(eq=False)
class Action:
    """Something that the agent did, had done by its client, or wanted to do."""

    id: int
    """Counted from 1, in the order in which they began."""
    seq: int
    """The first frame about it."""
    t_ns: int
    at: str
    """The time of that frame: ISO 8601, UTC."""
    session: str | None
    turn: int | None
    mode: str | None
    """The session's mode at that time."""
    kind: ActionKind
    source: Source = Source.CLAIMED
    status: ActionStatus = ActionStatus.UNKNOWN
    title: str | None = None
    """In the agent's words."""
    tool: str | None = None
    """The name of the tool, or the method, if it is known."""
    tool_call: str | None = None
    call_status: str | None = None
    """What the agent said last about the tool call."""
    call_seq: int | None = None
    """Where it said so."""
    paths: list[AuditedPath] = field(factory=list)
    command: str | None = None
    directory: AuditedPath | None = None
    """In which the command ran, if that was said."""
    mentions: list[AuditedPath] = field(factory=list)
    """Words of the command that are paths outside, or look like credentials."""
    url: str | None = None
    exit_code: int | None = None
    exit_signal: str | None = None
    terminal: str | None = None
    requests: list[AuditedRequest] = field(factory=list)
    permissions: list[AuditedPermission] = field(factory=list)
    perhaps_allowed_by: list[LastingGrant] = field(factory=list)
    """If no permission was asked for: earlier answers that may have covered it."""
    refused_before: int | None = None
    """If no permission was asked for: the answer that refused the same in the same turn."""
    perhaps_same_as: list[int] = field(factory=list)
    """Other actions that may be this one, known from another source."""
    not_from_agent: bool = False
    """Whether a fault made up one of its requests."""
    directories: list[str] = field(init=False, factory=list)
    """Those of the session when it began; like those below not in the JSON."""
    same_asked: AuditedPermission | None = field(init=False, default=None)
    """The last answer of the turn that was about the same, if it belongs to another action."""
    instead_of: "Action | None" = field(init=False, default=None)
    """The only one with permission that the turn was waiting for, if it is not like this one."""
    is_absorbed: bool = field(init=False, default=False)
    """Whether it turned out to be part of another one."""

    @property
    def seqs(self) -> list[int]:
        """The numbers of all frames that are known to be about it, except updates in between."""
        found = {self.seq, self.call_seq}
        for request in self.requests:
            found |= {request.seq, request.answer_seq}
        for permission in self.permissions:
            found |= {permission.seq, permission.answer_seq}
        return sorted(seq for seq in found if seq is not None)

    @property
    def done_paths(self) -> list[AuditedPath]:
        """The paths but for those of which the client's answers say that nothing was done."""
        done, failed = set[str](), set[str]()
        for request in self.requests:
            is_done = request.outcome in ("result", "unanswered")
            (done if is_done else failed).update(path.shown for path in request.paths)
        is_partly = self.may_have_happened
        return [p for p in self.paths if not is_partly or p.shown not in failed - done]

    @property
    def may_have_happened(self) -> bool:
        """Whether nothing says that it was not done.

        A command of which the agent says that it has failed may have run.
        """
        if self.status is ActionStatus.FAILED:
            return self.kind is ActionKind.RUN and self.source is Source.CLAIMED
        if self.status is ActionStatus.UNANSWERED:
            return self.source is Source.CLIENT
        return self.status in (ActionStatus.DONE, ActionStatus.STARTED, ActionStatus.UNKNOWN)


@frozen
class AuditedServer:
    """An MCP server that the client handed to the agent, without its environment and headers."""

    name: str
    type: str
    """stdio, http, sse or acp."""
    command: str | None
    url: str | None
    """Without a user's name, a password and a query."""
    seq: int
    """The request that named it."""


@define
class AuditedSession:
    """A session and the directories that the client chose for it."""

    id: str
    seq: int
    """The last request that opened it."""
    cwd: str | None
    directories: list[str] = field(factory=list)
    """Others in which the agent may work."""
    mcp_servers: list[AuditedServer] = field(factory=list)


@frozen
class AuditFinding:
    """Something that a reviewer should look at."""

    kind: str
    """Such as ``outside``; docs/json.md lists all."""
    severity: str
    """`PROBLEM` or `REMARK`."""
    text: str
    actions: list[int]
    seqs: list[int]
    """The first frame of each of these actions."""


@define
class Audit:
    """What an agent did in one recording."""

    recording: Recording
    path: str
    live: bool
    agent_command: list[str]
    sessions: list[AuditedSession]
    actions: list[Action]
    counts: dict[str, dict[str, int]]
    """By kind, how many actions have which status."""
    sources: dict[str, int]
    """How many actions are known from whom."""
    answers: dict[str, int]
    """All permission requests of these actions by their decision."""
    findings: list[AuditFinding]
    left_out: int = 0
    """Actions beyond the first 100,000."""
