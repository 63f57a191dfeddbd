"""Who is to blame, and at which frame: the sentence with which a report begins.

It is taken from what `inspect show` and `inspect check` found. A problem comes before what a fault
did, and that before a broken rule, which may follow from it. Of two requests without an answer the
one that the other one waits for comes first: an agent cannot answer a prompt before its client has
answered the agent.
"""

from collections.abc import Callable, Sequence

from attrs import frozen

from acp_proxy.conformance.report import CheckedRecording, worst_first
from acp_proxy.conformance.values import Severity
from acp_proxy.inspection.diagnosis.values import PROBLEM, Finding, Summary, count_problems
from acp_proxy.protocol.peers import SENDERS

PairOf = Callable[[int], int | None]
"""Returns the frame of the request that an answer belongs to, or of the answer to a request."""


@frozen
class Verdict:
    """The answer to what went wrong."""

    by: str | None
    """client, agent or fault; None if nobody is known to be to blame."""
    seq: int | None
    """The frame to look at first; None if nothing went wrong."""
    text: str
    """What happened there, or that nothing did."""
    more: int = 0
    """How many problems there are besides."""
    is_trouble: bool = True
    is_rule: bool = False
    """Whether a rule was broken, and nothing else is known to have gone wrong."""
    stderr: str = ""
    """The last line on stderr of an agent that ended by itself."""


def find_verdict(summary: Summary, checked: CheckedRecording | None, pair_of: PairOf) -> Verdict:
    """Returns who is to blame for the first problem, or else for the worst broken rule.

    Args:
        summary: of the recording.
        checked: what a check found; None if nothing was checked.
        pair_of: finds the other half of an exchange.
    """
    problems = [finding for finding in summary.findings if finding.severity == PROBLEM]
    if problems:
        first = _root_of(problems, summary)
        seq = first_frame(first, summary, pair_of)
        stderr = summary.stderr_tail[-1:] if ended_by_itself(first) else []
        more = count_problems(summary) - 1
        return Verdict(first.by, seq, first.text, more, stderr="".join(stderr))
    faults = [finding for finding in summary.findings if finding.by == "fault"]
    for fault in faults:
        return Verdict("fault", first_frame(fault, summary, pair_of), fault.text, len(faults) - 1)
    found = [] if checked is None else worst_first(checked.findings)
    errors = [one for one in found if one.severity is Severity.ERROR and not one.known]
    for worst in errors:
        return Verdict(worst.by, worst.seq, worst.text, len(errors) - 1, is_rule=True)
    return Verdict(None, None, _nothing_wrong(summary, checked), is_trouble=False)


def ended_by_itself(finding: Finding) -> bool:
    """Whether a finding says that the agent exited or crashed in the middle of something."""
    return finding.kind == "agent-ended" and finding.by == "agent"


def first_frame(finding: Finding, summary: Summary, pair_of: PairOf) -> int | None:
    """Returns the frame that shows who is to blame for a problem.

    A request that could not be answered is to blame, and not the error that says so.

    Args:
        finding: the problem.
        summary: that it is from.
        pair_of: finds the other half of an exchange.
    """
    seq = next(iter(finding.seqs), None)
    if finding.kind == "error" and seq is not None:
        tally = next((error for error in summary.error_codes if error.seq == seq), None)
        if tally is not None and tally.charged == SENDERS.get(tally.direction):
            return pair_of(seq) or seq
    return seq


def _root_of(problems: Sequence[Finding], summary: Summary) -> Finding:
    """The first problem, or the request of the agent without which it could not answer."""
    first = problems[0]
    if first.kind == "unanswered" and first.by == "client":
        of_client = {one.seq for one in summary.unanswered if one.direction == "to-client"}
        return next((one for one in problems if of_client & {*one.seqs[:1]}), first)
    return first


def _nothing_wrong(summary: Summary, checked: CheckedRecording | None) -> str:
    words = "No problem was found"
    if summary.recording.origin is not None:
        words += " in what was imported"
    if summary.live:
        words += " so far; the recording is still running"
    if summary.findings:
        words += "; what is worth knowing is listed below"
    elif checked is not None:
        had_to = " that had to be kept" if checked.findings else ""
        words += f", and no rule of the protocol{had_to} was broken"
    return f"{words}."
