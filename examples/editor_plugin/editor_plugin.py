"""The ACP client of an imaginary editor plugin: a panel that shows what an agent says.

The client is small, but it works. It uses the official Python SDK (`pip install
agent-client-protocol`), reads and writes the project's files for the agent, and asks its user
before an edit.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import acp
from acp import schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


class Panel:
    """The panel of the editor: it shows text of the agent, and answers the agent's requests.

    Attributes:
        text: all text of the agent so far.
        edits: the titles of all edits that the user was asked to allow.
    """

    def __init__(self, project: Path, may_edit: Callable[[str], bool]) -> None:
        self.text = ""
        self.edits: list[str] = []
        self._project = project
        self._may_edit = may_edit

    def on_connect(self, conn: acp.Agent) -> None:
        """Does nothing: a panel does not need the connection."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Adds text of the agent; thoughts, plans and tool calls are not shown yet."""
        if isinstance(update, schema.AgentMessageChunk):
            self.text += getattr(update.content, "text", "")

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> acp.RequestPermissionResponse:
        """Asks the user whether the agent may edit."""
        self.edits.append(tool_call.title)
        wanted = "allow_once" if self._may_edit(tool_call.title) else "reject_once"
        chosen = next(option.option_id for option in options if option.kind == wanted)
        return acp.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen)
        )

    async def read_text_file(
        self, session_id: str, path: str, **_: Any
    ) -> acp.ReadTextFileResponse:
        """Reads a file of the project."""
        return acp.ReadTextFileResponse(content=self._file(path).read_text(encoding="utf-8"))

    async def write_text_file(
        self, session_id: str, path: str, content: str, **_: Any
    ) -> acp.WriteTextFileResponse:
        """Writes a file of the project."""
        self._file(path).write_text(content, encoding="utf-8")
        return acp.WriteTextFileResponse()

    def _file(self, path: str) -> Path:
        file = (self._project / path).resolve()
        if not file.is_relative_to(self._project.resolve()):
            raise acp.RequestError.invalid_params({"details": f"{path} is not in the project"})
        return file


class Conversation:
    """A running agent, and one session with it."""

    def __init__(self, agent: Any, session_id: str) -> None:
        self._agent = agent
        self._session_id = session_id

    async def ask(self, text: str) -> str:
        """Sends a prompt, waits until the turn has ended, and returns the stop reason."""
        reply = await self._agent.prompt(self._session_id, [acp.text_block(text)])
        return str(reply.stop_reason)


@asynccontextmanager
async def conversation(command: list[str], panel: Panel, cwd: Path) -> AsyncIterator[Conversation]:
    """Starts an agent and opens a session in a project; ends the agent afterwards."""
    async with acp.spawn_agent_process(cast("acp.Client", panel), *command, cwd=cwd) as (agent, _):
        capabilities = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True)
        )
        me = schema.Implementation(name="editor-plugin", version="0.1")
        await agent.initialize(acp.PROTOCOL_VERSION, capabilities, me)
        session = await agent.new_session(str(cwd), mcp_servers=[])
        yield Conversation(agent, session.session_id)
