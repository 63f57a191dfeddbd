"""acpx, a client for the terminal and for scripts."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from acp_proxy.clients.agents import ConfiguredAgent, RecordedAgent
from acp_proxy.clients.client import JsonClient, agent_of, strings
from acp_proxy.clients.edits import format_json
from acp_proxy.clients.machine import Machine


class Acpx(JsonClient):
    """The client acpx."""

    name = "acpx"
    title = "acpx"
    is_graphical = False
    agents_section = "agents"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directory of its settings, and the program."""
        yield machine.home / ".acpx"
        if program := machine.find("acpx"):
            yield Path(program)

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the user's settings file, and that of the project."""
        return [machine.home / ".acpx/config.json", machine.directory / ".acpxrc.json"]

    def agents(self, path: Path, data: bytes) -> list[ConfiguredAgent]:
        """Returns the agents in a settings file, where commands are lists of words or shell lines.

        Args:
            path: the file.
            data: its content.

        Raises:
            BadSettings: the file cannot be read.
        """
        return [_agent(one) for one in super().agents(path, data)]

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a document for either file; the commands set variables with ``env``."""
        found = {agent.key: {"argv": [*_assignments(agent), *agent.command]} for agent in agents}
        return "\n".join(format_json({self.agents_section: found}, "  "))


def _agent(found: ConfiguredAgent) -> ConfiguredAgent:
    value: Any = found.value
    if isinstance(value, dict) and isinstance(value.get("argv"), list):
        words = strings(value["argv"])
    elif isinstance(value, dict) and isinstance(value.get("command"), str):
        try:
            words = [*shlex.split(value["command"]), *strings(value.get("args"))]
        except ValueError:
            words = [value["command"]]
    else:
        return agent_of(found.name, value, found.path)
    return ConfiguredAgent(found.name, tuple(words), found.path, found.env, value)


def _assignments(agent: RecordedAgent) -> list[str]:
    return ["env", *(f"{k}={v}" for k, v in agent.env.items())] if agent.env else []
