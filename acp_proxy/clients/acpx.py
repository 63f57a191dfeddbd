"""acpx, a client for the terminal and for scripts."""

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from acp_proxy.clients.agents import ConfiguredAgent, RecordedAgent
from acp_proxy.clients.client import JsonClient, strings
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

    def _agent(self, name: str, entry: Any, path: Path) -> ConfiguredAgent:
        """Reads an entry, whose command may be a list of words or a shell line."""
        found = super()._agent(name, entry, path)
        words = _words(entry) if isinstance(entry, dict) else None
        return found if words is None else evolve(found, command=tuple(words))

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a document for either file; the commands set variables with ``env``."""
        found = {agent.key: {"argv": [*agent.env_words, *agent.command]} for agent in agents}
        return "\n".join(format_json({self.agents_section: found}, "  "))


def _words(entry: dict[str, Any]) -> list[str] | None:
    if isinstance(entry.get("argv"), list):
        return strings(entry["argv"])
    line = entry.get("command")
    if not isinstance(line, str):
        return None
    try:
        return [*shlex.split(line), *strings(entry.get("args"))]
    except ValueError:
        return [line]
