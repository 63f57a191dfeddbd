"""Checks a conversation: each finding is one sentence, with the frames that it is about.

A *problem* is a failure; a *remark* is worth knowing but may be intended. Nothing is a problem
that a person or a program may take its time for.
"""

import itertools
from collections.abc import Callable, Iterable

from acp_proxy.inspection.diagnosis.agent_end import agent_end
from acp_proxy.inspection.diagnosis.context import DiagnosisContext
from acp_proxy.inspection.diagnosis.failures import (
    empty_turns,
    errors_without_requests,
    failed_requests,
    failed_turns,
    invalid_lines,
    prompts_of_the_draft,
    refused_logins,
)
from acp_proxy.inspection.diagnosis.late_updates import late_updates
from acp_proxy.inspection.diagnosis.losses import gaps, lost_answers, stalls, undelivered
from acp_proxy.inspection.diagnosis.unanswered import (
    long_silences,
    unanswered_prompts,
    unanswered_requests,
)
from acp_proxy.inspection.diagnosis.values import PROBLEM, Finding

Check = Callable[[DiagnosisContext], Iterable[Finding]]

CHECKS: tuple[Check, ...] = (
    unanswered_prompts,
    agent_end,
    stalls,
    unanswered_requests,
    long_silences,
    late_updates,
    invalid_lines,
    gaps,
    undelivered,
    lost_answers,
    prompts_of_the_draft,
    failed_requests,
    errors_without_requests,
    refused_logins,
    failed_turns,
    empty_turns,
)
"""All checks, in the order in which their findings are shown."""


def run_checks(context: DiagnosisContext) -> list[Finding]:
    """Runs every check; problems come before remarks."""
    found = list(itertools.chain.from_iterable(check(context) for check in CHECKS))
    return sorted(found, key=lambda finding: finding.severity != PROBLEM)


def has_problem(context: DiagnosisContext) -> bool:
    """Whether `run_checks` would find a problem; stops at the first, and reads little before."""
    every = itertools.chain.from_iterable(check(context) for check in CHECKS)
    return any(finding.severity == PROBLEM for finding in every)
