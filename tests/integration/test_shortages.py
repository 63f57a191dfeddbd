"""If a recorder cannot start its guardian or itself, the agent still runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.processes import Recorder

UNGUARDED = [
    sys.executable,
    "-P",
    "-c",
    "import sys; del sys.argv[0]\n"
    "from acp_proxy import entry\nfrom acp_proxy.record.capture import process_groups\n"
    "process_groups.SHELL = '/nowhere/sh'\n"
    "entry.main()",
]


def limited(limit: str) -> list[str]:
    """Returns a command that sets a limit of the shell and then runs its arguments."""
    return ["/bin/sh", "-c", f'ulimit {limit}; exec "$@"', "sh"]


def test_an_agent_runs_without_a_guardian(record: Recorder) -> None:
    """If a recorder cannot start its guardian process, the agent still runs."""
    conversation = record(["cat"], wrapper=UNGUARDED)
    assert conversation.exchange(b"hello\n") == b"hello\n"
    assert conversation.wait() == 0
    reason = (
        "cannot start the guardian '/nowhere/sh': No such file or directory;"
        " if acp-proxy is killed, the agent may go on running"
    )
    assert conversation.stderr.decode() == f"acp-proxy: {reason}\n"
    (note,) = conversation.recording.events("note")
    assert note == {"action": "unguarded", "reason": reason}
    assert conversation.recording.stream("to-client") == b"hello\n"


@pytest.mark.parametrize("descriptors", [8, 10])
def test_an_agent_runs_in_our_place(record: Recorder, descriptors: int) -> None:
    """If `record` has too few file descriptors, the agent runs in its place, unrecorded."""
    conversation = record(["cat"], wrapper=limited(f"-n {descriptors}"))
    assert conversation.exchange(b"hello\n") == b"hello\n"
    assert conversation.wait() == 0
    (line,) = conversation.stderr.decode().splitlines()
    assert line == (
        "acp-proxy: cannot run beside the agent: Too many open files;"
        " the agent runs unrecorded, in place of acp-proxy"
    )


def test_a_required_recording_prevents_the_start(record: Recorder) -> None:
    """With `record --require-recording`, no agent starts if file descriptors are scarce."""
    conversation = record(["cat"], "--require-recording", wrapper=limited("-n 9"))
    assert conversation.read_all() == b""
    assert conversation.wait() == 1
    assert b"the agent was not started, since it must be recorded" in conversation.stderr


def test_a_missing_agent_is_named(record: Recorder) -> None:
    """If file descriptors are scarce, the error of `record` still names a missing agent."""
    conversation = record(["/nowhere/agent"], wrapper=limited("-n 10"))
    assert conversation.read_all() == b""
    assert conversation.wait() == 127
    assert (
        b"cannot start the agent '/nowhere/agent': No such file or directory" in conversation.stderr
    )
