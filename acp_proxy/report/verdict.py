"""Who is to blame, and at which frame: the sentence with which a report begins.

It is the first of the findings, unless that is only a hint.
"""

from attrs import frozen

from acp_proxy.inspection.diagnosis.unanswered import waiting_for
from acp_proxy.inspection.diagnosis.values import Summary
from acp_proxy.inspection.findings import CONVERSATION, FAULT, Severity


@frozen
class Verdict:
    """The answer to what went wrong."""

    by: str | None
    """client, agent, environment or fault; None if nobody is to blame."""
    seq: int | None
    """The frame to look at first; None if nothing went wrong."""
    text: str
    """What happened there, or that nothing did."""
    more: int = 0
    """How many errors there are besides."""
    is_trouble: bool = True
    is_rule: bool = False
    """Whether a rule was broken, and nothing else is known to have gone wrong."""
    unblamed: str | None = None
    """Why nobody is to blame."""


def find_verdict(summary: Summary) -> Verdict:
    """Returns who is to blame for the first finding that is an error, or that a fault made.

    Args:
        summary: of the recording, with all findings.
    """
    first = next(iter(summary.findings), None)
    is_trouble = first is not None and (first.severity is Severity.ERROR or first.by == FAULT)
    if first is None or not is_trouble:
        return Verdict(None, None, _nothing_wrong(summary), is_trouble=False)
    more = summary.severities[first.severity] - 1
    is_rule = first.group not in CONVERSATION
    return Verdict(first.by, first.seq, first.text, more, is_rule=is_rule, unblamed=first.unblamed)


def _nothing_wrong(summary: Summary) -> str:
    words = "No problem was found"
    if summary.recording.origin is not None:
        words += " in what was imported"
    elif summary.recording.state == "incomplete" and not summary.live:
        words += " in what was recorded; the recorder was killed, so the end is missing"
    if summary.live:
        waits = waiting_for(summary.waiting)
        words += f" so far; the recording is still running{', ' if waits else ''}{waits}"
    if summary.findings:
        words += "; what is worth knowing is listed below"
    else:
        upto = "" if summary.checked.is_whole else f" up to #{summary.checked.last_seq:,}"
        words += f", and no rule of the protocol was broken{upto}"
    return f"{words}."
