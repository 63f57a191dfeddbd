"""The list of all known clients, and a search for clients that are installed on this machine."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.acp_client import AcpClient
from acp_proxy.editors.agents import ConfiguredAgent, Machine
from acp_proxy.editors.json_clients import Acpx, JetBrains, Obsidian, VsCode, Zed
from acp_proxy.editors.script_clients import AgentShell, Avante, CodeCompanion, Marimo, Toad
from acp_proxy.editors.settings_changes import read

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
    """For each settings file that cannot be read, one sentence that says why."""
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
