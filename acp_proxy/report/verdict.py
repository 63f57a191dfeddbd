"""Who is to blame, and at which frame: the sentence with which a report begins.

It is taken from what `inspect show` and `inspect check` found. A problem comes before a broken
rule. Of two requests without an answer the one that the other one waits for comes first: an agent
cannot answer a prompt before its client has answered the agent.
"""

from collections.abc import Callable, Sequence

from attrs import frozen

from acp_proxy.conformance.report import CheckedRecording, ReportedFinding
from acp_proxy.conformance.values import Severity
from acp_proxy.inspection.diagnosis.values import PROBLEM, Finding, OpenRequest, Summary
from acp_proxy.protocol.dialects import PROMPT
from acp_proxy.protocol.peers import SENDERS

AGENT, CLIENT = "agent", "client"
_RECEIVERS = {"to-agent": AGENT, "to-client": CLIENT}
_BEGINNINGS = {
    "the client ": CLIENT,
    "the agent ": AGENT,
    "agent waits for client": CLIENT,
    "client waits for agent": AGENT,
}
"""How our own sentences begin that name who has failed."""

PairOf = Callable[[int], int | None]
"""Returns the frame of the request that an answer belongs to, or of the answer to a request."""


@frozen
class Verdict:
    """The answer to what went wrong."""

    is_trouble: bool
    by: str | None
    """client or agent; None if neither is known to be to blame."""
    seq: int | None
    """The frame to look at first."""
    text: str
    """What happened there, or that nothing did."""
    more: int = 0
    """How many problems there are besides."""


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
        by, seq = blamed(first, summary, pair_of)
        return Verdict(True, by, seq, first.text, len(problems) - 1)
    errors = [] if checked is None else _errors(checked)
    if errors:
        worst = errors[0]
        return Verdict(True, worst.by, worst.seq, worst.text, len(errors) - 1)
    return Verdict(False, None, None, _nothing_wrong(summary, checked))


def blamed(finding: Finding, summary: Summary, pair_of: PairOf) -> tuple[str | None, int | None]:
    """Returns who is to blame for a problem, and the frame that shows it.

    Args:
        finding: the problem.
        summary: that it is from.
        pair_of: finds the other half of an exchange.
    """
    seq = finding.seqs[0] if finding.seqs else None
    match finding.kind:
        case "agent-ended" | "late-update":
            return AGENT, seq
        case "unanswered":
            for request in summary.unanswered:
                if request.seq == seq:
                    held_by = None if seq is None else _held_by(request, summary)
                    return _RECEIVERS.get((held_by or request).direction), seq
        case "not-acp":
            for lines in summary.not_acp:
                if lines.seq == seq:
                    return SENDERS.get(lines.stream), seq
        case "error":
            for error in summary.error_codes:
                if error.seq == seq and seq is not None:
                    sender = SENDERS.get(error.direction)
                    is_senders = error.charged is not None and error.charged == sender
                    asked = pair_of(seq) if is_senders else None
                    by = error.charged if error.charged in (AGENT, CLIENT) else None
                    return by, seq if asked is None else asked
    found = (by for beginning, by in _BEGINNINGS.items() if finding.text.startswith(beginning))
    return next(found, None), seq


def _root_of(problems: Sequence[Finding], summary: Summary) -> Finding:
    """The first problem, or the request of the agent without which it could not answer."""
    first = problems[0]
    if first.kind == "unanswered":
        asked = next((one for one in summary.unanswered if one.seq in first.seqs[:1]), None)
        held_by = None if asked is None else _held_by(asked, summary)
        if held_by is not None:
            return next((one for one in problems if one.seqs[:1] == [held_by.seq]), first)
    return first


def _held_by(prompt: OpenRequest, summary: Summary) -> OpenRequest | None:
    """The first request of the agent that its client had to answer before the prompt could be."""
    if prompt.method != PROMPT:
        return None
    return next(
        (
            one
            for one in summary.unanswered
            if one.direction == "to-client"
            and one.session == prompt.session
            and one.seq > prompt.seq
        ),
        None,
    )


def _errors(checked: CheckedRecording) -> list[ReportedFinding]:
    return [one for one in checked.findings if one.severity is Severity.ERROR and not one.known]


def _nothing_wrong(summary: Summary, checked: CheckedRecording | None) -> str:
    words = "No problem was found"
    if summary.live:
        words += " so far; the recording is still running"
    if summary.findings:
        words += "; what is worth knowing is listed below"
    elif checked is not None and checked.findings:
        words += ", and no rule of the protocol was broken that had to be kept"
    elif checked is not None:
        words += ", and no rule of the protocol was broken"
    return f"{words}."
