"""Clients that get the agent's command on their own command line: Toad and marimo."""

import shlex
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from acp_proxy.clients.agents import RecordedAgent
from acp_proxy.clients.client import AcpClient
from acp_proxy.clients.machine import Machine


class _CommandLineClient(AcpClient):
    """A client whose settings name no agents."""

    is_graphical = False

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directory of its settings, and the program."""
        yield from (file.parent for file in self.files(machine))
        if program := machine.find(self.name):
            yield Path(program)

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a shell command for each agent, one a line."""
        return "\n".join(self.line(agent) for agent in agents)

    @abstractmethod
    def line(self, agent: RecordedAgent) -> str:
        """Returns the shell command that starts the client with an agent."""

    def place(self, path: Path) -> str:  # noqa: ARG002
        """Returns a phrase that says that the snippet is for a shell.

        Args:
            path: the settings file of the client.
        """
        return "for a shell"


class Toad(_CommandLineClient):
    """Toad, which runs in a terminal."""

    name = "toad"
    title = "Toad"

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns its settings file."""
        return [machine.config / "toad/toad.json"]

    def line(self, agent: RecordedAgent) -> str:
        """Returns the shell command that starts Toad with an agent."""
        words = ["toad", "acp", shlex.join(agent.command), "--title", agent.name]
        return shlex.join([*agent.env_words, *words])


class Marimo(_CommandLineClient):
    """marimo, to which a bridge connects agents."""

    name = "marimo"
    title = "marimo"

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns its settings file."""
        return [machine.config / "marimo/marimo.toml"]

    def line(self, agent: RecordedAgent) -> str:
        """Returns the shell command that starts the bridge with an agent."""
        command = " ".join(map(_word, agent.command))
        words = ["npx", "stdio-to-ws", command, "--port", "3023"]
        return shlex.join([*agent.env_words, *words])


def _word(text: str) -> str:
    """Returns a word quoted for the bridge, which understands quotes but no other shell syntax."""
    is_plain = not {*text} & {*'"$`\\'}
    return f'"{text}"' if "'" in text and is_plain else shlex.quote(text)
