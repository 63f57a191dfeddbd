"""The values of `show`. docs/json.md documents their members."""

from collections import Counter
from collections.abc import Iterable

from attrs import define, field, frozen

from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.findings import Finding
from acp_proxy.explain.stats.traffic import CallStatistics
from acp_proxy.explain.stats.turn_times import Part
from acp_proxy.explain.waits import Silence
from acp_proxy.protocol.updates import FAILED, RUNNING
from acp_proxy.recording.recording import Recording, needs
from acp_proxy.store.queries.exchanges import TurnRow


@frozen
class Capabilities:
    """The capabilities that the peers announced."""

    client: list[str]
    agent: list[str]
    required: list[str]
    """The capabilities that the agent requires of its client (draft-1.0)."""
    auth_methods: list[str]
    """The agent's ways to log in."""


@frozen
class SessionSummary:
    """One ACP session of a recording."""

    id: str
    cwd: str | None
    opened: list[str]
    """How the session was opened: new, load, resume or fork; empty if all these requests failed."""
    seq: int
    """The number of the first frame with a request about the session."""
    turns: int
    failed: list[str] = field(factory=list)
    """The requests to open the session (new, load, resume or fork) that failed or were not
    answered."""
    open: list[str] = field(factory=list, metadata={"optional": True})
    """The requests to open the session (new, load, resume or fork) that have no answer so far."""
    parent: str | None = field(default=None, metadata={"optional": True})
    """The id of the parent session, if the agent announced this session as a child; otherwise
    None."""


@frozen
class TurnSummary:
    """One turn of a recording."""

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
    """The outcome of the prompt: result, error, cancelled or unanswered."""
    tokens: Tokens | None = None
    """The tokens that the agent reported for the turn; None without a report."""


def turn_state(turn: TurnRow | TurnSummary, unended: str) -> str:
    """Returns how a turn ended: the stop reason, ``error``, or ``ended`` for an unknown reason.

    Args:
        turn: the turn, as a row or as a value of the summary.
        unended: the word for a turn that has not ended; see `Summary.unended`.
    """
    ended = "error" if turn.outcome == "error" else "ended"
    return turn.stop_reason or (ended if turn.end_seq else unended)


@frozen
class ToolTally:
    """The number of tool calls of one kind."""

    kind: str
    count: int
    statuses: dict[str, int]
    """The number of calls by their last status."""


REJECTED = "rejected"
"""The status of a tool call that failed because its permission was denied."""


@frozen
class BegunCall:
    """One of the first tool calls of a recording."""

    seq: int
    """The number of the frame with the update that announced the call."""
    session: str | None
    tool_call: str
    title: str
    kind: str
    status: str
    """The last status of the call; empty if the agent sent no status."""


@frozen
class FailedCall:
    """A tool call that has failed, or was denied."""

    seq: int
    """The number of the frame with the update that reports the failure."""
    session: str | None
    tool_call: str
    title: str
    status: str
    text: str
    """The agent's reason for the failure, or the call's output."""


@frozen
class Tally:
    """How many requests of one method were answered, failed or stayed open."""

    answered: int = field(default=0, metadata={"json": "done"})
    """The number of requests that were answered with a result."""
    failed: int = 0
    """The number of requests that were answered with an error."""
    open: int = 0
    """The number of requests without an answer."""


@frozen
class PersonRequest:
    """A request that asked a person for a permission, or to fill in a form."""

    seq: int
    method: str
    session: str | None
    turn: int | None
    title: str
    answer: str | None
    """How the request was answered; None without an answer. For a permission, the kind of the
    chosen option; for a form, the action; otherwise cancelled, granted, denied or error."""
    waited_ns: int | None
    """How long the request has waited for the person, until the answer or until now, in
    nanoseconds; None if it is not known."""
    tool_call: str | None = None
    """The id of the tool call that the request is about."""


def rejected_calls(asked: Iterable[PersonRequest]) -> set[tuple[str | None, str | None]]:
    """Returns the session and the call id of each tool call whose permission was denied."""
    no = ("reject_once", "reject_always", "denied")
    return {(request.session, request.tool_call) for request in asked if request.answer in no}


@frozen
class ErrorTally:
    """The errors of one method that have the same code and the same side to blame."""

    direction: str
    """The direction of the request."""
    method: str | None
    code: int | None
    name: str
    """The name of the code in the dialect; empty for a code without a name."""
    message: str
    """The message of the first error."""
    seq: int
    """The number of the frame with the first of the errors."""
    count: int
    is_routine: bool
    """Whether the errors are usual: a peer tries out a method, or looks for a file."""
    charged: str | None = None
    """Who is to blame: client, agent or fault; None for nobody."""
    why: str = ""
    """The mistake in the request, or the fault's rule that answered the request."""
    request_seq: int = 0
    """The number of the frame with the request that the first of the errors answers."""


@frozen
class InvalidLines:
    """The lines of one direction that are not messages."""

    stream: str
    count: int
    seq: int
    """The number of the frame with the first of these lines."""
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
    """How long the request waited, until the client left or until now, in nanoseconds; None if this
    is not known."""
    preview: str
    session: str | None = None
    awaited: str = ""
    """Who has to act: person, program, client or agent."""


@frozen
class CurrentWait:
    """A request or turn that is open in a running conversation, and is not a hang."""

    seq: int
    """The number of the frame with the request, or with the turn's prompt."""
    awaited: str
    """Who has to act: person, program, client or agent."""
    session: str | None
    turn: int | None
    waited_ns: int
    text: str
    silent_ns: int | None = None
    """The time since the last message of the peer that has to act, in nanoseconds; None if this
    peer is held up."""
    words: str = field(default="", metadata={"hidden": True})
    """Who has to act, and how long the wait has taken so far, in a few words."""


