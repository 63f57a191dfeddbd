"""Faults keep the order of frames, lose nothing unasked, and draw reproducible random numbers."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acp_proxy.faults.fault import DirectionEnd, Fired, Output, RuleEffect, ScheduledWrite
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.plan import KINDS
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.fault_playbook import plan_of
from tests.support.strategies import broken_lines, lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acp_proxy.faults.plan import Plan

CLIENT, AGENT = Direction.TO_CLIENT, Direction.TO_AGENT
Frame = tuple[Direction, bytes, bytes]

NEEDED = {"replace": "frame=x"}
"""The settings that a kind of fault requires."""
NEVER = ["probability=0", "where='method:no/such'", "window=2h..3h", "after=100000"]

frames = st.lists(
    st.tuples(
        st.sampled_from(Direction),
        (lines() | broken_lines()).map(lambda line: line.replace(b"\r", b"")),
        st.sampled_from([b"\n", b"\r\n"]),
    ),
    max_size=20,
)


def run(plan: Plan, drawn: Sequence[Frame], seed: int = 1) -> list[Output]:
    """Passes frames, a millisecond apart, through a fault plan; returns all outputs."""
    engine = FaultEngine(plan, seed, 0)
    outputs: list[Output] = []
    for number, (direction, raw, newline) in enumerate(drawn):
        outputs += engine.receive(direction, raw, newline, number * 10**6)
    for direction in Direction:
        outputs += engine.end(direction, len(drawn) * 10**6)
    return outputs


def arrived(outputs: Sequence[Output], direction: Direction) -> bytes:
    """Returns all bytes that a direction delivers, in the order of their times."""
    sent = [o for o in outputs if isinstance(o, ScheduledWrite) and o.direction is direction]
    return b"".join(o.data for o in sorted(sent, key=lambda o: o.due))


def lines_of(drawn: Sequence[Frame], direction: Direction) -> list[bytes]:
    """Returns all lines that a direction delivers."""
    return [raw + newline for way, raw, newline in drawn if way is direction]


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=frames)
@settings(max_examples=5)
def test_a_plan_whose_rules_never_fire_is_transparent(kind: str, drawn: list[Frame]) -> None:
    """If no rule of a fault plan fires, each byte is delivered at once, unchanged and in order."""
    for trigger in NEVER:
        outputs = run(plan_of(f"{kind} {NEEDED.get(kind, '')} {trigger}"), drawn)
        for direction in Direction:
            assert arrived(outputs, direction) == b"".join(lines_of(drawn, direction)), trigger
        assert not any(isinstance(o, Fired | RuleEffect) for o in outputs), trigger
        due = [o.due for o in outputs if isinstance(o, ScheduledWrite)]
        assert due == [n * 10**6 for n, (_, raw, newline) in enumerate(drawn) if raw + newline]
        assert outputs[-2:] == [DirectionEnd(direction) for direction in Direction]


@given(drawn=frames)
def test_noop_is_transparent(drawn: list[Frame]) -> None:
    """The fault `noop` delivers all bytes of both directions unchanged."""
    outputs = run(plan_of("noop"), drawn)
    for direction in Direction:
        assert arrived(outputs, direction) == b"".join(lines_of(drawn, direction))


@pytest.mark.parametrize(
    "rules",
    [
        ["latency latency_ms=2 jitter_ms=2"],
        ["slice bytes=2 delay_ms=0.7"],
        ["bandwidth bytes_per_s=5000"],
        ["latency latency_ms=3 probability=0.5", "slice bytes=3", "bandwidth bytes_per_s=9000"],
    ],
    ids=lambda rules: rules[0].split()[0],
)
@given(drawn=frames, seed=st.integers(0, 9))
def test_slow_kinds_lose_and_swap_nothing(rules: list[str], drawn: list[Frame], seed: int) -> None:
    """Faults that slow a stream deliver all of its bytes in order."""
    outputs = run(plan_of(*rules), drawn, seed)
    for direction in Direction:
        assert arrived(outputs, direction) == b"".join(lines_of(drawn, direction))
        due = [o.due for o in outputs if isinstance(o, ScheduledWrite) and o.direction is direction]
        assert due == sorted(due)


@pytest.mark.parametrize(
    "rule",
    [
        "reorder",
        "reorder after_frames=3 probability=0.4",
        "reply mode=late latency_ms=5",
        "reply mode=late after_cancel=true",
        "latency latency_ms=5 keep_order=false probability=0.5",
    ],
)
@given(drawn=frames)
def test_reordering_kinds_lose_and_repeat_nothing(rule: str, drawn: list[Frame]) -> None:
    """Faults that reorder frames deliver each line once."""
    outputs = run(plan_of(rule), drawn)
    for direction in Direction:
        sent = [
            o.data for o in outputs if isinstance(o, ScheduledWrite) and o.direction is direction
        ]
        assert sorted(sent) == sorted(lines_of(drawn, direction))
    assert sum(isinstance(o, DirectionEnd) for o in outputs) == 2


@given(drawn=frames, seed=st.integers(0, 9))
def test_corrupt_keeps_the_number_of_lines(drawn: list[Frame], seed: int) -> None:
    """The fault `corrupt` does not change the number of lines."""
    for mode in ("flip", "bad-utf8", "bad-json", "nul", "bom", "crlf"):
        outputs = run(plan_of(f"corrupt mode={mode}"), drawn, seed)
        for direction in Direction:
            ends = arrived(outputs, direction).count(b"\n")
            assert ends == len(lines_of(drawn, direction))


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=frames, seed=st.integers(0, 3))
@settings(max_examples=5)
def test_every_kind_accepts_every_frame(kind: str, drawn: list[Frame], seed: int) -> None:
    """No frame makes a fault raise an exception."""
    outputs = run(plan_of(f"{kind} {NEEDED.get(kind, '')}"), drawn, seed)
    for fired in (o for o in outputs if isinstance(o, Fired)):
        if fired.received is not None:
            assert drawn[fired.frame - 1][1] == fired.received


# Keyed chance

SESSIONS = ("s", "t", "u")
RULES = [
    "drop name=lost where=method:session/update probability=0.3",
    "latency latency_ms=5 jitter_ms=5 probability=0.4 where=dir:to-client",
    "duplicate every=3 after=1 times=4",
    "corrupt probability=0.2 where=dir:to-agent",
]


def scope(session: str, direction: Direction, count: int) -> list[Frame]:
    """Draws the frames of one counter scope: one session in one direction."""
    line = b'{"jsonrpc":"2.0","method":"session/%b","params":{"sessionId":"%b","n":%d}}'
    what = b"update" if direction is CLIENT else b"cancel"
    return [(direction, line % (what, session.encode(), n), b"\n") for n in range(count)]


def what_fired(rules: Sequence[str], drawn: Sequence[Frame]) -> set[tuple[object, ...]]:
    """Returns, for each frame, the rules that fired and the output in place of the frame."""
    outputs = run(plan_of(*rules), drawn, seed=42)
    return {
        (o.action, o.direction, o.received, o.delivered, drawn[o.frame - 1][1])
        for o in outputs
        if isinstance(o, Fired)
    }


def interleaved(order: random.Random) -> list[Frame]:
    """Draws frames of several counter scopes in any order that keeps the order of each scope."""
    scopes = [scope(session, direction, 12) for session in SESSIONS for direction in Direction]
    drawn: list[Frame] = []
    while scopes := [frames for frames in scopes if frames]:
        drawn.append(order.choice(scopes).pop(0))
    return drawn


def test_interleaving_changes_nothing() -> None:
    """If sessions alternate in a different order, each session still gets the same faults."""
    expected = what_fired(RULES, interleaved(random.Random(0)))
    assert len(expected) > 20
    for run_number in range(1, 101):
        assert what_fired(RULES, interleaved(random.Random(run_number))) == expected


@pytest.mark.parametrize("added", ["noop", "noop probability=0.5", "duplicate name=more times=1"])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_adding_a_rule_does_not_affect_others(added: str, place: int) -> None:
    """If a rule is added to a fault plan, the other rules fire at the same frames."""
    drawn = interleaved(random.Random(3))

    def fired(rules: list[str]) -> set[tuple[str, int]]:
        outputs = run(plan_of(*rules), drawn, seed=42)
        return {(o.rule, o.frame) for o in outputs if isinstance(o, Fired) and o.received}

    before = fired(RULES)
    after = fired([*RULES[:place], added, *RULES[place:]])
    names = {"lost", "latency", "corrupt"}
    assert {event for event in after if event[0] in names} == {
        event for event in before if event[0] in names
    }


def test_rules_of_one_kind_draw_independently() -> None:
    """The random numbers of a fault rule do not depend on other rules of the same kind."""
    drawn = interleaved(random.Random(4))
    rule, other = "drop probability=0.3", "drop probability=0.1 where=dir:to-agent"

    def lost(rules: list[str], trigger_rule: str) -> set[int]:
        plan = plan_of(*rules)
        (rule,) = [r for r in plan.rules if r.key == plan_of(trigger_rule).rules[0].key]
        outputs = run(plan, drawn, seed=42)
        return {o.frame for o in outputs if isinstance(o, Fired) and o.rule == rule.name}

    alone = lost([rule], rule)
    assert alone
    assert lost([rule, other], rule) == alone
