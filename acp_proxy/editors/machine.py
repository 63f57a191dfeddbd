"""Where the programs of a machine keep their files, and which programs it has."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

_LONGEST_LINE = 256


@frozen
class Machine:
    """The environment of a user, in which clients are searched for."""

    environ: Mapping[str, str]
    platform: str
    """A value of `sys.platform`."""
    directory: Path
    """The working directory."""

    @property
    def home(self) -> Path:
        """The user's home directory."""
        home = Path(self.environ.get("HOME", ""))
        return home if home.is_absolute() else Path.home()

    @property
    def config(self) -> Path:
        """The directory for settings of programs that follow the XDG specification."""
        return self._xdg("XDG_CONFIG_HOME", ".config")

    @property
    def data(self) -> Path:
        """The directory for data of programs that follow the XDG specification."""
        return self._xdg("XDG_DATA_HOME", ".local/share")

    @property
    def applications(self) -> Path:
        """The directory for settings of graphical programs."""
        is_mac = self.platform == "darwin"
        return self.home / "Library/Application Support" if is_mac else self.config

    def find(self, program: str) -> str | None:
        """Returns the absolute path of a program, or None if it is not found."""
        if program.startswith("~/"):
            program = str(self.home / program[2:])
        path = shutil.which(program, path=self.environ.get("PATH", ""))
        return None if path is None else str(self.directory / path)

    def interpreter_of(self, program: str) -> str | None:
        """Returns the absolute path of the interpreter that ``env`` finds for a script.

        None if the program is not a script, does not use ``env``, or its interpreter is not found.
        """
        try:
            with Path(program).open("rb") as file:
                line = file.readline(_LONGEST_LINE)
        except OSError:
            return None
        words = line[2:].decode("utf-8", "replace").split() if line.startswith(b"#!") else []
        if not words or Path(words[0]).name != "env":
            return None
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        return self.find(names[0]) if names else None

    def _xdg(self, variable: str, otherwise: str) -> Path:
        directory = Path(self.environ.get(variable, ""))
        return directory if directory.is_absolute() else self.home / otherwise