@frozen
class Extent:
    """How much of a recording was checked for broken rules."""

    rules: int
    """The number of rules of the protocol that were checked."""
    frames: int
    """The number of frames that were checked, from the first frame on."""
    is_whole: bool
    """Whether all frames were checked."""
    last_seq: int = 0
    """The number of the last frame that was checked."""


@frozen
class WorkDone:
    """The work of the agent. None or an empty value stands for an unknown value."""

    files: int | None = None
    """The number of files that the agent changed."""
    lines: tuple[int, int] | None = None
    """The numbers of lines that the agent added and removed in all changed files."""
    exits: dict[str, int] = field(factory=dict)
    """How many commands in terminals ended in each way. The keys are the ways, in words."""


@define
class Summary:
    """The summary of a recording."""

    recording: Recording
    path: str
    live: bool
    duration_ns: int | None
    """The length of the recording in nanoseconds; None if it is not known."""
    capabilities: Capabilities
    ending: str
    """How the conversation ended, in words."""
    frames: dict[str, int] = field(factory=dict)
    """The number of frames by stream."""
    kinds: dict[str, int] = field(factory=dict)
    """The number of frames by kind, without lines on stderr."""
    sessions: list[str] = field(factory=list)
    opened: list[SessionSummary] = field(factory=list)
    turns: list[TurnSummary] = field(factory=list)
    updates: int = 0
    tool_calls: list[ToolTally] = field(factory=list)
    first_calls: list[BegunCall] = field(factory=list)
    """The first tool calls, at most 100."""
    failed_calls: list[FailedCall] = field(factory=list)
    """The first failed tool calls, at most 100."""
    questions: list[PersonRequest] = field(factory=list)
    """The first requests that a person had to answer, at most 100."""
    answers: dict[str, int] = field(factory=dict)
    """The number of questions by answer; ``open`` stands for no answer."""
    files_read: Tally = field(factory=Tally)
    files_written: Tally = field(factory=Tally)
    terminals: Tally = field(factory=Tally)
    # The names in JSON are from a version that had other lists of findings.
    findings: list[Finding] = field(factory=list, metadata={"json": "problems"})
    """At most 100 findings of each rule, in the order of `in_order`."""
    finding_counts: dict[str, int] = field(factory=dict, metadata={"json": "problem_counts"})
    """The number of all findings by rule."""
    severities: dict[str, int] = field(factory=dict)
    """The number of all findings by severity."""
    checked: Extent = Extent(0, 0, is_whole=False)
    """How much of the recording was checked for broken rules."""
    waiting: list[CurrentWait] = field(factory=list)
    """The open requests and turns on which somebody has to act now; empty after the recording."""
    unanswered: list[OpenRequest] = field(factory=list)
    """The first requests without an answer, at most 100."""
    longest_silence: Silence | None = None
    errors: int = 0
    """The number of requests that were answered with an error."""
    error_codes: list[ErrorTally] = field(factory=list)
    not_acp: list[InvalidLines] = field(factory=list)
    faults: dict[str, int] = field(factory=dict)
    """How often each rule of the plan of faults fired."""
    signals: list[str] = field(factory=list)
    """Signals that were passed on or sent, in words, at most 100."""
    events: list[str] = field(factory=list)
    """Signals, gaps, undelivered bytes and notes, in words."""
    stderr_tail: list[str] = field(factory=list)
    tokens: Tokens | None = None
    """The tokens that the agent reported for the whole recording; None without a report."""
    work: WorkDone = field(factory=WorkDone, metadata={"hidden": True})
    spent: dict[Part, int] = field(factory=dict, metadata={"hidden": True})
    """For each part of a turn's time: its sum over all turns, in nanoseconds; empty without a
    turn."""
    silent_call: str = field(default="", metadata={"hidden": True})
    """The tool calls that ran during the agent's longest silence, in words; empty without calls."""

    @property
    @needs("ending")
    def known_ending(self) -> str | None:
        """How the conversation ended; None if the ending was not imported."""
        return self.ending

    @property
    def is_open(self) -> bool:
        """Whether answers to open requests may still come, or may be missing from the import."""
        return self.recording.is_open(live=self.live)

    def status_of(self, call: BegunCall | FailedCall | CallStatistics) -> str:
        """Returns the status of a tool call; `REJECTED` if its permission was denied."""
        key = (call.session, call.tool_call)
        is_rejected = call.status in FAILED and key in rejected_calls(self.questions)
        return REJECTED if is_rejected else call.status or ""

    def statuses_of(self, tally: ToolTally) -> dict[str, int]:
        """Returns the number of calls of one kind with each status; see `status_of`.

        If the recording has ended, calls that were running are counted as calls that never ended.
        """
        of_kind = (call for call in self.first_calls if (call.kind or "other") == tally.kind)
        was = [call.status for call in of_kind if self.status_of(call) == REJECTED]
        counts = Counter(tally.statuses) - Counter(was) + Counter([REJECTED] * len(was))
        running = [] if self.is_open else [counts.pop(status, 0) for status in RUNNING]
        return counts + Counter({self.unended: sum(running)})

    @property
    def unended(self) -> str:
        """The word for a turn or a tool call that has not ended."""
        return "open" if self.is_open else "never ended"
