"""The engine: triggers, lanes, order, what it tells of rules that fired, and a seed's schedule."""

from __future__ import annotations

import json
import signal

import pytest

from acp_proxy.faults.effects import (
    CloseEffect,
    ExitEffect,
    SignalEffect,
    StallEffect,
    StderrEffect,
)
from acp_proxy.faults.outputs import DirectionEnd, Fired, RuleEffect, ScheduledWrite
from acp_proxy.protocol.peers import Direction
from tests.fault_book import START_NS, Book, check, plan_of

CLIENT, AGENT = Direction.TO_CLIENT, Direction.TO_AGENT


def update(session: str = "s") -> bytes:
    """An update of a session."""
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session}}
    return json.dumps(message).encode() + b"\n"


def hits(book: Book, count: int, session: str = "s") -> list[int]:
    """Which of some updates do not arrive, counted from 1."""
    lost = []
    for number in range(1, count + 1):
        if not any(isinstance(o, ScheduledWrite) for o in book.say(CLIENT, update(session))):
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
    """`after` lets the first pass, `every` takes each n-th of the rest, `times` ends it."""
    assert hits(Book([f"drop {trigger}"]), 6) == lost


def test_a_window_opens_and_closes() -> None:
    """Frames outside of it are no matches; its beginning is in it and its end is not."""
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


def test_triggers_count_in_lanes() -> None:
    """Each session counts for itself, so interleaving does not matter."""
    book = Book(["drop after=1 times=1 where=dir:to-client"])
    arrived = []
    for session in "ababab":
        arrived.append(
            any(isinstance(o, ScheduledWrite) for o in book.say(CLIENT, update(session)))
        )
    assert arrived == [True, True, False, False, True, True]


def test_probability_is_kept_on_the_whole() -> None:
    """A fifth of many frames is a fifth of them."""
    lost = hits(Book(["drop probability=0.2"]), 2000)
    assert 340 < len(lost) < 460


def test_the_schedule_of_a_seed_is_written_down() -> None:
    """A plan and a seed mean the same in every version: which frames, and how late."""
    assert hits(Book(["drop name=flaky probability=0.3"], seed=42), 24) == SCHEDULE
    book = Book(["latency name=slow latency_ms=100 jitter_ms=50"], seed=42)
    late = []
    for _ in range(4):
        book.now += 10**9
        (out,) = [o for o in book.say(CLIENT, update()) if isinstance(o, ScheduledWrite)]
        late.append(round((out.due - book.now) / 1e6, 3))
    assert late == LATE


SCHEDULE = [1, 3, 7, 8, 9, 12, 15, 19, 20, 24]
LATE = [128.389, 85.12, 66.8, 122.929]


def test_other_seeds_have_other_schedules() -> None:
    """The seed of a plan counts more than the one that was chosen for it."""
    plan = plan_of("drop probability=0.3")
    schedules = {tuple(hits(Book(plan, seed), 30)) for seed in range(5)}
    assert len(schedules) == 5


def test_who_did_what_is_told() -> None:
    """Of each rule at the frame what it did beside it, behind what fired, in the plan's order."""
    rules = ["pause name=p", "stderr-flood name=w lines=1", "kill name=k", "exit name=e code=3",
             "close name=c", "stall name=s"]  # fmt: skip
    outputs = Book([f"{rule} where=dir:to-client" for rule in rules]).say(CLIENT, update())
    (first,) = [n for n, o in enumerate(outputs) if isinstance(o, RuleEffect) and o.rule == "p"]
    assert not any(isinstance(o, Fired) for o in outputs[first:])
    assert outputs[first:] == [
        RuleEffect("p", "pause", SignalEffect(signal.SIGSTOP)),
        RuleEffect("w", "stderr-flood", StderrEffect(b"stderr-flood line 1 of 1\n")),
        RuleEffect("k", "kill", SignalEffect(signal.SIGKILL)),
        RuleEffect("e", "exit", ExitEffect(3)),
        RuleEffect("c", "close", CloseEffect(CLIENT)),
        DirectionEnd(CLIENT),
        RuleEffect("s", "stall", StallEffect(CLIENT)),
    ]


def test_where_knows_what_the_recorder_knows() -> None:
    """A reply has its request's method, session and turn."""
    check(
        ["drop where='dir:to-client method:session/prompt turn:1 session:s kind:response'"],
        """
        1 -> #0 session/prompt {"sessionId": "s"}
        -> 1
        2 <- #0 result {"stopReason": "end_turn"}
        """,
    )


