"""If a peer behind a recorder stops reading, the other peer cannot write without limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.agents import flood
from tests.integration.processes import (
    Gate,
    agent,
    needs_proc,
    peak_memory,
    shell,
    wait_until_still,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder

pytestmark = needs_proc

HELD = 512 << 10
"""The number of bytes that may be between the two peers."""
MEMORY = 48 << 20


def taken(count: Path) -> int:
    """Returns how many bytes of the agent's output have left the agent so far."""
    return int.from_bytes(count.read_bytes(), "little") if count.exists() else 0


def test_a_client_that_does_not_read_stops_its_agent(installed: Recorder, tmp_path: Path) -> None:
    """If a client stops reading, the recorder stops reading from the agent; no output is lost."""
    sent = b"".join(map(flood.block, range((12 << 20) // flood.BLOCK)))
    count = tmp_path / "count"
    conversation = installed(agent("flood", count, len(sent)))
    queued = wait_until_still(lambda: taken(count), "the agent to be held back")
    assert queued < HELD
    assert peak_memory(conversation.process.pid) < MEMORY

    conversation.run(until=lambda: len(conversation.received) > 5 << 20)
    queued = wait_until_still(lambda: taken(count), "the agent to be held back again")
    assert queued - len(conversation.received) < HELD

    conversation.run(until=lambda: len(conversation.received) == len(sent))
    conversation.catch_up()
    assert peak_memory(conversation.process.pid) < MEMORY
    conversation.close_input()
    assert conversation.read_all() == sent
    assert conversation.wait() == 0
    assert conversation.recording.stream("to-client") == sent


def test_an_agent_that_does_not_read_stops_its_client(installed: Recorder, tmp_path: Path) -> None:
    """If an agent stops reading, the recorder stops reading from the client; no input is lost."""
    gate = Gate(tmp_path / "gate")
    conversation = installed(
        shell('read go <"$1"; exec cat >"$2"', gate.path, tmp_path / "received")
    )

    def sent() -> int:
        conversation.write_until_full()
        return conversation.written

    assert wait_until_still(sent, "the client to be held back") < HELD
    assert peak_memory(conversation.process.pid) < MEMORY
    gate.open()
    conversation.close_input()
    assert conversation.wait() == 0
    received = (tmp_path / "received").read_bytes()
    assert len(received) == conversation.written
    assert conversation.recording.stream("to-agent") == received
