"""Plugins of Neovim: where they are, and the files of its settings."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from acp_proxy.clients.client import ScriptClient
from acp_proxy.clients.machine import Machine

_MOST_FILES = 400
_LARGEST = 1 << 20


class NeovimPlugin(ScriptClient):
    """A plugin in a directory ``NAME.nvim``, set up by ``require("NAME").setup``."""

    def signs(self, machine: Machine) -> Iterable[Path]:
        """Yields the directories that package managers give the plugin."""
        data, name = machine.data / _app(machine), f"{self.name}.nvim"
        yield data / "lazy" / name
        yield from data.glob(f"site/pack/*/*/{name}")
        yield data / "plugged" / name

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings that name the plugin, else the first file of the settings."""
        directory = machine.config / _app(machine)
        found = []
        for file in islice(sorted(directory.rglob("*.lua")), _MOST_FILES):
            try:
                if file.stat().st_size <= _LARGEST and self.name.encode() in file.read_bytes():
                    found.append(file)
            except OSError:
                continue
        return found or [directory / "init.lua"]

    def place(self, path: Path) -> str:
        """Names the call that has the settings.

        Args:
            path: its settings file.
        """
        return f'for require("{self.name}").setup in {path}'


def _app(machine: Machine) -> str:
    return machine.environ.get("NVIM_APPNAME") or "nvim"
