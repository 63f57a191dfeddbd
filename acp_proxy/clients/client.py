"""What every ACP client has: its files, the agents in them, and how an agent is written there."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from acp_proxy.clients.agents import ConfiguredAgent, RecordedAgent
from acp_proxy.clients.edits import entries, format_json
from acp_proxy.clients.machine import Machine
from acp_proxy.clients.quoting import agents_in


class AcpClient(ABC):
    """An ACP client."""

    name: ClassVar[str]
    """The word for it on the command line."""
    title: ClassVar[str]
    is_graphical: ClassVar[bool] = True
    """Whether it may have a shorter PATH than a shell."""
    owns_files: ClassVar[bool] = True
    """Whether its settings files are a sign of it; those of an editor are none of a plugin."""
    section: ClassVar[str] = ""
    """The member of its settings that has its agents, if entries can be written there for it."""

    @abstractmethod
    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields what is there if it is installed, such as a directory of its own."""

    @abstractmethod
    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns its settings files, there or not, the one to write into first."""

    @abstractmethod
    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Reads the agents of a settings file.

        Args:
            path: the file.
            data: what it has.

        Raises:
            BadSettings: it cannot be read.
        """

    @abstractmethod
    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns settings, ready to paste."""

    def place(self, path: Path) -> str:
        """Says where the settings belong.

        Args:
            path: its settings file.
        """
        return f"for {path}"


class ScriptClient(AcpClient):
    """A client whose settings are a program, in which commands of agents are looked for."""

    owns_files = False

    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Finds commands of agents.

        Args:
            path: the file.
            data: what it has.
        """
        return agents_in(path, data, self.name)


class JsonClient(AcpClient):
    """A client whose settings are JSON with a section of agents by name."""

    agents_section: ClassVar[str]

    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Reads the entries of the section.

        Args:
            path: the file.
            data: what it has.

        Raises:
            BadSettings: it cannot be read.
        """
        found = entries(data, self.agents_section)
        return [agent_of(name, value, path) for name, value in found.items()]

    def entry(self, agent: RecordedAgent) -> dict[str, Any]:
        """Returns the entry of an agent, with all else that the entry has that it is made of."""
        base = agent.value if isinstance(agent.value, dict) else {}
        command = {"command": agent.command[0], "args": [*agent.command[1:]]}
        return {**base, **command, "env": dict(agent.env)}

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a document with the section."""
        value = {self.agents_section: {agent.name: self.entry(agent) for agent in agents}}
        return "\n".join(format_json(value, "  "))


def agent_of(name: str, value: Any, path: Path) -> ConfiguredAgent:
    """Reads an entry with a command, arguments and variables.

    Args:
        name: of the agent.
        value: the entry, which may be anything.
        path: the file.
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
    """Returns the strings of several lists, one after the other; of anything else nothing."""
    found = [each for one in lists if isinstance(one, list) for each in one]
    return [each for each in found if isinstance(each, str)]


def variables(value: Any) -> dict[str, str]:
    """Returns the variables of an object or of a list of pairs; of anything else none."""
    if isinstance(value, list):
        pairs = [one for one in value if isinstance(one, dict)]
        value = {one.get("key") or one.get("name"): one.get("value") for one in pairs}
    if not isinstance(value, dict):
        return {}
    return {name: str(each) for name, each in value.items() if isinstance(name, str)}
