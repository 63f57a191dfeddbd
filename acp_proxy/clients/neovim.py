"""The base class of Neovim plugins: where they are installed, and the settings of Neovim."""

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
        """Yields the directories into which package managers install the plugin."""
        data, name = machine.data / _app(machine), f"{self.name}.nvim"
        yield data / "lazy" / name
        yield from data.glob(f"site/pack/*/*/{name}")
        yield data / "plugged" / name

    def files(self, machine: Machine) -> Sequence[Path]:
        """Returns the settings files that name the plugin; if none does, only ``init.lua``."""
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
        """Returns a phrase that names the call with the settings of the plugin.

        Args:
            path: the file with this call.
        """
        return f'for require("{self.name}").setup in {path}'


def _app(machine: Machine) -> str:
    return machine.environ.get("NVIM_APPNAME") or "nvim"
