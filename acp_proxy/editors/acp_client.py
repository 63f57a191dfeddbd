"""The base class of ACP clients: where their settings are, and how settings name agents."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from acp_proxy.editors.agents import ConfiguredAgent, Machine, RecordedAgent


class AcpClient(ABC):
    """An ACP client: an editor, a plugin of an editor, or a program for the terminal."""

    name: ClassVar[str]
    """The name of the client on the command line."""
    title: ClassVar[str]
    is_graphical: ClassVar[bool] = True
    """Whether the PATH of the client may be shorter than the PATH of a shell."""
    owns_files: ClassVar[bool] = True
    """Whether existing settings files show that the client is installed. False for a plugin, whose
    settings are in the files of its editor."""
    section: ClassVar[str] = ""
    """The name of the settings member that contains the agents; empty if acp-proxy cannot write
    it."""

    @abstractmethod
    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns paths; if any of these paths exists, the client counts as installed."""

    @abstractmethod
    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the paths of the settings files, the preferred file first; none need exist."""

    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Returns the agents in a settings file.

        Args:
            path: the file.
            data: its content.

        Raises:
            BadSettings: the file cannot be read.
        """
        return [self._agent(name, entry, path) for name, entry in self._entries(data)]

    def _entries(self, data: bytes) -> Iterable[tuple[str, Any]]:  # noqa: ARG002
        """Yields the name and the entry of each agent in settings; this class yields nothing."""
        return ()

    def _agent(self, name: str, entry: Any, path: Path) -> ConfiguredAgent:
        """Makes an agent from a settings entry, which may be any value."""
        return agent_of(name, entry, path)

    @abstractmethod
    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns settings with these agents, ready to paste."""

    def place(self, path: Path) -> str:
        """Returns a phrase that says where the snippet belongs.

        Args:
            path: the settings file of the client.
        """
        return f"for {path}"


def agent_of(name: str, value: Any, path: Path) -> ConfiguredAgent:
    """Returns the agent of a settings entry.

    Args:
        name: the name of the agent.
        value: the entry, any JSON value. Without a command in the entry, the agent's command is
            empty.
        path: the settings file.
    """
    if not isinstance(value, dict):
        return ConfiguredAgent(name, (), path)
    if value.get("type") in ("registry", "extension"):
        return ConfiguredAgent(name, (), path, variables(value.get("env")), value)
    parts = value["command"] if isinstance(value.get("command"), dict) else value
    program = parts.get("path") or parts.get("command")
    words = strings([program] if program else [], parts.get("args"))
    return ConfiguredAgent(name, tuple(words), path, variables(parts.get("env")), value)


def strings(*lists: Any) -> list[str]:
    """Returns the strings in several lists as one list; values that are not lists are ignored."""
    words = [each for words in lists if isinstance(words, list) for each in words]
    return [each for each in words if isinstance(each, str)]


def variables(value: Any) -> dict[str, str]:
    """Returns the variables in an object or a list of name-value objects; none for other values."""
    if isinstance(value, list):
        pairs = [pair for pair in value if isinstance(pair, dict)]
        value = {pair.get("key") or pair.get("name"): pair.get("value") for pair in pairs}
    if not isinstance(value, dict):
        return {}
    return {name: str(each) for name, each in value.items() if isinstance(name, str)}
