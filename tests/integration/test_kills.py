"""If a recorder is killed under load, no forwarded byte is lost and no process remains."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import EXACT, agent, living, needs_proc, shell, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder

pytestmark = needs_proc

SAID = 24 << 20
"""The number of bytes that each side writes; each kill comes before the last byte."""


def lines(chance: random.Random) -> bytes:
    """Returns random bytes in lines of many lengths, so that each part occurs only once."""
    blocks = []
    size = 0
    while size < SAID:
        blocks.append(chance.randbytes(chance.randrange(1, 20_000)).replace(b"\n", b"\r") + b"\n")
        size += len(blocks[-1])
    return b"".join(blocks)


@pytest.mark.parametrize(
    "seed",
    [
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2)),
        *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 204)),
    ],
)
def test_a_kill_loses_nothing(installed: Recorder, tmp_path: Path, seed: int) -> None:
    """If a recorder is killed, the recording has everything that either peer has received."""
    chance = random.Random(seed)
    to_agent, to_client = lines(chance), lines(chance)
    (tmp_path / "sent").write_bytes(to_client)
    command = agent("duplex", tmp_path / "sent", tmp_path / "received", 3, 60_000, 100_000)
    conversation = installed(command, *EXACT)
    group = conversation.agent_group()
    moment = chance.randrange(1, SAID // 2)
    chunks = (to_agent[n : n + 50_000] for n in range(0, len(to_agent), 50_000))
    conversation.run(chunks, until=lambda: len(conversation.received) >= moment)
    conversation.process.kill()
    conversation.read_all()
    assert conversation.wait() == -9
    wait_until(lambda: not living(group), "the agent and its guardian to be gone")

    shown = installed.inspect("show", conversation.recording.path)
    assert f"{conversation.recording.field('id')})  incomplete" in shown
    recorded = conversation.recording.stream("to-client")
    assert recorded.startswith(conversation.received)
    assert to_client.startswith(recorded)
    recorded = conversation.recording.stream("to-agent")
    received = (tmp_path / "received").read_bytes()
    assert received
    assert recorded.startswith(received)
    assert to_agent.startswith(recorded)


def test_a_kill_shows_open_requests(installed: Recorder) -> None:
    """If a recorder is killed during a prompt, its recording marks the prompt as unanswered."""
    conversation = installed(shell("read line; echo received; exec cat"))
    conversation.write(b'{"jsonrpc":"2.0","id":1,"method":"session/prompt"}\n')
    conversation.expect(b"received\n")
    conversation.process.kill()
    conversation.wait()
    assert "incomplete: the recorder was killed" in installed.inspect(
        "show", conversation.recording.path
    )
    assert conversation.recording.rows("select method, outcome from exchanges") == [
        ("session/prompt", "unanswered")
    ]
