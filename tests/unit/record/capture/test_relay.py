"""Either all threads of a relay start, or none of them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.record.capture import relay as module
from acp_proxy.record.capture.agent_process import AgentProcess
from acp_proxy.record.capture.process_groups import OwnGroup
from acp_proxy.record.capture.relay import Relay
from acp_proxy.recording.log_format import Log

if TYPE_CHECKING:
    from collections.abc import Callable


class Room:
    """Stands for a system that has memory for a limited number of threads."""

    def __init__(self, *, large: int, small: int) -> None:
        self.left = {"large": large, "small": small}
        self.size = "large"
        self.begun: list[Callable[[], None]] = []

    def set_size(self, _: int) -> None:
        """Stands in for `_thread.stack_size`."""
        self.size = "small"

    def start(self, run: Callable[[], None], _: tuple[()]) -> None:
        """Stands in for `_thread.start_new_thread`."""
        if not self.left[self.size]:
            raise RuntimeError("can't start new thread")
        self.left[self.size] -= 1
        self.begun.append(run)


@pytest.fixture
def relay() -> Relay:
    """Returns a relay without peers."""
    agent = AgentProcess(pid=-1, group=OwnGroup(0), stdin=-1, stdout=-1, stderr=-1)
    return Relay(Log(), agent, client_in=-1, client_out=-1, signals=set(), parent=os.getppid())


def start(relay: Relay, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts a relay on a system with a limited number of threads."""
    monkeypatch.setattr(module, "start_new_thread", room.start)
    monkeypatch.setattr(module, "stack_size", room.set_size)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    relay.start()


def test_all_threads_are_started(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is enough memory, a recorder starts all of its threads at the first attempt."""
    room = Room(large=10, small=0)
    start(relay, room, monkeypatch)
    assert len(room.begun) == 4
    assert not relay.is_short_of_memory


def test_without_any_room_none_begins(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    """If memory is too short for all threads of a recorder, the recorder raises `RuntimeError`."""
    room = Room(large=2, small=1)
    with pytest.raises(RuntimeError):
        start(relay, room, monkeypatch)
    assert len(room.begun) == 3


def test_a_thread_that_ends_at_once_is_noticed(
    relay: Relay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If memory is short and a started thread never runs, the recorder raises `RuntimeError`."""
    with pytest.raises(RuntimeError):
        start(relay, Room(large=2, small=2), monkeypatch)
    assert relay.is_short_of_memory
