"""A recorder notices that its client is gone: its parent has changed, or nobody reads stdout."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, cast

from acp_proxy.record.supervisor import look_for_client, why_overstaying
from tests.support.cases import each_case
from tests.unit.record.test_supervisor import Scene

if TYPE_CHECKING:
    from pathlib import Path

    from trio.testing import MockClock

HERE, ORPHANED, UNREAD = (False, False), (True, False), (True, True)
"""Whether the client is gone, and whether nobody reads its pipe."""


@each_case(
    ("client", "open_request", "why"),
    [
        (HERE, False, None),
        (HERE, True, None),
        (HERE, None, None),
        (ORPHANED, False, "no request is open"),
        (ORPHANED, True, None),
        (ORPHANED, None, None),
        (UNREAD, False, "no request is open"),
        (UNREAD, True, "nobody reads its output"),
        (UNREAD, None, "nobody reads its output"),
    ],
)
def test_overstaying(client: tuple[bool, bool], open_request: bool | None, why: str | None) -> None:
    """Once its client is gone, an agent is ended if no request is open or nobody reads it."""
    is_gone, is_unread = client
    reason = why_overstaying(is_gone=is_gone, is_unread=is_unread, open_request=open_request)
    assert reason == why


def presence_of(sink: int, *, lost_parent: bool = False) -> tuple[bool, bool]:
    """Returns what a relay that writes to a descriptor finds out about its client."""
    scene = Scene(cast("MockClock", None))
    scene.relay.to_client.sink = sink
    if lost_parent:
        scene.relay.parent = -1
    return look_for_client(scene.relay)


def test_a_pipe_without_a_reader_is_noticed() -> None:
    """A recorder notices when the last process that reads the client's pipe closes it."""
    reading, writing = os.pipe()
    assert presence_of(writing) == HERE
    os.close(reading)
    assert presence_of(writing) == UNREAD
    os.close(writing)


def test_a_socket_without_a_reader_is_noticed() -> None:
    """A client that closes its socket counts as gone, but not one that only stops writing."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.shutdown(socket.SHUT_WR)
        assert presence_of(ours.fileno()) == HERE
        theirs.close()
        assert presence_of(ours.fileno()) == UNREAD


def test_a_closed_terminal_is_noticed() -> None:
    """If the client's terminal was closed, a recorder treats the client as gone."""
    ours, theirs = os.openpty()
    assert presence_of(theirs) == HERE
    os.close(ours)
    assert presence_of(theirs) == UNREAD
    os.close(theirs)


def test_a_file_has_no_reader_to_notice(tmp_path: Path) -> None:
    """If stdout is a file, a recorder takes the client for gone when its own parent ends."""
    with (tmp_path / "out").open("wb") as file:
        assert presence_of(file.fileno()) == HERE
    null = os.open(os.devnull, os.O_WRONLY)
    assert presence_of(null) == HERE
    assert presence_of(null, lost_parent=True) == ORPHANED
    os.close(null)
