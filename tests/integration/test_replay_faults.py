"""Tests `acp-proxy replay` with faults: sent bytes, exit codes and reports."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.integration.processes import DEADLINE_S

if TYPE_CHECKING:
    from tests.support.fork_server import ForkServer

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "recordings" / "tour.db"
with RecordingReader(TOUR) as _reader:
    HELLO = b"".join(_reader.pieces(2)) + b"\n"
    """The first message of the recorded client."""
ACP_PROXY = [sys.executable, "-m", "acp_proxy"]


Replay = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def replay(fork_server: ForkServer) -> Replay:
    """Replays the recording "tour" to a client that sends one message and leaves."""

    def run(*options: str) -> subprocess.CompletedProcess[bytes]:
        return fork_server.run(["replay", *options, "--", TOUR], HELLO, env=os.environ, cwd=ROOT)

    return run


@pytest.mark.parametrize(
    ("rule", "code"),
    [("exit code=42", 42), ("kill", -9), ("terminate", -15), ("exit code=0", 0)],
)
def test_a_fault_that_ends_the_agent_ends_the_replay(
    replay: Replay, tmp_path: Path, rule: str, code: int
) -> None:
    """If a fault ends the agent of a replay, the replay ends with the fault's code or signal."""
    report = tmp_path / "report.json"
    where = "where='dir:to-client method:initialize'"
    result = replay("--fault", f"{rule} {where}", "--seed", "7", "--report", str(report))
    assert result.returncode == code
    content = json.loads(report.read_text())
    assert content["faults"] == {rule.split()[0]: 1}
    assert content["seed"] == 7


def test_a_dropped_message_is_no_divergence(fork_server: ForkServer) -> None:
    """If a fault of `replay` drops the prompt, the replay says so on stderr and exits with 0."""
    hello = ROOT / "recordings" / "hello.db"
    with RecordingReader(hello) as reader:
        sent = b"".join(b"".join(reader.pieces(seq)) + b"\n" for seq in (2, 4, 6))
    rule = ["--fault", 'drop where="method:session/prompt"']
    result = fork_server.run(["replay", *rule, "--", hello], sent, env=os.environ, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    assert b"session/prompt #" in result.stderr
    assert b"was dropped by fault drop" in result.stderr


def test_the_report_has_the_command_that_repeats_it(replay: Replay, tmp_path: Path) -> None:
    """The report of a replay with faults has a command that repeats the replay."""
    report = tmp_path / "report.json"
    rule = "corrupt mode=flip where=dir:to-client"
    result = replay("--fault", rule, "--fault", "drop where=method:none", "--report", str(report))
    content = json.loads(report.read_text())
    words = shlex.split(content["reproduce"])
    assert words[:2] == ["acp-proxy", "replay"]
    assert f"--seed={content['seed']}" in words
    again = subprocess.run(
        [*ACP_PROXY, *words[1:]], input=HELLO, capture_output=True, timeout=60, cwd=ROOT
    )
    assert again.stdout == result.stdout
    printed = result.stderr.decode()
    assert f"faults that fired: corrupt 1; seed {content['seed']}" in printed
    assert "warning: drop never fired" in printed
    assert f"reproduce with: {content['reproduce']}" in printed


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--fault", "dorp"], "--fault 'dorp': kind: there is no 'dorp'; did you mean drop?"),
        (["--faults", "@flaky-agent", "--seed", "99"], "two seeds are given: 99 and 2"),
    ],
)
def test_a_bad_plan_is_refused_before_playing(
    replay: Replay, options: list[str], complaint: str
) -> None:
    """`replay` refuses an invalid fault plan with an error of one line."""
    result = replay(*options)
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.decode().startswith(f"acp-proxy: {complaint}")
    assert result.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_the_sdks_client_sees_the_faults() -> None:
    """With faults of `replay`, a client on the Python SDK gets extra updates, errors or an exit."""
    from tests.agents.tour_client import tour  # imports the SDK, which takes long

    def sdk_client(*options: str) -> tuple[bool, list[dict[str, Any]]]:
        agent = [*ACP_PROXY, "replay", *options, "--", str(TOUR)]
        went_well, events = asyncio.run(asyncio.wait_for(tour(agent), DEADLINE_S))
        return went_well, json.loads(events)

    went_well, plain = sdk_client()
    assert went_well
    assert sdk_client("--faults", "@split-utf8") == (True, plain)
    went_well, doubled = sdk_client("--faults", "@duplicate-updates")
    assert went_well
    updates = [sum("update" in item for item in events) for events in (plain, doubled)]
    assert updates[1] == updates[0] + 10
    went_well, failed = sdk_client("--faults", "@error-on-prompt")
    assert not went_well
    assert any(item.get("error") == -32603 for item in failed)
    went_well, dead = sdk_client("--faults", "@crash-mid-frame")
    assert not went_well
    assert {"exited": 139} in dead
    assert sum("update" in item for item in dead) == 3
