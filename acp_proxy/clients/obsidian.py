"""The plugin Agent Client for Obsidian."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from acp_proxy.clients.agents import RecordedAgent
from acp_proxy.clients.client import AcpClient
from acp_proxy.clients.edits import document
from acp_proxy.clients.machine import Machine
from acp_proxy.clients.settings_file import read
from acp_proxy.errors import BadSettings

_PLUGIN = ".obsidian/plugins/agent-client"
_BUILT_IN = ("claude", "codex", "gemini")


class Obsidian(AcpClient):
    """The plugin Agent Client, which is installed in each vault by itself."""

    name = "obsidian"
    title = "Obsidian"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns the directory of the plugin in each vault."""
        return [vault / _PLUGIN for vault in _vaults(machine)]

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings file of the plugin in each vault."""
        found = [vault / _PLUGIN / "data.json" for vault in _vaults(machine)]
        return found or [machine.home / "VAULT" / _PLUGIN / "data.json"]

    def _entries(self, data: bytes) -> Iterable[tuple[str, Any]]:
        """Yields the agents built into the plugin, and custom ones."""
        found = document(data)
        custom = found.get("customAgents")
        values = [found.get(name) for name in _BUILT_IN]
        values += custom if isinstance(custom, list) else []
        return [
            (str(one.get("displayName") or one.get("id") or "agent"), one)
            for one in values
            if isinstance(one, dict) and one.get("command")
        ]

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns the values of the fields on the settings page of a custom agent."""
        return "\n\n".join(_fields(agent) for agent in agents)

    def place(self, path: Path) -> str:
        """Returns a phrase that names the settings page, since Obsidian overwrites the file.

        Args:
            path: the settings file of the plugin.
        """
        return f"for Settings, Agent Client, Add custom agent, in the vault {path.parents[3]}"


def _vaults(machine: Machine) -> list[Path]:
    try:
        file = read(machine.applications / "obsidian/obsidian.json")
        vaults = document(file.data or b"").get("vaults")
    except BadSettings:
        return []
    found = vaults.values() if isinstance(vaults, dict) else ()
    paths = [one.get("path") for one in found if isinstance(one, dict)]
    return [Path(path) for path in paths if isinstance(path, str) and Path(path).is_absolute()]


def _fields(agent: RecordedAgent) -> str:
    rows = [
        ("Agent ID", [agent.key]),
        ("Display name", [agent.name]),
        ("Path", [agent.command[0]]),
        ("Arguments", agent.command[1:]),
        ("Environment variables", [f"{name}={value}" for name, value in agent.env.items()]),
    ]
    return "\n".join(
        f"{title if not number else '':24}{value}"
        for title, values in rows
        for number, value in enumerate(values)
    )