def test_a_reply_that_was_made_up_closes_its_request() -> None:
    """A turn that an error has ended is over for the rules that ask for turns."""
    check(
        ["error-reply where=method:session/prompt", "drop where=turn:1"],
        r"""
        1 -> #0 session/prompt {"sessionId": "s"}
        <- | {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"Internal error"}}\n
        2 <- session/update {"sessionId": "s"}
        <- 2
        """,
    )


# What is told


def told(book: Book) -> list[tuple[str, bool, bytes | None]]:
    """Each rule that fired: its name, whether it made the line up, and what arrived."""
    return [(fired.rule, fired.received is None, fired.delivered) for fired in book.fired]


def test_every_rule_tells_what_arrived_in_the_end() -> None:
    """A frame that several rules hit has one word of each, and all say the same."""
    book = check(
        ["truncate keep_bytes=2", "latency latency_ms=1", "corrupt mode=crlf"],
        r"""
        1 <- | abc
        <- | ab\r\n at 1ms
        """,
    )
    assert told(book) == [
        ("truncate", False, b"ab\r\n"),
        ("latency", False, b"ab\r\n"),
        ("corrupt", False, b"ab\r\n"),
    ]


def test_an_injected_line_is_told_once_and_in_its_place() -> None:
    """Before the frame if it goes before it, as it arrives, with the rule that made it."""
    book = check(
        ["stray-stdout text=x", "duplicate", "truncate keep_bytes=1"],
        r"""
        1 <- | abc
        <- | x\n
        <- | a\n
        <- | a\n
        """,
    )
    assert told(book) == [
        ("stray-stdout", True, b"x\n"),
        ("stray-stdout", False, b"a\n"),
        ("duplicate", False, b"a\n"),
        ("truncate", False, b"a\n"),
        ("duplicate", True, b"a\n"),
    ]


def test_what_is_lost_is_told_as_lost() -> None:
    """A dropped frame arrives as nothing, and so does one of which no byte is left."""
    book = check(
        ["drop where=text:a", "truncate keep_bytes=0 newline=false"],
        """
        1 <- | a
        2 <- | b
        """,
    )
    assert told(book) == [("drop", False, None), ("truncate", False, None)]


def test_frames_behind_a_stop_are_told_with_the_rule_that_stopped_them() -> None:
    """They are no firings of it: it fired once."""
    book = check(
        ["close where=text:a"],
        """
        1 <- | a
        end of to-client
        2 <- | b
        """,
    )
    assert told(book) == [("close", False, None), ("close", False, None)]
    assert book.engine.fired == {"close": 1}
    assert [fired.frame for fired in book.fired] == [1, 2]


# What is held


def test_nothing_is_lost_when_a_direction_ends_twice() -> None:
    """The end is told once."""
    book = check(["reorder after_frames=9"], "1 <- | a\n<- end\n<- 1\nend of to-client")
    assert list(book.engine.end(CLIENT, book.now)) == []


def test_held_frames_go_out_in_the_order_of_their_waiting() -> None:
    """At the end those go first that had the least still to wait for."""
    check(
        ["reorder after_frames=9 where=text:a", "reorder after_frames=3 where=text:b"],
        """
        1 <- | a
        2 <- | b
        <- end
        <- 2
        <- 1
        end of to-client
        """,
    )


def test_what_is_held_stays_small() -> None:
    """Beyond a megabyte the oldest of several held frames goes out, whatever it waits for."""
    book = Book(["reorder after_frames=1000"])
    line = b"x" * 400_000 + b"\n"
    out = [
        len([o for o in book.say(CLIENT, line) if isinstance(o, ScheduledWrite)]) for _ in range(5)
    ]
    assert out == [0, 0, 1, 1, 1]
    large = Book(["reorder after_frames=1000"])
    assert not any(
        isinstance(o, ScheduledWrite) for o in large.say(CLIENT, b"x" * 3_000_000 + b"\n")
    )


def test_a_stall_lets_out_nothing_that_is_held() -> None:
    """What waited behind frames that never come is lost with them."""
    check(
        ["reorder after_frames=1 where=text:a", "stall where=text:b"],
        """
        1 <- | a
        2 <- | b
        <- end
        end of to-client
        """,
    )


def test_a_plan_without_rules_lets_everything_pass() -> None:
    """Nothing is told either."""
    book = Book([])
    outputs = book.say(AGENT, b"x\r\n")
    assert [(o.data, o.due) for o in outputs if isinstance(o, ScheduledWrite)] == [
        (b"x\r\n", START_NS)
    ]
    assert not any(isinstance(o, Fired) for o in outputs)
