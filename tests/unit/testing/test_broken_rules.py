"""With the pytest plugin, a test fails if the recording that it plays breaks a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import NoSuchRule
from acp_proxy.pytest_plugin import AcpAgent
from tests.support.example_checker import text_form_of

if TYPE_CHECKING:
    from pathlib import Path

CLEAN = [
    '-> #0 initialize {"protocolVersion": 1, "clientCapabilities": {},'
    ' "clientInfo": {"name": "ed", "version": "1"}}',
    '<- #0 result {"protocolVersion": 1, "agentCapabilities": {},'
    ' "agentInfo": {"name": "ag", "version": "1"}}',
]


def agent_of(directory: Path, lines: list[str], real_agent: list[str] | None = None) -> AcpAgent:
    """Returns the pytest plugin's agent for a test that plays a conversation."""
    path = directory / "talk.jsonl"
    path.write_bytes(b"".join(text_form_of(lines)))
    return AcpAgent(
        directory, path, recordings=[path], options=[], real_agent=real_agent, patience_s=1
    )


def test_a_clean_recording_passes(tmp_path: Path) -> None:
    """In the pytest plugin, `agent.check` accepts a recording that breaks no rule of ACP."""
    agent = agent_of(tmp_path, CLEAN)
    for severity in ("error", "warning", "info"):
        agent.check(severity)


def test_a_broken_rule_fails_the_test(tmp_path: Path) -> None:
    """In the pytest plugin, `agent.check` fails the test if the played recording breaks a rule."""
    agent = agent_of(tmp_path, [*CLEAN, "<- | a log line"])
    with pytest.raises(AssertionError) as raised:
        agent.check()
    title, total, finding, command = str(raised.value).splitlines()
    assert title == "acp check: talk.jsonl has findings"
    assert total.startswith("1 error: ")
    assert finding.startswith("✗ frame.not-json by the agent: #3: ")
    assert command == f"`acp-proxy check {tmp_path / 'talk.jsonl'}` shows everything"
    agent.check(ignore=["frame"])
    agent.check(ignore="frame")


def test_only_what_is_severe_enough_counts(tmp_path: Path) -> None:
    """In the pytest plugin, `agent.check("info")` fails a test even because of a hint."""
    agent = agent_of(tmp_path, [line.replace("Info", "_info") for line in CLEAN[:1]])
    with pytest.raises(AssertionError, match="has findings"):
        agent.check("info")


def test_wrong_use_is_an_error(tmp_path: Path) -> None:
    """In the pytest plugin, `check` refuses wrong arguments, such as an unknown severity."""
    agent = agent_of(tmp_path, CLEAN)
    with pytest.raises(ValueError, match="expected fail_on to be one of error, warning, info"):
        agent.check("never")
    with pytest.raises(NoSuchRule):
        agent.check(ignore=["frames"])
    with pytest.raises(RuntimeError, match="never started"):
        agent_of(tmp_path, CLEAN, ["agent"]).check()
