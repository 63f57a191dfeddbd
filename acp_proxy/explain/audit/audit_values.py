"""The values of `audit`; `docs/json.md` documents their JSON form."""

from enum import StrEnum

from attrs import define, field, frozen

from acp_proxy.protocol.tool_calls import CallStatus
from acp_proxy.recording.recording import Recording

PROBLEM, REMARK = "problem", "remark"
"""The severities of an audit finding. A remark is worth knowing, but is not a problem."""


class ActionKind(StrEnum):
    """The kind of an action."""

    READ = "read"
    SEARCH = "search"
    WRITE = "write"
    DELETE = "delete"
    MOVE = "move"
    RUN = "run"
    FETCH = "fetch"
    OTHER = "other"
    """Any action that is not listed above, or an action of an unknown kind."""


ASKED_FOR = frozenset(
    {ActionKind.WRITE, ActionKind.DELETE, ActionKind.MOVE, ActionKind.RUN, ActionKind.FETCH}
)
"""Kinds of actions that agents usually ask permission for."""


class Source(StrEnum):
    """Which messages show an action: a request to the client, or only the agent's own words."""

    CLIENT = "client"
    """The agent asked its client to do the action. The client's answer shows the outcome."""
    CLAIMED = "claimed"
    """Only the agent mentions the action, in a tool call or a permission request."""


class ActionStatus(StrEnum):
    """The outcome of an action."""

    DONE = "done"
    STARTED = "started"
    """The client has started a command. How the command ended is not recorded."""
    FAILED = "failed"
    REFUSED = "refused"
    """Permission was refused, and no message shows that the action was done anyway."""
    CANCELLED = "cancelled"
    UNANSWERED = "unanswered"
    """The client has not answered the action's request, or its permission request."""
    UNKNOWN = "unknown"
    """The agent announced the action but reported no outcome."""


class PathPlace(StrEnum):
    """Where a path is in relation to the session's directories, judged only by its text."""

    INSIDE = "inside"
    OUTSIDE = "outside"
    UNKNOWN = "unknown"
    """The place depends on a fact that is not recorded: the session's directory, a user's home
    directory, or whether upper and lower case differ."""


@frozen
class AuditedPath:
    """A file or a directory that an action is about."""

    path: str
    """The path as it was sent, cut to 2,000 characters."""
    shown: str
    """The path relative to the session's directory if the path is inside. Otherwise the path with
    ``.`` and ``..`` resolved."""
    place: PathPlace
    credential: bool = False
    """Whether files with this name usually contain credentials."""
    operation: str | None = None
    """The effect of a diff on the file: add, modify, delete, move or copy; None if it is not
    known."""


@define
class AuditedRequest:
    """A request that asked the client to do something."""

    seq: int
    method: str
    answer_seq: int | None = None
    outcome: str = "unanswered"
    """How the client answered: result, error, cancelled or unanswered."""
    error: str | None = None
    """The code and the message of the client's error; None without an error."""
    paths: list[AuditedPath] = field(init=False, factory=list)
    """The paths in the request. The JSON does not contain fields with ``init=False``."""


@define
class AuditedPermission:
    """A permission request, and how the client answered it."""

    seq: int
    title: str
    """The agent's own description of the request."""
    answer_seq: int | None = None
    decision: str = "unanswered"
    """How the request was decided: granted, denied, cancelled, ambiguous, error, unanswered, or any
    other word in the answer."""
    option: str | None = None
    """The kind of the chosen option. In the 1.0 draft, the scope of the permission."""
    name: str | None = None
    """The name of the option that the client chose; None without a choice."""
    waited_ns: int | None = None
    """The time from the request to its answer, in nanoseconds; None if it is not known."""
    lasting: bool = False
    """Whether the answer also allowed later actions."""
    paths: list[AuditedPath] = field(factory=list)
    """The paths of the action, as far as they were known at the time of the request."""
    command: str | None = None


@frozen
class LastingGrant:
    """An earlier permission that may also cover an action without a permission request."""

    seq: int
    """The number of the permission request's frame."""
    answer_seq: int
    option: str | None
    name: str | None
    title: str


