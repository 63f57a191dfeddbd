"""A progress bar is for a person who has been waiting for a second, and leaves no trace."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

from acp_proxy.cli.render.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


class Clock:
    """Seconds that pass when somebody works, and how often it was looked at."""

    def __init__(self) -> None:
        self.now = 50.0
        self.looks = 0

    def __call__(self) -> float:
        """Tells the time."""
        self.looks += 1
        return self.now

    def work(self, items: int, seconds: float) -> Iterator[int]:
        """Makes items, each of which takes some seconds."""
        for item in range(items):
            self.now += seconds
            yield item


class Terminal(io.StringIO):
    """What is written on a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes stderr a terminal; within the test, since pytest has its own before that."""
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    return stderr


def test_after_a_second_there_is_a_bar_and_then_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is done, how much of it, and ends with an empty line that can be written on."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    done = list(progress(clock.work(20, 0.2), 20, "searching", clock=clock))
    assert done == list(range(20))
    shown = terminal.getvalue()
    assert "searching" in shown
    assert "15/20" in shown
    assert shown.endswith("\r\x1b[2K\x1b[?25h")
    assert "\n" not in shown


def test_before_a_second_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is quick has no bar."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    assert len(list(progress(clock.work(9, 0.1), 9, "x", clock=clock))) == 9
    assert terminal.getvalue() == ""


def test_without_a_terminal_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody looks there is no bar, and no clock is looked at."""
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    clock = Clock()
    assert len(list(progress(clock.work(9, 1.0), 9, "x", clock=clock))) == 9
    assert (stderr.getvalue(), clock.looks) == ("", 0)


def test_it_need_not_be_known_how_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a total the bar counts."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    assert len(list(progress(clock.work(20, 0.2), None, "reading", clock=clock))) == 20
    assert "reading" in terminal.getvalue()
    assert "15" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K\x1b[?25h")


def test_stopping_early_clears_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has seen enough, or is interrupted, gets a clean line."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    items = progress(clock.work(100, 0.5), 100, "x", clock=clock)
    for _ in range(10):
        next(items)
    assert terminal.getvalue()
    close = getattr(items, "close")  # noqa: B009  an iterator, for all that its caller knows
    close()
    assert terminal.getvalue().endswith("\r\x1b[2K\x1b[?25h")


def test_the_clock_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of quick items thousands pass between two looks at the clock; of slow ones, one."""
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    for _ in progress(clock.work(100_000, 1e-7), clock=clock):
        pass
    assert clock.looks < 60
    assert terminal.getvalue() == ""
    slow = Clock()
    for _ in progress(slow.work(10, 3.0), 10, clock=slow):
        pass
    assert slow.looks >= 9
