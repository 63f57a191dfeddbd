"""Tests ``verify --runs`` with an agent whose model uses other words in each run."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import needs_proc
from tests.integration.verifying import RECORDINGS, Verified, Verifier

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.fork_server import ForkServer

pytestmark = needs_proc


@pytest.fixture
def verify(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> Verifier:
    """Runs `acp-proxy verify`."""
    return Verifier(acp_proxy, tmp_path, fork_server)


@pytest.fixture
def recorded(verify: Verifier, tmp_path: Path) -> Path:
    """Makes a recording of the agent, whose words differ from those in all later runs."""
    path = tmp_path / "recorded.db"
    (tmp_path / "count").write_text("40")
    verify.here("hello", agent(tmp_path), "-o", str(path))
    (tmp_path / "count").unlink()
    return path


def agent(directory: Path, *odd: str) -> list[str]:
    """Returns the command of the agent, which counts its runs in a file."""
    command = [sys.executable, "-S", "-m", "tests.agents.model_agent"]
    return [*command, str(directory / "count"), *odd]


def unstable(result: Verified) -> list[str]:
    """Returns, for each unstable run, the pointer or the title of its first difference."""
    firsts = [run["entries"][0] for run in result.report["unstable"]]
    return [
        entry["fields"][0]["pointer"] if entry["fields"] else entry["title"] for entry in firsts
    ]


def test_a_model_that_words_its_answer_differently_is_clean(
    verify: Verifier, recorded: Path, tmp_path: Path
) -> None:
    """If an agent changes only its wording, `verify --runs 3` reports no difference."""
    once = verify.here(recorded, agent(tmp_path))
    assert (once.code, once.report["runs"]) == (1, [once.report["recorded_as"]])
    assert not any(place.endswith("/version") for place, _ in once.differences)
    output = tmp_path / "new" / "run.db"
    output.parent.mkdir()
    result = verify.here(recorded, agent(tmp_path), "--runs", "3", "-o", str(output))
    assert (result.code, result.stdout) == (0, "")
    assert "the agent did what was recorded: 3 runs, " in result.stderr
    names = ["run.db", "run-2.db", "run-3.db"]
    assert result.report["runs"] == [str(output.with_name(name)) for name in names]
    assert sorted(path.name for path in output.parent.iterdir()) == sorted(names)
    assert (result.report["verdict"], result.report["unstable"]) == ("clean", [])
    assert "(3 runs)" in (ET.fromstring(result.junit).get("name") or "")


@pytest.mark.parametrize(
    ("odd", "place"),
    [
        ("kind", "/params/update/kind"),
        ("permission", "session/request_permission"),
        ("stop", "/result/stopReason"),
        ("error", "session/update tool_call"),
    ],
)
def test_an_agent_that_does_not_always_do_the_same_is_unstable(
    verify: Verifier, recorded: Path, tmp_path: Path, odd: str, place: str
) -> None:
    """If an agent's permissions or stop reason vary by run, `verify --runs` calls it unstable."""
    result = verify.here(recorded, agent(tmp_path, odd), "--runs", "3")
    assert (result.code, result.report["verdict"]) == (1, "unstable")
    assert [run["run"] for run in result.report["unstable"]] == [2, 3]
    assert unstable(result) == [place, place]
    assert "run 1 and run 2 of the new agent are not the same" in result.stdout
    cases = ET.fromstring(result.junit).iter("testcase")
    failed = {case.get("classname") for case in cases if case.find("failure") is not None}
    assert {"run 2", "run 3"} <= failed
    assert "the agent did not do the same in all runs: 3 runs, " in result.stderr


def test_what_all_runs_do_differently_is_a_difference(
    verify: Verifier, recorded: Path, tmp_path: Path
) -> None:
    """`verify --runs` reports a change that all runs have in common."""
    result = verify.here(recorded, agent(tmp_path, "kind!"), "--runs", "3")
    assert (result.code, result.report["verdict"]) == (1, "differs")
    assert result.differences == [("changed session/update tool_call", "/params/update/kind")]
    assert result.report["unstable"] == []


def test_a_batch_refuses_runs(verify: Verifier, tmp_path: Path) -> None:
    """`verify --runs` refuses several recordings."""
    for words in (RECORDINGS, RECORDINGS / "hello.db"):
        options = ("--runs", "2", *(["--jobs", "1"] if words.suffix else []))
        result = verify.here(words, agent(tmp_path), *options)
        # The reports of the helper are refused only after --runs.
        assert (result.code, result.stderr.count("\n")) == (2, 1)
        assert "--runs is for one recording" in result.stderr