@define(eq=False)
class Action:
    """Something that the agent did, asked its client to do, or intended to do."""

    id: int
    """The number of the action, from 1, in the order in which the actions began."""
    seq: int
    """The number of the first frame about the action."""
    t_ns: int
    at: str
    """The time of the action's first frame, in ISO 8601 and UTC."""
    session: str | None
    turn: int | None
    mode: str | None
    """The session's mode when the action began."""
    kind: ActionKind
    source: Source = Source.CLAIMED
    status: ActionStatus = ActionStatus.UNKNOWN
    title: str | None = None
    """The agent's title for the action; None without a title."""
    tool: str | None = None
    """The name of the tool, or the method of the request; None if neither is known."""
    tool_call: str | None = None
    call_status: str | None = None
    """The last status that the agent sent for the tool call."""
    call_seq: int | None = None
    """The number of the frame with the call's last status; None without a status."""
    paths: list[AuditedPath] = field(factory=list)
    command: str | None = None
    directory: AuditedPath | None = None
    """The directory in which the command ran; None if no message names it."""
    mentions: list[AuditedPath] = field(factory=list)
    """Words of the command that look like credentials, or like paths outside the session's
    directories."""
    url: str | None = None
    exit_code: int | None = None
    exit_signal: str | None = None
    terminal: str | None = None
    requests: list[AuditedRequest] = field(factory=list)
    permissions: list[AuditedPermission] = field(factory=list)
    perhaps_allowed_by: list[LastingGrant] = field(factory=list)
    """Earlier permissions that may cover this action, which has no permission request."""
    refused_before: int | None = None
    """The number of the frame that refused an equal action earlier in the turn, or None."""
    perhaps_same_as: list[int] = field(factory=list)
    """The ids of actions from another `Source` that may be the same as this action."""
    not_from_agent: bool = False
    """Whether a fault added one of the action's requests."""
    call: CallStatus = field(init=False, factory=CallStatus)
    """The latest status of the tool call, while messages are read. The JSON has neither this field
    nor the fields below it."""
    directories: list[str] = field(init=False, factory=list)
    """The session's directories when the action began."""
    same_asked: AuditedPermission | None = field(init=False, default=None)
    """The latest earlier permission request of the turn for another action with the same file or
    command; None without such a request."""
    instead_of: "Action | None" = field(init=False, default=None)
    """The only action of the same kind in the turn that was permitted but not done; None if there
    are several such actions or no such action."""
    is_absorbed: bool = field(init=False, default=False)
    """Whether the action was merged into another action."""

    @property
    def seqs(self) -> list[int]:
        """The numbers of the action's frames: first frame, last status, requests and answers."""
        seqs = {self.seq, self.call_seq}
        for request in self.requests:
            seqs |= {request.seq, request.answer_seq}
        for permission in self.permissions:
            seqs |= {permission.seq, permission.answer_seq}
        return sorted(seq for seq in seqs if seq is not None)

    @property
    def done_paths(self) -> list[AuditedPath]:
        """The paths of the action, without paths that are only in failed requests.

        If the action certainly did not happen, all paths are kept.
        """
        reached, failed = set[str](), set[str]()
        for request in self.requests:
            is_done = request.outcome in ("result", "unanswered")
            (reached if is_done else failed).update(path.shown for path in request.paths)
        is_partly = self.may_have_happened
        return [p for p in self.paths if not is_partly or p.shown not in failed - reached]

    @property
    def may_have_happened(self) -> bool:
        """Whether the action may have been done.

        A command that failed may have run.
        """
        if self.status is ActionStatus.FAILED:
            return self.kind is ActionKind.RUN and self.source is Source.CLAIMED
        if self.status is ActionStatus.UNANSWERED:
            return self.source is Source.CLIENT
        return self.status in (ActionStatus.DONE, ActionStatus.STARTED, ActionStatus.UNKNOWN)


@frozen
class AuditedServer:
    """An MCP server that the client passed to the agent. Environment and headers are left out."""

    name: str
    type: str
    """The transport of the server: stdio, http, sse or acp."""
    command: str | None
    url: str | None
    """The URL without user name, password and query."""
    seq: int
    """The number of the frame with the request that named the server."""


@define
class AuditedSession:
    """A session and the directories that the client chose for it."""

    id: str
    seq: int
    """The number of the frame with the last request that opened the session."""
    cwd: str | None
    directories: list[str] = field(factory=list)
    """The directories in which the agent may work, besides ``cwd``."""
    mcp_servers: list[AuditedServer] = field(factory=list)


@frozen
class AuditFinding:
    """Something that a reviewer should look at."""

    kind: str
    """The kind of the finding, such as ``outside``. docs/json.md lists all kinds."""
    severity: str
    """How much the finding matters: `PROBLEM` or `REMARK`."""
    text: str
    actions: list[int]
    seqs: list[int]
    """The numbers of the first frames of the actions that the finding is about."""


@define
class Audit:
    """The actions of an agent in one recording."""

    recording: Recording
    path: str
    live: bool
    agent_command: list[str]
    sessions: list[AuditedSession]
    actions: list[Action]
    counts: dict[str, dict[str, int]]
    """For each kind of action, and each status: the number of actions."""
    sources: dict[str, int]
    """For each `Source`, the number of actions."""
    answers: dict[str, int]
    """For each decision, the number of permission requests. Only requests for listed actions
    count."""
    findings: list[AuditFinding]
    left_out: int = 0
    """The number of actions that are missing, because only the first 100,000 are kept."""
