"""The agent of a test opens what it plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.testing.agent import AcpAgent

HELLO = Path(__file__).parents[3] / "recordings" / "hello.db"


def agent(directory: Path, *real_agent: str) -> AcpAgent:
    """An agent that plays one recording, or is recorded."""
    return AcpAgent(
        directory,
        HELLO,
        recordings=[HELLO],
        options=[],
        real_agent=[*real_agent] or None,
        patience_s=1,
    )


def test_it_opens_what_is_played(tmp_path: Path) -> None:
    """A test can look up what the agent is going to say."""
    with agent(tmp_path).open() as recording:
        assert recording.path == HELLO
        assert [turn.prompt for turn in recording.turns()] == ["hello"]


def test_it_opens_what_is_recorded(tmp_path: Path) -> None:
    """Of a real agent the recording is that of its last start."""
    real = agent(tmp_path, "my-agent")
    with pytest.raises(RuntimeError, match="the agent was never started"):
        real.open()
    (tmp_path / "1.lock").write_text("1")
    (tmp_path / "1.db").write_bytes(HELLO.read_bytes())
    with real.open() as recording:
        assert recording.path == tmp_path / "1.db"
