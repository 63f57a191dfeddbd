"""The values of `show`, whose members `docs/json.md` documents for programs."""

from attrs import define, field, frozen

from acp_proxy.explain.findings import Finding
from acp_proxy.explain.waits import Silence
from acp_proxy.recording.recording import Recording, needs


@frozen
class Capabilities:
    """What the peers can do, as they announced it."""

    client: list[str]
    agent: list[str]
    required: list[str]
    """That the agent demands of its client (draft-1.0)."""
    auth_methods: list[str]
    """The agent's ways to log in."""


@frozen
class SessionSummary:
    """One ACP session."""

    id: str
    cwd: str | None
    opened: list[str]
    """How it was opened here: new, load, resume, fork; nothing if that was not seen to succeed."""
    seq: int
    """The first request about it."""
    turns: int
    failed: list[str] = field(factory=list)
    """How it could not be opened: what was tried and answered with an error, or not at all."""
    open: list[str] = field(factory=list, metadata={"optional": True})
    """The request that may have opened it; its answer is still to come, or was not imported."""
    parent: str | None = field(default=None, metadata={"optional": True})
    """The session whose agent has announced it as its child."""


@frozen
class TurnSummary:
    """One turn."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    stop_reason: str | None
    duration_ns: int | None
    updates: int
    tool_calls: int
    prompt: str
    outcome: str | None = None
    """Of the prompt: result, error, cancelled or unanswered."""


@frozen
class ToolTally:
    """The tool calls of one kind."""

    kind: str
    count: int
    statuses: dict[str, int]
    """How many of them have which last status."""


@frozen
class FailedCall:
    """A tool call that has failed, or was denied."""

    seq: int
    """The update with that status."""
    session: str | None
    tool_call: str
    title: str
    status: str
    text: str
    """The reason that it gave."""


@frozen
class Tally:
    """The requests of one method."""

    done: int = 0
    failed: int = 0
    """Answered with an error."""
    open: int = 0
    """Without an answer."""


@frozen
class PersonRequest:
    """A permission, or a form, that a person was asked for."""

    seq: int
    method: str
    session: str | None
    turn: int | None
    title: str
    answer: str | None
    """The kind of the chosen option, cancelled, granted, denied, error, or what was done with a
    form; None if there is no answer."""
    waited_ns: int | None
    """How long the person took, or has been waited for; None if that is not known."""
    tool_call: str | None = None
    """The id of the tool call that it is about."""


@frozen
class ErrorTally:
    """The errors of one code with which one method was answered."""

    direction: str
    """Of the request."""
    method: str | None
    code: int | None
    name: str
    """What the dialect calls the code; empty if it does not."""
    message: str
    """Of the first."""
    seq: int
    """The first answer."""
    count: int
    is_routine: bool
    """Whether it is how a peer finds out what the other one can do, or which files there are."""
    charged: str | None = None
    """Who is to blame: client, agent or fault, or None."""
    why: str = ""
    """What was wrong with the request, or which fault answered it."""
    request_seq: int = 0
    """The first request that was answered so."""


@frozen
class InvalidLines:
    """The lines of one direction that are no messages."""

    stream: str
    count: int
    seq: int
    """The first one."""
    text: str
    reason: str


@frozen
class OpenRequest:
    """A request that has no answer."""

    seq: int
    direction: str
    method: str | None
    rpc_id: str | None
    waited_ns: int | None
    """Until the client left, or until now while it runs; None if that is not known."""
    preview: str
    session: str | None = None
    awaited: str = ""
    """Who is waited for: person, program, client or agent."""


@frozen
class CurrentWait:
    """What a running conversation waits for, without anything being wrong."""

    seq: int
    """The request, or the prompt."""
    awaited: str
    """person, program, client or agent."""
    session: str | None
    turn: int | None
    waited_ns: int
    text: str
    silent_ns: int | None = None
    """How long the side that has to act has sent nothing; None if it is held up."""


@frozen
class Extent:
    """How much of a recording was looked at for findings."""

    rules: int
    """Rules of the protocol that were checked."""
    frames: int
    """Frames that they looked at, the first ones."""
    is_whole: bool
    """Whether those are all frames."""
    last_seq: int = 0
    """The last of them."""


@define
class Summary:
    """A recording in short."""

    recording: Recording
    path: str
    live: bool
    duration_ns: int | None
    """None if that is not known."""
    capabilities: Capabilities
    ending: str
    """How it ended, in words."""
    frames: dict[str, int] = field(factory=dict)
    """Frames by stream."""
    kinds: dict[str, int] = field(factory=dict)
    """Frames by kind, stderr lines left out."""
    sessions: list[str] = field(factory=list)
    opened: list[SessionSummary] = field(factory=list)
    turns: list[TurnSummary] = field(factory=list)
    updates: int = 0
    tool_calls: list[ToolTally] = field(factory=list)
    failed_calls: list[FailedCall] = field(factory=list)
    """At most 100."""
    questions: list[PersonRequest] = field(factory=list)
    """At most 100."""
    answers: dict[str, int] = field(factory=dict)
    """All questions by their answer, open for those that have none."""
    files_read: Tally = field(factory=Tally)
    files_written: Tally = field(factory=Tally)
    terminals: Tally = field(factory=Tally)
    # The names in JSON are older than the one list of findings.
    findings: list[Finding] = field(factory=list, metadata={"json": "problems"})
    """At most 100 of each rule, in the order of `in_order`."""
    finding_counts: dict[str, int] = field(factory=dict, metadata={"json": "problem_counts"})
    """How many there are, by rule."""
    severities: dict[str, int] = field(factory=dict)
    """How many there are, by severity."""
    checked: Extent = Extent(0, 0, is_whole=False)
    """How much was looked at for broken rules; the conversation itself was looked at as a whole."""
    waiting: list[CurrentWait] = field(factory=list)
    """Empty unless it is running."""
    unanswered: list[OpenRequest] = field(factory=list)
    """At most 100."""
    longest_silence: Silence | None = None
    errors: int = 0
    """Requests answered with an error."""
    error_codes: list[ErrorTally] = field(factory=list)
    not_acp: list[InvalidLines] = field(factory=list)
    faults: dict[str, int] = field(factory=dict)
    """How often each rule of the plan fired."""
    signals: list[str] = field(factory=list)
    """Passed on or sent, in words; at most 100."""
    events: list[str] = field(factory=list)
    """Signals, gaps, undelivered bytes and notes, in words."""
    stderr_tail: list[str] = field(factory=list)

    @property
    @needs("ending")
    def known_ending(self) -> str | None:
        """How it ended; None if that was not imported."""
        return self.ending

    @property
    def is_open(self) -> bool:
        """Whether a request without an answer may get one, or may have got one elsewhere."""
        return self.recording.is_open(live=self.live)
