"""Tests the plugin with replayed agents: without a model, a network or a token."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from editor_plugin import Panel, conversation

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.pytest_plugin import AcpAgent

pytestmark = pytest.mark.acp_recording(
    # They were recorded with another client, which has terminals as well. Ours has none.
    ignore="/params/clientCapabilities/terminal"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Makes a project with one file; the agent's edits really change this file."""
    (tmp_path / "greeting.txt").write_text("Hello, world!\n", encoding="utf-8")
    return tmp_path


def ask(agent: AcpAgent, panel: Panel, project: Path, text: str) -> str:
    """Opens a session and sends one prompt; returns the stop reason."""

    async def talk() -> str:
        async with conversation(agent.command, panel, project) as talking:
            return await talking.ask(text)

    return asyncio.run(talk())


@pytest.mark.acp_recording("hello")
def test_the_panel_joins_the_chunks_of_a_message(acp_agent: AcpAgent, project: Path) -> None:
    """The panel of the example editor plugin joins the chunks of an agent's message to one text."""
    panel = Panel(project, may_edit=lambda _: False)
    assert ask(acp_agent, panel, project, "hello") == "end_turn"
    assert panel.text == "Hello! Grüße, café, 你好, 😀.\n"


@pytest.mark.acp_recording("edit-allowed")
def test_an_allowed_edit_changes_the_file(acp_agent: AcpAgent, project: Path) -> None:
    """If the user of the example editor plugin allows an edit, the agent's text is in the file."""
    panel = Panel(project, may_edit=lambda title: title == "Edit greeting.txt")
    assert ask(acp_agent, panel, project, "edit") == "end_turn"
    assert panel.edits == ["Edit greeting.txt"]
    assert (project / "greeting.txt").read_text(encoding="utf-8").startswith("Hello, ACP!")
    acp_agent.check("warning")


@pytest.mark.acp_recording("edit-rejected")
def test_a_refused_edit_leaves_the_file_alone(acp_agent: AcpAgent, project: Path) -> None:
    """If the user of the example editor plugin refuses an edit, the file does not change."""
    panel = Panel(project, may_edit=lambda _: False)
    assert ask(acp_agent, panel, project, "edit") == "end_turn"
    assert "rejected" in panel.text
    assert (project / "greeting.txt").read_text(encoding="utf-8") == "Hello, world!\n"


@pytest.mark.acp_recording("edit-allowed", inert=True)
def test_nothing_is_written_by_an_inert_agent(acp_agent: AcpAgent, project: Path) -> None:
    """With `inert=True`, the agent that a test of the editor plugin replays writes no file."""
    panel = Panel(project, may_edit=lambda _: True)
    assert ask(acp_agent, panel, project, "edit") == "end_turn"
    assert panel.text.endswith("Done.\n")
    assert (project / "greeting.txt").read_text(encoding="utf-8") == "Hello, world!\n"
    assert acp_agent.report.data["withheld"]
