"""Zed."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from acp_proxy.clients.agents import RecordedAgent
from acp_proxy.clients.client import JsonClient
from acp_proxy.clients.machine import Machine

_FLATPAK = ".var/app/dev.zed.Zed/config/zed"


class Zed(JsonClient):
    """Zed, whose settings are JSON with comments."""

    name = "zed"
    title = "Zed"
    section = agents_section = "agent_servers"

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Returns its directories, and on macOS the program."""
        return [file.parent for file in self.files(machine)] + [
            machine.data / "zed",
            machine.home / "Library/Application Support/Zed",
            *([Path("/Applications/Zed.app")] if machine.platform == "darwin" else ()),
        ]

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the user's settings files: that of Zed, and that of Zed as a Flatpak."""
        own = machine.home / ".config" if machine.platform == "darwin" else machine.config
        files = [own / "zed/settings.json", machine.home / _FLATPAK / "settings.json"]
        return sorted(
            files,
            key=lambda file: not os.path.isdir(file.parent),  # noqa: PTH112  which raises nothing
        )

    def entry(self, agent: RecordedAgent) -> dict[str, Any]:
        """Returns the settings entry of an agent, with the type for agents with a command."""
        return {"type": "custom"} | super().entry(agent) | {"type": "custom"}
