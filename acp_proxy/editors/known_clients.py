"""The list of all known clients, and a search for clients that are installed on this machine.

The clients here have settings in JSON; `script_clients` has the other clients.
"""

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import evolve, frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.acp_client import AcpClient, strings
from acp_proxy.editors.agents import ConfiguredAgent, Machine, RecordedAgent
from acp_proxy.editors.script_clients import AgentShell, Avante, CodeCompanion, Marimo, Toad
from acp_proxy.editors.settings_changes import read
from acp_proxy.editors.settings_edits import document, entries, format_json

_FLATPAK = ".var/app/dev.zed.Zed/config/zed"


class JsonClient(AcpClient):
    """A client whose settings are JSON, with a member that contains the agents by their names."""

    agents_section: ClassVar[str]
    """The name of the member that contains the agents."""

    def _entries(self, data: bytes) -> Iterable[tuple[str, Any]]:
        return entries(data, self.agents_section).items()

    def entry(self, agent: RecordedAgent) -> dict[str, Any]:
        """Returns an agent's entry: the original members, with the new command and variables."""
        base = agent.value if isinstance(agent.value, dict) else {}
        command = {"command": agent.command[0], "args": [*agent.command[1:]]}
        return {**base, **command, "env": dict(agent.env)}

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns a JSON document with the entries of these agents."""
        value = {self.agents_section: {agent.name: self.entry(agent) for agent in agents}}
        return "\n".join(format_json(value, "  "))


class Zed(JsonClient):
    """Zed, whose settings are JSON with comments."""

    name = "zed"
    title = "Zed"
    section = agents_section = "agent_servers"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns the directories of Zed and, on macOS, the path of the program."""
        return [file.parent for file in self.files(machine)] + [
            machine.data / "zed",
            machine.home / "Library/Application Support/Zed",
            *([Path("/Applications/Zed.app")] if machine.platform == "darwin" else ()),
        ]

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the user's two settings files: of Zed, and of Zed as a Flatpak."""
        own = machine.home / ".config" if machine.platform == "darwin" else machine.config
        files = [own / "zed/settings.json", machine.home / _FLATPAK / "settings.json"]
        return sorted(
            files,
            key=lambda file: not os.path.isdir(file.parent),  # noqa: PTH112  which raises nothing
        )

    def entry(self, agent: RecordedAgent) -> dict[str, Any]:
        """Returns an agent's settings entry; the type ``custom`` says that it has a command."""
        return {"type": "custom"} | super().entry(agent) | {"type": "custom"}


class JetBrains(JsonClient):
    """The IDEs of JetBrains, which share one settings file."""

    name = "jetbrains"
    title = "JetBrains"
    section = agents_section = "agent_servers"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns the directory of the settings file, and the directory of the IDEs' settings."""
        return [machine.home / ".jetbrains", machine.applications / "JetBrains"]

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings file for ACP agents."""
        return [machine.home / ".jetbrains/acp.json"]


_EDITORS = {".vscode": "Code", ".vscode-insiders": "Code - Insiders", ".vscode-oss": "VSCodium",
            ".cursor": "Cursor", ".windsurf": "Windsurf"}  # fmt: skip
"""The settings directory of each editor, by the directory of its extensions."""
_EXTENSION = "extensions/formulahendry.acp-client-*"


class VsCode(JsonClient):
    """The extension ``formulahendry.acp-client`` of VS Code and related editors."""

    name = "vscode"
    title = "VS Code"
    owns_files = False
    agents_section = "acp.agents"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directories of the extension."""
        for directory in _EDITORS:
            yield from (machine.home / directory).glob(_EXTENSION)

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings files of the editors that have the extension."""
        here = [
            editor
            for directory, editor in _EDITORS.items()
            if any((machine.home / directory).glob(_EXTENSION))
        ]
        return [machine.applications / name / "User/settings.json" for name in here or ["Code"]]


class Acpx(JsonClient):
    """The client acpx."""

    name = "acpx"
    title = "acpx"
    is_graphical = False
    agents_section = "agents"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directory of the client's settings, and the program."""
        yield machine.home / ".acpx"
        if program := machine.find("acpx"):
            yield Path(program)

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings file of the user, and the settings file of the project."""
        return [machine.home / ".acpx/config.json", machine.directory / ".acpxrc.json"]

    def _agent(self, name: str, entry: Any, path: Path) -> ConfiguredAgent:
        """Reads an entry, whose command may be a list of words or a shell line."""
        agent = super()._agent(name, entry, path)
        words = _words(entry) if isinstance(entry, dict) else None
        return agent if words is None else evolve(agent, command=tuple(words))

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns the text of a settings file. Its commands use ``env`` to set variables."""
        entries = {agent.key: {"argv": [*agent.env_words, *agent.command]} for agent in agents}
        return "\n".join(format_json({self.agents_section: entries}, "  "))


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


