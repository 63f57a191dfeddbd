"""Tests `acp-proxy try --probe` with real agents."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from acp_proxy.store.reader import RecordingReader
from tests.integration.processes import needs_proc, shell
from tests.integration.test_try import SILENT, Trials, trials
from tests.integration.verifying import PLAIN_AGENT, SDK_AGENT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["trials"]
pytestmark = needs_proc

PROBE = ("--probe", "--prompt", "hello", "--prompt", "slow")


def play(trials: Trials, agent: Sequence[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Runs `try --probe` with an agent; returns the exit code, and the results by probe."""
    code, printed = trials.run(*PROBE, "--json", *words, agent=agent)
    report = json.loads(printed)
    assert report["exit"] == code
    assert len(report["recordings"]) == len({*report["recordings"]})
    return code, {probe["id"]: probe for probe in report["probes"]}


def named(probes: dict[str, Any], verdict: str) -> list[str]:
    """Returns the ids of the probes with a given verdict."""
    return [name for name, probe in probes.items() if probe["verdict"] == verdict]


def test_the_python_sdk_fails_three_probes(trials: Trials, tmp_path: Path) -> None:
    """An agent on the Python SDK fails only three probes of `try --probe`.

    Each of the three sends an invalid message.
    """
    junit = tmp_path / "probes.xml"
    code, probes = play(trials, SDK_AGENT, "--junit", str(junit))
    assert code == 0
    assert named(probes, "broken") == ["broken-json", "method-type", "no-method"]
    assert named(probes, "not tested") == ["list", "resume", "close", "closed-session"]
    with RecordingReader(trials.recording) as reader:
        lines = {row["seq"]: row["raw"] for row in reader.rows() if "raw" in row}
    sent, came = probes["method-type"]["frames"]
    assert json.loads(lines[sent])["method"] == 7
    assert json.loads(lines[came])["error"]["code"] == -32601
    prompt, cancel, ended = (json.loads(lines[seq]) for seq in probes["cancel-mid-turn"]["frames"])
    assert prompt["id"] == ended["id"] == "probe:cancel-mid-turn"
    assert cancel["method"] == "session/cancel"
    suite = ET.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == (str(len(probes)), "0")
    assert len(suite.findall("testcase/skipped")) == 4


def test_an_agent_that_ends_is_started_anew(trials: Trials) -> None:
    """If an agent exits during a probe, `try --probe` starts the agent again."""
    code, probes = play(trials, PLAIN_AGENT)
    assert code == 1
    broken = probes["broken-json"]
    assert (broken["detail"], broken["severity"]) == ("the agent ended", "error")
    assert broken["recording"] != probes["method-type"]["recording"]
    assert {"turn", "cancel-mid-turn", "turn-after-cancel", "load"} <= {*named(probes, "holds")}


def test_the_failed_probes_are_printed_with_their_frames(trials: Trials) -> None:
    """`try --probe` prints each failed probe with its frame."""
    code, printed = trials.run(*PROBE)
    assert code == 1
    assert "11 errors, 2 warnings: 37 probes of v1\n" in printed
    name = trials.recording.name
    assert f"the agent ended (#8 of {name})" in printed
    assert 'the result {"sessionId": ' in printed
    assert "20 hold     initialize, unknown-extension" in printed
    assert "not tested  list: the agent does not offer" in printed


def test_prompts_are_announced_before_an_agent_starts(trials: Trials) -> None:
    """Before it starts an agent, `try --probe` says how many prompts it will send."""
    process = trials.start("--probe", agent=["/no/such/agent"])
    printed, stderr = process.communicate()
    assert (process.returncode, printed) == (127, "")
    assert "the probes send at most 4 prompts" in stderr.splitlines()[0]
    assert "/no/such/agent" in stderr


def test_a_mute_agent_is_not_probed(trials: Trials) -> None:
    """If `initialize` is not answered in time, `try --probe` exits with 3."""
    code, probes = play(trials, SILENT, "--timeout", "1")
    assert code == 3
    assert named(probes, "broken") == ["initialize"]
    assert len(probes) == 37


def test_what_an_agent_has_said_on_stderr_is_shown_if_it_fails(trials: Trials) -> None:
    """If an agent does not answer `initialize`, `try --probe` quotes the agent's stderr."""
    dying = [sys.executable, "-IS", "-c", "import sys; sys.exit('no key')"]
    process = trials.start("--probe", agent=dying)
    _, stderr = process.communicate()
    assert process.returncode == 1
    assert "no key" in stderr


def test_a_process_that_an_agent_leaves_behind_is_named(trials: Trials) -> None:
    """`try --probe` ends a process that outlives its agent, and names the process on stderr."""
    process = trials.start("--probe", "--timeout", "1", agent=shell("setsid sleep 600 >&- 2>&- &"))
    _, stderr = process.communicate()
    assert "the agent left a process running, which was ended: sleep 600" in stderr


def test_options_of_a_conversation_do_not_go_with_probes(trials: Trials) -> None:
    """`try --probe` refuses the option `--allow`."""
    for words in (
        ("--probe", "--allow"), ("--probe", "--mcp-server", "cat"), ("--json",),
        ("--junit", "x.xml"), (*PROBE, "--prompt", "third"),
    ):  # fmt: skip
        assert trials.run(*words)[0] == 2
    assert not trials.recording.exists()
