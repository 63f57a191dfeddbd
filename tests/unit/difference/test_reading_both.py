"""A diff that reads B in a fork has the same result as one that does not."""

from __future__ import annotations

import os
import pickle
import select
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.difference import reading_both
from acp_proxy.difference.diff import diff
from acp_proxy.difference.reading import UNWATCHED
from tests.log_writer import request, result
from tests.runs import IN, OUT, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from acp_proxy.difference.reading import Watch
    from acp_proxy.difference.result import Diff, DiffEntry

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="expected Linux, which forks")
FIRST = 6


@pytest.fixture(autouse=True)
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Forks are worth it; here are their ids."""
    made: list[int] = []
    fork = os.fork

    def counted() -> int:
        made.append(fork())
        return made[-1]

    monkeypatch.setattr(reading_both, "FIRST", FIRST)
    monkeypatch.setattr(reading_both, "LEAST", 1)
    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    return made


def run(number: int, named_late: str = "") -> Run:
    """A run with calls and texts, in which something differs between two runs."""
    made = Run(number)
    for name in ("a1", "b2"):
        path = f"{made.cwd}/x.py"
        made.tell("tool_call", toolCallId=made.call(name), title=f"Read {path}", kind="read")
        made.words(f"as {made.call(name)} says in {path}, ", name * number)
    made.add(OUT, request(7, "session/new", cwd=named_late or made.cwd, mcpServers=[]))
    made.add(IN, result(7, sessionId=f"ses_{number}other12345"))
    return made.words("see /home/late/x.py").end()


def compared(
    a: Run, b: Run, watch: Watch = UNWATCHED, *, may_fork: bool
) -> tuple[Diff, list[DiffEntry]]:
    """What differs."""
    with a.open() as of_a, b.open() as of_b:
        found = diff(of_a, of_b, watch=watch, may_fork=may_fork)
        return found, list(found.entries())


def is_same(a: Run, b: Run) -> bool:
    """Whether a fork finds what is found without one."""
    (one, entries), (other, others) = (compared(a, b, may_fork=may) for may in (False, True))
    assert one.counts.total
    return (one.counts, one.aliases, entries) == (other.counts, other.aliases, others)


def is_gone(process: int) -> bool:
    """Whether a process has ended and was waited for."""
    try:
        os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_a_fork_finds_the_same(forks: list[int]) -> None:
    """Differences, names, and the texts in which values are."""
    assert is_same(run(0), run(1))
    assert len(forks) == 1
    assert is_gone(forks[0])


def test_progress_is_shown_of_a_alone() -> None:
    """What a fork reads is not read here, and shows nothing."""
    here, labels = os.getpid(), []

    def watched(items: Iterable[Any], _: int, label: str) -> Iterable[Any]:
        assert os.getpid() == here
        labels.append(label)
        return items

    compared(run(0), run(1), watched, may_fork=True)
    assert labels == ["reading"]


def test_a_directory_of_a_that_is_named_late_is_found_in_b(forks: list[int]) -> None:
    """B is read again, since the fork did not know the directory."""
    assert is_same(run(0, "/home/late"), run(1))
    assert len(forks) == 1


def test_what_a_fork_cannot_do_is_done_here(
    forks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If it ends early, or if there is none."""

    def fails(*_: Any) -> None:
        raise OSError("expected no fork")

    monkeypatch.setattr(pickle, "dump", fails)
    assert is_same(run(0), run(1))
    assert len(forks) == 1
    monkeypatch.setattr(os, "fork", fails)
    assert is_same(run(0), run(1))


def test_a_fork_ends_when_its_reader_is_killed() -> None:
    """It does not wait for somebody to read what it has found."""
    out, into = os.pipe()
    holder = os.fork()
    if not holder:  # what a killed process is: it never reads
        fork = reading_both._Fork()
        fork.start(lambda: b"x" * (1 << 20))
        os.write(into, fork._pid.to_bytes(8, "big"))
        os._exit(0)
    os.waitpid(holder, 0)
    os.close(into)
    orphan = int.from_bytes(os.read(out, 8), "big")
    # The fork has the other end of the pipe as well, until it ends.
    has_ended = bool(select.select([out], [], [], 10)[0])
    os.close(out)
    if not has_ended:
        os.kill(orphan, signal.SIGKILL)
    assert has_ended


def test_a_fork_ends_with_the_reading(forks: list[int]) -> None:
    """Ctrl-C while A is read ends both."""

    def interrupted(items: Iterable[Any], *_: object) -> Iterator[Any]:
        yield from [*items][: FIRST + 1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compared(run(0), run(1), interrupted, may_fork=True)
    assert is_gone(forks[0])


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (threading, "active_count", lambda: 2),
        (os, "sched_getaffinity", lambda _: {0}),
        (sys, "platform", "darwin"),
        (reading_both, "LEAST", 1000),
    ],
)
def test_one_process_reads_both_where_a_fork_is_not_safe_or_not_worth_it(
    forks: list[int], monkeypatch: pytest.MonkeyPatch, place: Any, name: str, value: Any
) -> None:
    """With threads, on one processor, on another system, and for short recordings."""
    monkeypatch.setattr(place, name, value)
    assert is_same(run(0), run(1))
    assert not forks
