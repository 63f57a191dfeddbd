"""The IDEs of JetBrains."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from acp_proxy.clients.client import JsonClient
from acp_proxy.clients.machine import Machine


class JetBrains(JsonClient):
    """The IDEs of JetBrains, which share one file."""

    name = "jetbrains"
    title = "JetBrains"
    section = agents_section = "agent_servers"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns the directory of the file, and that of the IDEs' settings."""
        return [machine.home / ".jetbrains", machine.applications / "JetBrains"]

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the file for ACP agents."""
        return [machine.home / ".jetbrains/acp.json"]