_PLUGIN = ".obsidian/plugins/agent-client"


class Obsidian(AcpClient):
    """The plugin Agent Client, which has to be installed in each vault separately."""

    name = "obsidian"
    title = "Obsidian"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns the directory of the plugin in each vault."""
        return [vault / _PLUGIN for vault in _vaults(machine)]

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings file of the plugin in each vault."""
        files = [vault / _PLUGIN / "data.json" for vault in _vaults(machine)]
        return files or [machine.home / "VAULT" / _PLUGIN / "data.json"]

    def _entries(self, data: bytes) -> Iterable[tuple[str, Any]]:
        """Yields the agents that are built into the plugin, and the custom agents."""
        settings = document(data)
        custom = settings.get("customAgents")
        values = [settings.get(name) for name in ("claude", "codex", "gemini")]
        values += custom if isinstance(custom, list) else []
        return [
            (str(entry.get("displayName") or entry.get("id") or "agent"), entry)
            for entry in values
            if isinstance(entry, dict) and entry.get("command")
        ]

    def snippet(self, agents: Sequence[RecordedAgent]) -> str:
        """Returns the values of the fields on the settings page of a custom agent."""
        return "\n\n".join(_fields(agent) for agent in agents)

    def place(self, path: Path) -> str:
        """Returns a phrase that names a settings page. Obsidian would undo changes to the file.

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
    values = vaults.values() if isinstance(vaults, dict) else ()
    paths = [vault.get("path") for vault in values if isinstance(vault, dict)]
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


CLIENTS: Sequence[AcpClient] = (
    Zed(),
    JetBrains(),
    CodeCompanion(),
    Avante(),
    AgentShell(),
    VsCode(),
    Obsidian(),
    Toad(),
    Acpx(),
    Marimo(),
)


@frozen
class FoundClient:
    """A client, with the agents in its settings."""

    client: AcpClient
    is_installed: bool
    """Whether there are signs that the client is installed on this machine."""
    files: tuple[Path, ...]
    """The settings files that exist."""
    path: Path
    """The settings file to write into, which need not exist."""
    agents: tuple[ConfiguredAgent, ...]
    problems: tuple[str, ...]
    """One sentence for each settings file that cannot be read."""
    unreadable: tuple[Path, ...] = ()
    """The settings files that cannot be read."""

    @property
    def recorded(self) -> tuple[ConfiguredAgent, ...]:
        """The agents that the client starts by way of acp-proxy."""
        return tuple(agent for agent in self.agents if agent.proxy)


def find_clients(machine: Machine) -> Iterator[FoundClient]:
    """Yields the clients that are installed on a machine; starts and writes nothing.

    Args:
        machine: the machine.
    """
    for client in CLIENTS:
        state = look_at(client, machine)
        if state.is_installed:
            yield state


def look_at(client: AcpClient, machine: Machine) -> FoundClient:
    """Returns the files and agents of a client on a machine; the client need not be installed.

    Args:
        client: the client.
        machine: the machine.
    """
    paths = client.files(machine)
    files, agents, problems, unreadable = [], [], [], []
    for path in paths:
        try:
            file = read(path)
            if file.data is not None:
                files.append(path)
                agents += client.agents(path, file.data)
        except BadSettings as e:
            files.append(path)
            unreadable.append(path)
            text = str(e)
            problems.append(text if str(path) in text else f"cannot read {path}: {text}")
    is_installed = bool(agents) or any(map(os.path.exists, client.signs(machine)))
    is_installed = is_installed or (bool(files) and client.owns_files)
    where = files[0] if files else paths[0]
    return FoundClient(
        client, is_installed, tuple(files), where, tuple(agents), tuple(problems), tuple(unreadable)
    )
