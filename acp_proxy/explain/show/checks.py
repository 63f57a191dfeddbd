"""Checks a whole conversation for failures that no single message shows.

A wait for a person or a program is never an error: both may take as long as they need.
"""

import itertools
from collections.abc import Callable, Iterable

from acp_proxy.explain.findings import Finding, in_order
from acp_proxy.explain.show.agent_end import agent_end, empty_recording
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.explain.show.failures import (
    empty_turns,
    errors_without_requests,
    failed_requests,
    failed_turns,
    prompts_of_the_draft,
    refused_logins,
)
from acp_proxy.explain.show.losses import fault_effects, gaps, stalls, undelivered
from acp_proxy.explain.show.silences import given_up, late_cancels, long_silences, silent_client
from acp_proxy.explain.show.token_checks import full_contexts, running_totals, uncounted_turns
from acp_proxy.explain.show.unanswered import unanswered
from acp_proxy.recording.recording import Fact

Check = Callable[[DiagnosisContext], Iterable[Finding]]

CHECKS: dict[Check, tuple[Fact, ...]] = {
    unanswered: (),
    agent_end: ("ending",),
    empty_recording: (),
    stalls: (),
    long_silences: ("middle", "durations"),
    given_up: ("middle", "durations"),
    late_cancels: ("middle", "durations"),
    silent_client: ("start", "middle", "ending", "durations"),
    gaps: (),
    undelivered: (),
    fault_effects: (),
    prompts_of_the_draft: ("start",),
    failed_requests: (),
    errors_without_requests: ("start", "middle"),
    refused_logins: (),
    failed_turns: (),
    empty_turns: ("middle",),
    full_contexts: (),
    running_totals: ("middle",),
    uncounted_turns: (),
}
"""All checks, each with the facts that it needs from an imported recording."""
_WITHOUT = (prompts_of_the_draft, errors_without_requests)
"""Checks that are made only if these facts are missing."""


def run_checks(context: DiagnosisContext) -> list[Finding]:
    """Runs all checks whose facts are in the recording, and returns the findings in order."""
    made = (check(context) for check, facts in CHECKS.items()
            if context.recording.knows(*facts) != (check in _WITHOUT))  # fmt: skip
    return in_order(itertools.chain.from_iterable(made))
