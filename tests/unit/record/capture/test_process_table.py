"""The process table shows the descendants of a process, and the members of its group."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from acp_proxy.record.capture.process_groups import has_terminal
from acp_proxy.record.capture.process_table import Process, kill_all, look_up, members, send

needs_table = pytest.mark.skipif(sys.platform != "linux", reason="expected Linux and its /proc")


def process(pid: int, parent: int, group: int = 5, *, state: str = "S", start: int = 1) -> Process:
    """Returns a process that was read from a line of the process table."""
    before = f"{pid} (a) R 7 8) {state} {parent} {group} 3 1026 0" + " 0" * 13
    return Process(f"{before} {start} 0 0\n".encode())


def test_a_line_is_read_behind_the_name() -> None:
    """acp-proxy finds a process's parent even if the process name has parentheses."""
    result = process(12, 4, 9, start=77)
    assert (result.pid, result.parent, result.group) == (12, 4, 9)
    assert (result.start, result.alive) == (77, True)


def test_members_are_living_descendants_in_the_group() -> None:
    """In a process group, acp-proxy finds the living descendants of a given process."""
    table = [
        process(1, 0),  # the client
        process(2, 1),  # we
        process(3, 2, group=3),  # the guardian, in a session of its own
        process(4, 3),  # the agent
        process(5, 4),
        process(6, 4, group=6),  # left the group, but not its child
        process(7, 6),
        process(8, 3, state="Z"),
        process(9, 1),  # another child of the client
    ]
    assert sorted(p.pid for p in members(2, 5, table)) == [4, 5, 7]
    assert sorted(p.pid for p in members(3, 5, reversed(table))) == [4, 5, 7]


@needs_table
def test_we_are_in_the_table() -> None:
    """`look_up` finds acp-proxy's own process, with its parent and its process group."""
    result = look_up("self")
    assert result is not None
    assert (result.pid, result.parent, result.group) == (os.getpid(), os.getppid(), os.getpgrp())
    terminal = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[4]
    assert has_terminal() == (terminal != "0")


@needs_table
def test_another_process_with_the_same_id_gets_no_signal() -> None:
    """If the id of an ended process is reused, acp-proxy sends no signal to the new process."""
    ours = look_up("self")
    assert ours is not None
    assert send(ours, 0)
    ours.start += 1
    assert not send(ours, 0)


def test_killing_ends_after_two_searches_without_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """To kill an agent's processes, acp-proxy kills until two searches in a row find none."""
    looks = [[process(4, 3)], [], [process(5, 3)], [], []]
    killed = []

    def note(result: Process, _: int) -> bool:
        killed.append(result.pid)
        return True

    monkeypatch.setattr("acp_proxy.record.capture.process_table.send", note)
    kill_all(lambda: looks.pop(0))
    assert killed == [4, 5]
    assert looks == []


def test_killing_does_not_wait_for_processes_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """acp-proxy stops killing if it has no permission to signal any process that is left."""
    monkeypatch.setattr("acp_proxy.record.capture.process_table.send", lambda *_: False)
    looks = [[process(4, 3)], [process(4, 3)]]
    kill_all(lambda: looks.pop(0))
    assert looks == []
