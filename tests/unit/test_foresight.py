"""A rule sleeps while nothing can set it off, and wakes as soon as something might."""

from __future__ import annotations

import pytest

from acp_proxy.faults.foresight import Foresight
from acp_proxy.faults.reach import firing_in
from acp_proxy.protocol.peers import Direction
from tests.fault_book import plan_of

A, C = Direction.TO_AGENT, Direction.TO_CLIENT
OTHER = b'{"method":"other"}\n'


def foresight(*rules: str) -> Foresight:
    """What some rules wait for."""
    plan = plan_of(*rules)
    return Foresight({direction: firing_in(plan, direction) for direction in Direction})


def sleeps(ahead: Foresight, data: bytes = OTHER, direction: Direction = C, ns: int = 0) -> bool:
    """Whether nothing can happen to lines."""
    return ahead.rules_out(direction, data, ns)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("method:a/b", b'{"method":"a/b"}\n'),
        ("method:a/b", b'{"x":"\\\\\\"","method":"a\\/b"}\n'),
        ("method:a/b", b'{"method":"\\u0061/\\u0062"}\n'),
        ("method:a/b", b'{"method":"a\\u002Fb"}\n'),
        ("method:a/b", b'no JSON \\\n{"method":"\\u0061/b"}\n'),
        ("method:a/*", b'{"method":"a/c"}\n'),
        ("method:ab?c", b'{"method":"abxc"}\n'),
        ("session:s1", b'{"result":{"sessionId":"s1"}}\n'),
        ("call:c1", b'{"params":{"toolCallId":"c1"}}\n'),
        ("terminal:t1", b'{"params":{"terminalId":"t1"}}\n'),
        ("dir:to-client method:a/b", b'{"method":"a/b"}\n'),
        ("method:nothing or method:a/b", b'{"method":"a/b"}\n'),
        ("(method:a/b kind:request) or session:nothing", b'{"method":"a/b"}\n'),
    ],
)
def test_a_rule_sleeps_until_its_word_is_said(where: str, said: bytes) -> None:
    """However JSON writes it, in whichever direction, and for good."""
    rule = f"drop where='{where}'"
    assert sleeps(foresight(rule))
    assert not sleeps(foresight(rule), OTHER + said)
    ahead = foresight(rule)
    assert sleeps(ahead, OTHER)
    ahead.hear(OTHER)
    ahead.hear(said)
    assert not sleeps(ahead, OTHER)
    assert ahead.awake[C]


def test_every_word_has_to_be_said() -> None:
    """Where a filter asks for two things, one is not enough; and of either one is."""
    both = foresight("drop where='method:one session:two'")
    assert sleeps(both, b"one\n")
    assert not sleeps(both, b"two\n")
    either = foresight("drop where='session:x (method:one or method:two)'")
    assert sleeps(either, b"one\n")
    assert not sleeps(either, b"x\n")


def test_what_is_said_in_one_direction_wakes_rules_of_the_other() -> None:
    """A reply has the method of its request, and does not name it."""
    ahead = foresight("drop where='dir:to-client method:ask'")
    assert sleeps(ahead, b'{"id":1,"method":"ask"}\n', A)
    assert not sleeps(ahead, b'{"id":1,"result":{}}\n', C)
    assert sleeps(ahead, OTHER, A)


@pytest.mark.parametrize(
    "where",
    [
        "",
        "not method:nothing",
        "text:nothing",
        "params.x=nothing",
        "id:77",
        "size:>1M",
        "turn:9",
        "kind:batch",
        "method:*nothing",
        "method:[n]othing",
        "method:nöthing",
        "method:nö*",
        'method:"no\\"thing"',
        "method:nothing or text:nothing",
    ],
)
def test_what_cannot_be_foreseen_is_not(where: str) -> None:
    """A rule whose filter asks for no plain word never sleeps."""
    assert not sleeps(foresight(f"drop where='{where}'"))


def test_a_rule_sleeps_while_its_window_is_shut() -> None:
    """And may sleep again when it is over."""
    ahead = foresight("drop window=1s..2s")
    found = [sleeps(ahead, ns=ns) for ns in (0, 999_999_999, 10**9, 1_999_999_999, 2 * 10**9)]
    assert found == [True, True, False, False, True]


def test_a_rule_sleeps_through_the_frames_that_it_lets_pass() -> None:
    """They count when they are foreseen, in both directions, and are not counted again."""
    ahead = foresight("drop after=5 where=dir:to-client")
    assert sleeps(ahead, OTHER * 2, A)
    assert sleeps(ahead, OTHER * 2)
    for _ in range(4):
        ahead.hear(OTHER)
    assert not sleeps(ahead, OTHER * 2)
    assert sleeps(ahead, OTHER)
    assert not sleeps(ahead, OTHER)


def test_all_rules_of_a_direction_have_to_sleep() -> None:
    """One that is awake is enough; one of the other direction does not matter."""
    ahead = foresight("drop where=method:nothing", "drop where='dir:to-client text:x'")
    assert not sleeps(ahead, OTHER, C)
    assert sleeps(ahead, OTHER, A)


def test_rules_wake_in_the_order_of_the_plan() -> None:
    """Those that never slept do not come first."""
    ahead = foresight("drop name=1 where=method:one", "noop name=2", "drop name=3 where=method:one")
    assert [rule.name for rule in ahead.awake[C]] == ["2"]
    ahead.hear(b"one")
    assert [rule.name for rule in ahead.awake[C]] == ["1", "2", "3"]
