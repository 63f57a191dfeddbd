"""The messages of a client in each dialect: v1, the draft of v2, and the 1.0 draft."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen

from acp_proxy import __version__
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.json_text import member

_NAME = {"name": "acp-proxy try", "version": __version__}


@frozen
class McpServer:
    """An MCP server that the agent is asked to start: its name and its command."""

    name: str
    command: Sequence[str]

    def form(self, dialect: str) -> dict[str, Any]:
        """Returns the server as ``session/new`` has it.

        Args:
            dialect: the dialect of the connection.
        """
        program, *words = self.command
        if dialect == DRAFT:
            transport = {"type": "stdio", "command": program, "args": words}
            return {"name": self.name, "transport": transport}
        plain = {"name": self.name, "command": program, "args": words, "env": []}
        return {"type": "stdio", **plain} if dialect == V2 else plain


@frozen
class Forms:
    """Writes the messages of one dialect.

    Args:
        dialect: the dialect.
    """

    dialect: str

    def initialize(self, *, writes: bool) -> dict[str, Any]:
        """Returns the params of ``initialize``.

        Args:
            writes: whether the client offers to write files and to run terminals.
        """
        if self.dialect == V2:
            return {"protocolVersion": 2, "info": _NAME, "capabilities": {}}
        if self.dialect == DRAFT:
            fs = {"read": True, "write": writes}
            return {"protocolVersion": 1, "clientInfo": _NAME, "capabilities": {"fs": fs}}
        fs = {"readTextFile": True, "writeTextFile": writes}
        can = {"fs": fs, "terminal": writes}
        return {"protocolVersion": 1, "clientInfo": _NAME, "clientCapabilities": can}

    def following(self, result: Any) -> "Forms":
        """Returns the forms of the version in the answer to ``initialize``.

        Args:
            result: the result of ``initialize``.
        """
        version = member(result, "protocolVersion")
        if self.dialect == DRAFT:
            return self
        return Forms({1: V1, 2: V2}.get(version, self.dialect))

    def session(self, cwd: str, servers: Sequence[McpServer]) -> dict[str, Any]:
        """Returns the params of ``session/new``.

        Args:
            cwd: the absolute path of the directory to work in.
            servers: the MCP servers of the session.
        """
        key = "workingDirectory" if self.dialect == DRAFT else "cwd"
        return {key: cwd, "mcpServers": [server.form(self.dialect) for server in servers]}

    def prompt(self, session: str, text: str) -> dict[str, Any]:
        """Returns the params of ``session/prompt``.

        Args:
            session: the id of the session.
            text: the text of the prompt.
        """
        key = "content" if self.dialect == DRAFT else "prompt"
        return {"sessionId": session, key: [{"type": "text", "text": text}]}
