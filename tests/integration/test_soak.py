"""Tests recordings of a million frames, and thousands of random streams."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from tests.integration.processes import EXACT, agent, needs_proc, peak_memory
from tests.property.test_relay_bytes import SIZES, cut, expect_unchanged, odd_bytes
from tests.support.million_frames import record_million

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder

pytestmark = pytest.mark.soak

FRAMES = 1_000_000
FRAME = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","n":%07d,"pad":"%s"}}\n'
)
PEAK = 48 << 20
PEAK_READING = 200 << 20


@needs_proc
def test_a_million_frames(installed: Recorder, tmp_path: Path) -> None:
    """A recorder stores a million frames of 300 bytes completely, and its memory does not grow."""
    sent = tmp_path / "sent"
    with sent.open("wb") as file:
        pad = b"x" * (301 - len(FRAME % (0, b"")))
        file.writelines(FRAME % (n, pad) for n in range(FRAMES))
    conversation = installed(agent("duplex", sent, tmp_path / "received", 65_536))
    conversation.run(until=lambda: len(conversation.received) == sent.stat().st_size)
    conversation.catch_up()
    assert peak_memory(conversation.process.pid) < PEAK
    assert conversation.exchange() == sent.read_bytes()
    assert conversation.wait() == 0
    assert conversation.recording.rows("select count(*), sum(size + 1) from frames") == [
        (FRAMES, sent.stat().st_size)
    ]
    command = f"'{installed.acp_proxy}' inspect log '{conversation.recording.path}' | head -3"
    page = subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=True)
    assert len(page.stdout.splitlines()) == 3
    assert page.stderr == b""


@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(odd_bytes(), odd_bytes(), SIZES, SIZES)
def test_thousands_of_random_streams(
    to_agent: bytes, to_client: bytes, agent_sizes: list[int], client_sizes: list[int]
) -> None:
    """Random bytes pass through a recorder unchanged."""
    expect_unchanged(to_agent, to_client, agent_sizes, client_sizes)


def test_a_gigabyte_of_noise(installed: Recorder, tmp_path: Path) -> None:
    """A recorder passes a gigabyte of random bytes on to the client unchanged."""
    chance = random.Random(1)
    block = chance.randbytes(64 << 20)
    sent = tmp_path / "sent"
    with sent.open("wb") as file:
        file.writelines([block] * 16)
    conversation = installed(agent("duplex", sent, tmp_path / "received", 65_536, 1_000), *EXACT)
    size = sent.stat().st_size
    conversation.run(cut(block, [65_536]), until=lambda: len(conversation.received) == size)
    assert conversation.exchange() == sent.read_bytes()
    assert conversation.wait() == 0
    assert conversation.recording.stream("to-agent") == block


@pytest.fixture(scope="module")
def million(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes a recording of a million frames."""
    return record_million(tmp_path_factory.mktemp("million") / "million.db")


@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["audit"],
        ["stats"],
        ["log"],
        ["log", "--json"],
        ["log", "method:fs/*"],
        ["search", "found in there"],
        ["export"],
    ],
    ids=" ".join,
)
def test_a_million_frames_are_inspected_in_flat_memory(
    million: Path, acp_proxy: Path, arguments: list[str]
) -> None:
    """Commands such as `show` need less than 200 MiB of memory for a million frames."""
    command, *rest = arguments
    target = [*rest, str(million)] if command == "search" else [str(million), *rest]
    assert _peak([str(acp_proxy), "inspect", command, *target]) < PEAK_READING


def test_two_million_frames_are_compared(million: Path, acp_proxy: Path) -> None:
    """`diff` of two recordings of a million frames needs less than 200 MiB of memory."""
    command = [str(acp_proxy), "inspect", "diff", str(million), str(million)]
    assert _peak(command) < PEAK_READING


def test_a_million_frames_are_replayed_in_flat_memory(million: Path, acp_proxy: Path) -> None:
    """A replay of a million frames needs less than 200 MiB of memory."""
    client = [sys.executable, "-m", "acp_proxy.client", str(million), "--"]
    agent_command = [str(acp_proxy), "replay", str(million)]
    assert _peak([*client, *agent_command]) < PEAK_READING


def _peak(command: list[str]) -> int:
    """Runs a command that must succeed; returns the peak memory of it and its children."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_maxrss << 10
