"""Work for many things is the same in one process as in several."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from acp_proxy.cli.parallel import mapped

THINGS = range(250)


def where(number: int) -> tuple[int, int, bool]:
    """The number, who looks at it, and whether Ctrl-C would end the look."""
    return number, os.getpid(), signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def broken(number: int) -> int:
    """Fails at one of the numbers."""
    return 1 // (number - 130)


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


@pytest.mark.skipif(sys.platform != "linux", reason="expected Linux, where forks are used")
def test_many_are_shared_among_processes() -> None:
    """The results come in order, and Ctrl-C is for the first process alone."""
    found = list(mapped(where, THINGS))
    assert [number for number, _, _ in found] == list(THINGS)
    assert os.getpid() not in {process for _, process, _ in found}
    assert not any(is_ended for _, _, is_ended in found)


def test_few_are_looked_at_here() -> None:
    """A fork is not worth it."""
    found = list(mapped(where, range(3)))
    assert [(number, process) for number, process, _ in found] == [
        (number, os.getpid()) for number in range(3)
    ]


def test_other_systems_use_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks are not safe there, or do not exist."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert {process for _, process, _ in mapped(where, THINGS)} == {os.getpid()}


def test_a_failure_is_raised() -> None:
    """The exception is that of the work."""
    with pytest.raises(ZeroDivisionError):
        list(mapped(broken, THINGS))
