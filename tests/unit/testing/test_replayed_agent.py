"""The pytest plugin reads the files that each process of a replayed agent leaves."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_proxy.base.forms import converter
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind, Rank
from acp_proxy.store.reader import RecordingReader
from acp_proxy.testing.rehearsal import rehearse
from acp_proxy.testing.replayed_agent import AcpAgent, runs_in, wait
from tests.integration.processes import plain_signals

RECORDING = Path(__file__).parents[3] / "recordings" / "hello.db"

HOLD = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.lockf(fd, fcntl.LOCK_EX)
os.write(fd, f"{os.getpid()}\\n".encode())
print("held", flush=True)
sys.stdin.read()
"""


def agent_in(directory: Path, **plan: object) -> AcpAgent:
    """Returns an agent of the pytest plugin that does not wait for processes."""
    usual = {"recordings": [RECORDING], "options": [], "real_agent": None, "patience_s": 0}
    return AcpAgent(directory, RECORDING, **{**usual, **plan})  # type: ignore[arg-type]


def leave(directory: Path, number: int, report: dict[str, object] | None) -> None:
    """Leaves the files of a process that has ended."""
    (directory / f"{number}.lock").write_text("1\n")
    if report is not None:
        (directory / f"{number}.json").write_text(json.dumps(report))


@pytest.fixture(scope="module")
def clean() -> dict[str, object]:
    """Returns the report of a clean replay."""
    with RecordingReader(RECORDING) as reader:
        actual = converter.unstructure(rehearse(reader))
    assert isinstance(actual, dict)
    return actual


def test_a_start_is_over_when_its_lock_is_free(tmp_path: Path) -> None:
    """The pytest plugin calls a replayed agent running while its process holds a lock."""
    (tmp_path / "2.lock").touch()
    command = [sys.executable, "-c", HOLD, str(tmp_path / "1.lock")]
    with (
        plain_signals(),
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        first, second = runs_in(tmp_path)
        assert (first.is_over(), second.is_over()) == (False, False)
        assert not wait([first], 0)
        first.end()
        assert first.was_ended
        assert process.wait() < 0
    assert first.is_over()


def test_looking_takes_no_lock_away(tmp_path: Path) -> None:
    """The pytest plugin can look if a replayed agent has ended without taking a lock from it."""
    leave(tmp_path, 1, None)
    (run,) = runs_in(tmp_path)
    assert run.is_over()
    fd = os.open(tmp_path / "1.lock", os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)
    assert run.is_over()
    assert not run.was_ended


def test_starts_are_in_order(tmp_path: Path) -> None:
    """If a test starts an agent several times, the pytest plugin sorts the starts by number."""
    for number in (10, 9, 1):
        leave(tmp_path, number, None)
    assert [run.number for run in runs_in(tmp_path)] == [1, 9, 10]


def test_a_report_commands_no_terminal(tmp_path: Path, clean: dict[str, object]) -> None:
    """The pytest plugin escapes control characters in the report of a replay's divergences."""
    bad = Divergence(
        DivergenceKind.UNMATCHED, Rank.PRIMARY, "s\x1b[2J", "it\x07", line=1, came="\x1b]0;"
    )
    report = clean | {"verdict": "diverged", "divergences": [converter.unstructure(bad)]}
    leave(tmp_path, 1, report)
    (actual,) = agent_in(tmp_path).reports
    assert actual.verdict == "diverged"
    assert actual.text.replace("\n", "").isprintable()
    assert "it\\x07" in actual.text


def test_every_start_has_to_be_clean(tmp_path: Path, clean: dict[str, object]) -> None:
    """If an agent was started several times, the pytest plugin reports the first bad start."""
    leave(tmp_path, 1, clean)
    assert agent_in(tmp_path).verdict() == "clean"
    assert agent_in(tmp_path).complaint() is None
    leave(tmp_path, 2, clean | {"verdict": "stalled", "exit_code": 3})
    leave(tmp_path, 3, clean)
    agent = agent_in(tmp_path)
    assert (agent.verdict(), agent.report.verdict) == ("stalled", "clean")
    assert "stalled" in (agent.complaint() or "")


def test_a_start_without_a_report_is_an_error(tmp_path: Path, clean: dict[str, object]) -> None:
    """If a replayed agent fails without a report, the pytest plugin's error says why."""
    leave(tmp_path, 1, clean)
    leave(tmp_path, 2, None)
    (tmp_path / "2.error").write_text("no such thing")
    with pytest.raises(RuntimeError, match="start 2 of the agent failed: no such thing"):
        _ = agent_in(tmp_path).reports
    (tmp_path / "2.error").unlink()
    (tmp_path / "2.json").write_text('{"verdict":')
    assert "start 2 of the agent was killed" in (agent_in(tmp_path).complaint() or "")


def test_there_is_no_report_before_there_is_one(tmp_path: Path) -> None:
    """In the pytest plugin, asking for the report of an agent that still runs is an error."""
    with pytest.raises(RuntimeError, match="never started"):
        _ = agent_in(tmp_path).report
    (tmp_path / "1.lock").touch()
    with pytest.raises(RuntimeError, match="still runs"):
        agent_in(tmp_path).verdict()
    with pytest.raises(RuntimeError, match="records a real agent"):
        _ = agent_in(tmp_path, real_agent=["x"]).reports


def test_the_environment_has_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pytest plugin passes no variable of acp-proxy on to an agent."""
    monkeypatch.setenv("ACP_PROXY_OFF", "1")
    monkeypatch.setenv("SOMETHING", "2")
    env = agent_in(tmp_path).env
    assert "ACP_PROXY_OFF" not in env
    assert env["SOMETHING"] == "2"


def test_it_opens_what_is_played(tmp_path: Path) -> None:
    """With the pytest plugin, a test can open the recording that its agent replays."""
    with agent_in(tmp_path).open() as recording:
        assert recording.path == RECORDING
        assert [turn.prompt for turn in recording.turns()] == ["hello"]


def test_it_opens_what_is_recorded(tmp_path: Path) -> None:
    """With the pytest plugin, a test can open the recording of its real agent."""
    real = agent_in(tmp_path, real_agent=["my-agent"])
    with pytest.raises(RuntimeError, match="the agent was never started"):
        real.open()
    (tmp_path / "1.lock").write_text("1")
    (tmp_path / "1.db").write_bytes(RECORDING.read_bytes())
    with real.open() as recording:
        assert recording.path == tmp_path / "1.db"
