"""Where plugins of Neovim are, and the files of its settings."""

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from acp_proxy.clients.machine import Machine

_MOST_FILES = 400
_LARGEST = 1 << 20


def plugin(machine: Machine, name: str) -> Iterable[Path]:
    """Yields the directories of a plugin.

    Args:
        machine: where to look.
        name: of the plugin's directory.
    """
    data = machine.data / _app(machine)
    yield data / "lazy" / name
    yield from data.glob(f"site/pack/*/*/{name}")
    yield data / "plugged" / name


def settings(machine: Machine, word: str) -> Sequence[Path]:
    """Returns the files of the settings that have a word, else the first file of the settings.

    Args:
        machine: where to look.
        word: what they have.
    """
    directory = machine.config / _app(machine)
    found = []
    for file in islice(sorted(directory.rglob("*.lua")), _MOST_FILES):
        try:
            if file.stat().st_size <= _LARGEST and word.encode() in file.read_bytes():
                found.append(file)
        except OSError:
            continue
    return found or [directory / "init.lua"]


def _app(machine: Machine) -> str:
    return machine.environ.get("NVIM_APPNAME") or "nvim"
