"""For `diff`, two runs of one scenario are equal in every dialect, despite ids and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.log_writer import notification, request, result
from tests.support.scenario_runs import IN, OUT, Run, compare

if TYPE_CHECKING:
    from collections.abc import Callable


def draft(run: Run, kind: str, data: dict[str, Any]) -> Run:
    """Adds a session update as the 1.0 draft writes it."""
    params = {"sessionId": run.session, "type": kind, "data": data}
    return run.add(IN, notification("session/update", **params))


def official(run: Run, kind: str, **fields: Any) -> Run:
    """Adds a session update as v1 and v2 write it."""
    return run.tell(kind, **fields)


def elicited(run: Run, name: str) -> Run:
    """Adds a form behind a link, and its completion by the user."""
    params = {"sessionId": run.session, "mode": "url", "elicitationId": name, "url": "https://x"}
    run.add(IN, request(7, "elicitation/create", message="m", **params))
    run.add(OUT, result(7, action="accept"))
    return run.add(IN, notification("elicitation/complete", elicitationId=name))


def authenticated(run: Run, expires: str) -> Run:
    """Adds a login whose result expires."""
    run.add(OUT, request(7, "authenticate"))
    return run.add(IN, result(7, success=True, expiresAt=expires))


def plan(run: Run, names: tuple[str, str]) -> Run:
    """Adds a plan of the draft with the ids of the plan and of a step."""
    return draft(run, "plan", {"planId": names[0], "steps": [{"id": names[1], "title": "x"}]})


def output(run: Run, terminal: str) -> Run:
    """Adds a tool call of the draft that shows a terminal."""
    shown = {"type": "terminal", "terminalId": terminal}
    return draft(run, "tool_call_update", {"id": "c", "output": shown})


VALUES: dict[str, tuple[Callable[[Run, Any], Run], Any, Any]] = {
    "ids of plans and steps": (plan, ("plan_a1", "s1"), ("plan_b2", "s2")),
    "how long a tool call took": (
        lambda run, took: draft(run, "tool_call_update", {"id": "c", "duration": took}), 41, 52),
    "the terminal in the output of a tool call": (output, "term-1a", "term-2b"),
    "when a login expires": (authenticated, "2025-01-01T00:00:00Z", "2025-02-02T00:00:00Z"),
    "ids of elicitations": (elicited, "e-1", "e-2"),
    "ids of plans in v2": (
        lambda run, name: official(run, "plan_update", plan={"planId": name, "entries": []}),
        "p-1", "p-2"),
}  # fmt: skip


@pytest.mark.parametrize(("say", "value", "other"), VALUES.values(), ids=VALUES)
def test_values_that_differ_between_any_two_runs_are_no_difference(
    say: Callable[[Run, Any], Run], value: Any, other: Any
) -> None:
    """`diff` ignores values that differ between any two runs, such as ids and times."""
    assert compare(say(Run(0), value).end(), say(Run(1), other).end())[0].is_equal


@pytest.mark.parametrize("beside", [{}, {"/some/file.py": 1}], ids=["usual keys", "a path as key"])
def test_a_time_that_is_gone_is_a_difference(beside: dict[str, Any]) -> None:
    """`diff` ignores a changed time, but reports a missing time."""

    def run(number: int, **time: Any) -> Run:
        return Run(number).tell("tool_call", toolCallId="c", rawOutput=beside | time).end()

    dated, other, bare = run(0, createdAt="2025-01-01"), run(1, createdAt={"s": 5}), run(1)
    assert compare(dated, other)[0].is_equal
    result, (entry,) = compare(dated, bare)
    (change,) = entry.fields
    assert (result.counts.total, change.pointer) == (1, "/params/update/rawOutput/createdAt")
    assert compare(dated, bare, ignored=("/**/createdAt",))[0].is_equal
    assert compare(dated, run(1, createdAt=None))[0].counts.total == 1


def test_plans_with_different_ids_are_different_plans() -> None:
    """If two updates of one plan become updates of two plans, `diff` reports a difference."""
    a = plan(plan(Run(0), ("p1", "s1")), ("p1", "s1")).end()
    b = plan(plan(Run(1), ("q1", "s1")), ("q2", "s1")).end()
    assert not compare(a, b)[0].is_equal


def test_the_commands_of_the_draft_come_at_any_time() -> None:
    """If an agent of the 1.0 draft announces its commands later, `diff` reports no difference."""

    def run(number: int, *, first: bool, name: str = "plan") -> Run:
        made, commands = Run(number), {"commands": [{"name": name, "description": "x"}]}
        made = draft(made, "available_commands", commands) if first else made
        made = draft(made, "tool_call", {"id": "c", "tool": "read_file"})
        return (made if first else draft(made, "available_commands", commands)).end()

    assert compare(run(0, first=True), run(1, first=False))[0].is_equal
    assert not compare(run(0, first=True), run(1, first=False, name="other"))[0].is_equal
