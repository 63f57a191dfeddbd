"""What passes without the engine reaches it later: all of it, in order, some of it at a time."""

from __future__ import annotations

import sys
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime import backlog as backlog_module
from acp_proxy.runtime.backlog import Backlog
from acp_proxy.runtime.line_cutter import Cut, LineCutter

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

A, C = Direction.TO_AGENT, Direction.TO_CLIENT


class Engine:
    """Writes down what it is asked and given."""

    def __init__(self) -> None:
        self.looked: list[bytes] = []
        self.given: list[bytes] = []
        self.cutters = {direction: LineCutter() for direction in Direction}
        self.backlog = Backlog(self.cutters, self.foresees, self.give)

    def foresees(self, _: Direction, data: bytes, __: int) -> bool:
        """Whether there is no "!" in it."""
        self.looked.append(data)
        return b"!" not in data

    def give(self, _: Direction, cut: Cut, __: int) -> None:
        """Takes a line."""
        self.given.append(cut.raw)


def test_whole_lines_pass_ahead_and_are_given_later() -> None:
    """The engine looks at them first, and is given them line by line."""
    engine = Engine()
    assert engine.backlog.passes_ahead(C, b"a\nb\n", 1)
    assert engine.backlog.passes_ahead(A, b"c\n", 2)
    assert (engine.looked, engine.given, engine.backlog.size) == ([b"a\nb\n", b"c\n"], [], 6)
    engine.backlog.catch_up()
    assert (engine.given, engine.backlog.size) == ([b"a", b"b", b"c"], 0)


def test_what_is_not_foreseen_does_not_wait() -> None:
    """Whoever asked has to give it to the engine."""
    engine = Engine()
    assert not engine.backlog.passes_ahead(C, b"a!\n", 1)
    assert engine.backlog.size == 0


def test_parts_of_lines_do_not_pass_ahead() -> None:
    """What a line says is known when it is whole, and so is a word in it."""
    engine = Engine()
    assert not engine.backlog.passes_ahead(C, b"a\nhal", 1)
    assert [cut.raw for cut in engine.cutters[C].feed(b"a\nhal")] == [b"a"]
    assert not engine.backlog.passes_ahead(C, b"f\n", 2)
    assert [cut.raw for cut in engine.cutters[C].feed(b"f\n")] == [b"half"]
    assert engine.looked == []
    assert engine.backlog.passes_ahead(C, b"b\n", 3)


def test_what_passed_by_is_looked_at_first() -> None:
    """In the order in which it was read, before what comes next in the other direction."""
    engine = Engine()
    engine.backlog.overhear(A, b"a\n", 1)
    engine.backlog.overhear(A, b"b\n", 2)
    assert engine.looked == []
    assert engine.backlog.passes_ahead(C, b"c\n", 3)
    assert (engine.looked, engine.given) == ([b"a\n", b"b\n", b"c\n"], [])


@pytest.mark.parametrize("first", [b"half", b"a line!\nhalf"])
def test_what_passed_by_in_parts_is_given_at_once(first: bytes) -> None:
    """So is all that waits; it cannot be told by a look what half a line says."""
    engine = Engine()
    assert engine.backlog.passes_ahead(C, b"a\n", 1)
    engine.backlog.overhear(A, first, 2)
    engine.backlog.overhear(A, b" of it\nb\n", 3)
    engine.backlog.overhear(A, b"c\n", 4)
    assert engine.backlog.passes_ahead(C, b"d\n", 5)
    passed_by = [cut.raw for cut in LineCutter().feed(first + b" of it\nb\nc\n")]
    assert engine.given == [b"a", *passed_by]
    assert engine.looked == [b"a\n", b"d\n"]
    assert engine.backlog.size == 2


def test_some_of_it_can_be_given() -> None:
    """The oldest, up to the chunk with which it is enough."""
    engine = Engine()
    for chunk in (b"aa\n", b"bb\n", b"cc\n"):
        assert engine.backlog.passes_ahead(C, chunk, 1)
    engine.backlog.overhear(A, b"dd\n", 2)
    engine.backlog.catch_up(4)
    assert (engine.given, engine.backlog.size) == ([b"aa", b"bb"], 6)
    engine.backlog.catch_up(1)
    assert engine.given[2:] == [b"cc"]
    engine.backlog.catch_up(1)
    assert engine.given[3:] == [b"dd"]


def test_much_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told when a part of it is to be given."""
    monkeypatch.setattr(backlog_module, "_MUCH", 5)
    engine = Engine()
    engine.backlog.overhear(A, b"12345", 1)
    assert not engine.backlog.is_large
    engine.backlog.overhear(A, b"6", 2)
    assert engine.backlog.is_large


def test_no_byte_is_counted_twice_or_not_at_all() -> None:
    """Whoever listens is held at any moment while another thread gives what waits."""
    for moment in count():
        engine = Engine()
        assert engine.backlog.passes_ahead(C, b"ahead\n", 1)
        overhear = partial(engine.backlog.overhear, A, b"by\n", 2)
        was_held = held_at(moment, overhear, engine.backlog.catch_up)
        engine.backlog.catch_up()
        assert (engine.given, engine.backlog.size) == ([b"ahead", b"by"], 0), moment
        if not was_held:
            break
    assert moment > 5


def held_at(moment: int, step: Callable[[], object], other: Callable[[], object]) -> bool:
    """Does a step, and something else before the n-th instruction of it; False if it has fewer.

    That is what a switch of threads can do to Python that runs in one thread at a time.
    """
    left = [moment]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        frame.f_trace_opcodes = True
        if event == "opcode":
            left[0] -= 1
            if left[0] == -1:
                sys.settrace(None)
                other()
                sys.settrace(trace)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        step()
    finally:
        sys.settrace(before)
    return left[0] < 0
