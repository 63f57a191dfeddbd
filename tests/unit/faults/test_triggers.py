"""Fault rules fire by counts, windows and chance, on a fixed schedule for each seed."""

from __future__ import annotations

import json

import pytest

from acp_proxy.faults.fault import ScheduledWrite
from acp_proxy.faults.plan import joined, parse_rule
from acp_proxy.faults.triggers import firing_in, reached
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.cases import each_case
from tests.support.fault_playbook import FaultTranscript, check, plan_of

A, CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT


def update(session: str = "s") -> bytes:
    """An update of a session."""
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session}}
    return json.dumps(message).encode() + b"\n"


def hits(recorded: FaultTranscript, count: int, session: str = "s") -> list[int]:
    """Returns the numbers of the updates that do not arrive, counted from 1."""
    lost = []
    for number in range(1, count + 1):
        if not any(isinstance(o, ScheduledWrite) for o in recorded.feed(CLIENT, update(session))):
            lost.append(number)
    return lost


@pytest.mark.parametrize(
    ("trigger", "lost"),
    [
        ("", [1, 2, 3, 4, 5, 6]),
        ("after=4", [5, 6]),
        ("times=2", [1, 2]),
        ("every=2", [1, 3, 5]),
        ("every=3 after=1", [2, 5]),
        ("every=2 after=1 times=2", [2, 4]),
        ("probability=0", []),
        ("where=method:session/update", [1, 2, 3, 4, 5, 6]),
        ("where=method:other", []),
        ("where=dir:to-agent", []),
        ("where=params.sessionId=s", [1, 2, 3, 4, 5, 6]),
        ("where='not dir:to-client'", []),
    ],
)
def test_a_trigger_chooses_matches(trigger: str, lost: list[int]) -> None:
    """With settings such as `after=4` or `every=2`, a fault rule fires at some matches only."""
    assert hits(FaultTranscript([f"drop {trigger}"]), 6) == lost


def test_a_window_opens_and_closes() -> None:
    """The time window of a fault rule includes its start and excludes its end."""
    check(
        ["drop window=1s..2s after=1"],
        """
        1 <- | a
        <- 1
        .. 1s
        2 <- | b
        <- 2
        3 <- | c
        .. 1s
        4 <- | d
        <- 4
        """,
    )


def test_triggers_count_in_scopes() -> None:
    """A fault rule with `after=1` counts its matches in each session separately."""
    recorded = FaultTranscript(["drop after=1 times=1 where=dir:to-client"])
    arrived = []
    for session in "ababab":
        arrived.append(
            any(isinstance(o, ScheduledWrite) for o in recorded.feed(CLIENT, update(session)))
        )
    assert arrived == [True, True, False, False, True, True]


def test_a_probability_holds_over_many_frames() -> None:
    """A fault rule with a probability of a fifth fires at about a fifth of the frames."""
    lost = hits(FaultTranscript(["drop probability=0.2"]), 2000)
    assert 340 < len(lost) < 460


def test_a_seed_has_a_fixed_schedule() -> None:
    """With a fixed seed, a fault rule with a probability fires at the same frames for ever."""
    assert hits(FaultTranscript(["drop name=flaky probability=0.3"], seed=42), 24) == SCHEDULE
    recorded = FaultTranscript(["latency name=slow latency_ms=100 jitter_ms=50"], seed=42)
    late = []
    for _ in range(4):
        recorded.now += 10**9
        (out,) = [o for o in recorded.feed(CLIENT, update()) if isinstance(o, ScheduledWrite)]
        late.append(round((out.due - recorded.now) / 1e6, 3))
    assert late == LATE


SCHEDULE = [1, 3, 7, 8, 9, 12, 15, 19, 20, 24]
LATE = [128.389, 85.12, 66.8, 122.929]


def test_other_seeds_have_other_schedules() -> None:
    """With different seeds, a fault rule with a probability fires at different frames."""
    plan = plan_of("drop probability=0.3")
    schedules = {tuple(hits(FaultTranscript(plan, seed), 30)) for seed in range(5)}
    assert len(schedules) == 5


# Directions that a plan can touch


@each_case(
    ("rule", "expected"),
    [
        ("drop", [A, CLIENT]),
        ("drop where=dir:to-client", [CLIENT]),
        ("drop where=dir:to-agent", [A]),
        ("drop where='method:a dir:to-client'", [CLIENT]),
        ("drop where='method:a or dir:to-client'", [A, CLIENT]),
        ("drop where='not dir:to-client'", [A]),
        ("drop where='not (method:a dir:to-client)'", [A, CLIENT]),
        ("drop where='not (method:a or dir:to-client)'", [A]),
        ("drop where='dir:to-client dir:to-agent'", []),
        ("stray-stdout", [CLIENT]),
        ("stray-stdout where=dir:to-agent", []),
        ("error-reply where=dir:to-agent", [A, CLIENT]),
        ("reply where=dir:to-client", [A, CLIENT]),
        ("drop probability=0", []),
        ("error-reply probability=0", []),
        ("reply where='dir:to-client dir:to-agent'", []),
    ],
)
def test_what_a_rule_reaches(rule: str, expected: list[Direction]) -> None:
    """A fault rule reaches only the directions in which its filter and its kind can act."""
    assert reached(joined([], [parse_rule(rule)], None)) == expected


def test_what_a_plan_reaches() -> None:
    """A fault plan acts on the directions that its rules reach; without rules, on none."""
    rules = [parse_rule("drop where=dir:to-agent"), parse_rule("stray-stdout")]
    assert reached(joined([], rules, None)) == [A, CLIENT]
    assert reached(joined([], [], None)) == []


def test_rules_that_can_fire() -> None:
    """In each direction, a fault plan applies only the rules that can fire there."""
    rules = [parse_rule(f"drop name={name} {rest}") for name, rest in RULES.items()]
    plan = joined([], rules, None)
    assert [rule.name for rule in firing_in(plan, A)] == ["every", "agent"]
    assert [rule.name for rule in firing_in(plan, CLIENT)] == ["client", "every"]


RULES = {
    "client": "where=dir:to-client",
    "every": "",
    "never": "probability=0",
    "agent": "where=dir:to-agent probability=0.1",
    "neither": "where='dir:to-agent not dir:to-agent'",
}
