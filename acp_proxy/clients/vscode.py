"""The extension ACP Client for Visual Studio Code and for editors derived from it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from acp_proxy.clients.client import JsonClient
from acp_proxy.clients.machine import Machine

_EDITORS = {".vscode": "Code", ".vscode-insiders": "Code - Insiders", ".vscode-oss": "VSCodium",
            ".cursor": "Cursor", ".windsurf": "Windsurf"}  # fmt: skip
"""The settings directory of each editor, by the directory of its extensions."""
_EXTENSION = "extensions/formulahendry.acp-client-*"


class VsCode(JsonClient):
    """The extension ``formulahendry.acp-client``."""

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
        return [machine.applications / one / "User/settings.json" for one in here or ["Code"]]
