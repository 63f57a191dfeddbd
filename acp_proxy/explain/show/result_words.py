"""Describes how a conversation went in a few words, for lists, titles and summaries."""

from collections.abc import Sequence

from acp_proxy.base.system import FROM_OUTSIDE, SIGKILL, signal_name
from acp_proxy.explain.findings import CONVERSATION, FAULT, Finding, Severity
from acp_proxy.explain.show.agent_end import ENDED
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.recording.recording import Recording

STOPPED = "told to stop"
"""The reason that a recorder notes if the client stopped the agent with a signal."""
_REASONS = {STOPPED: "stopped by the client", "by itself": "on its own"}
_NO_ANSWER = {"agent": "agent hung", "client": "client: no answer", None: "never answered"}
"""The words for a request without an answer, by who is to blame."""


def result_words(
    findings: Sequence[Finding], recording: Recording, waiting: str = "", *, live: bool = False
) -> str:
    """Returns the result of a conversation, such as ``agent hung #6`` or ``ended``.

    Args:
        findings: the findings, the worst first.
        recording: the row of the recording.
        waiting: who has to act now, in words; empty for nobody.
        live: whether the recorder is running.
    """
    first = next((f for f in findings if f.severity is not Severity.INFO), None)
    if first is not None:
        return _of_finding(first, recording)
    if live:
        return waiting or "nothing is open"
    if recording.state != "complete":
        return recording.shown_state
    return exit_words(recording) if recording.exit_code else "ended"


def _of_finding(finding: Finding, recording: Recording) -> str:
    if finding.rule == ENDED:
        return exit_words(recording) or f"agent ended early #{finding.seq}"
    if finding.brief:
        return finding.brief
    words = finding.rule.partition(".")[2].replace("-", " ")
    if finding.rule == UNANSWERED:
        words = _NO_ANSWER.get(finding.by, f"{finding.by}: no answer")
    elif finding.by == FAULT:
        words = FAULT
    elif finding.group not in CONVERSATION:
        words = f"{finding.by} broke a rule"
    return f"{words} #{finding.seq}"


def exit_words(recording: Recording) -> str:
    """Returns how the agent ended, such as ``crashed: SIGABRT`` or ``exit 1``; empty if unknown."""
    if (signum := recording.exit_signal) is None:
        return "" if recording.exit_code is None else f"exit {recording.exit_code}"
    how = "crashed"
    if recording.end_reason == STOPPED and signum != SIGKILL:
        how = _REASONS[STOPPED]
    elif signum in FROM_OUTSIDE:
        how = "killed"
    return f"{how}: {signal_name(signum)}"


def ending_words(recording: Recording, reason: str) -> str:
    """Returns in words how the agent ended, and why.

    Args:
        recording: the row of the recording.
        reason: why the connection ended, as the recorder noted it.
    """
    how = exit_words(recording)
    if recording.exit_signal is not None and reason in _REASONS:
        return how  # the words already say who stopped the agent
    return ", ".join(filter(None, (how, _REASONS.get(reason, reason))))
