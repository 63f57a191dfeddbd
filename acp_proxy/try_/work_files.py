"""Reads and writes text files for the agent, only in one directory.

A path is resolved first, so that a symbolic link cannot lead out of the directory.
"""

import os
from pathlib import Path

from attrs import define, field

from acp_proxy.base.limits import WHOLE_LINE
from acp_proxy.base.plain_files import kind_of, open_plain


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@define
class WorkFiles:
    """Reads and writes the text files of a directory.

    Args:
        root: the directory.
    """

    root: Path = field(converter=_real)

    def place(self, path: object) -> Path:
        """Returns the absolute path of a file or directory, with all symbolic links resolved.

        Args:
            path: the path in the agent's request. A relative path begins at the directory `root`.

        Raises:
            ValueError: the path leads out of the directory, or the value is not a path, for example
                a text with a zero byte.
        """
        if not isinstance(path, str) or not path:
            raise ValueError(f"{path!r} is not a path")
        place = _real(self.root / path)
        if not place.is_relative_to(self.root):
            raise ValueError(f"{path} is not in {self.root}")
        return place

    def read(self, path: object, first: int = 1, most: int | None = None) -> str:
        """Returns the text of a file, or some lines of the text.

        Args:
            path: the path of the file.
            first: the number of the first line to return, from 1 on.
            most: the largest number of lines to return; None for all lines.

        Raises:
            OSError: the file cannot be read.
            ValueError: the path leads out of the directory, or the file is too large or not UTF-8.
        """
        with open_plain(self.place(path)) as file:
            data = file.read(WHOLE_LINE + 1)
        if len(data) > WHOLE_LINE:
            raise ValueError(f"{path} has more than {WHOLE_LINE:,} bytes")
        lines = data.decode().splitlines(keepends=True)[max(0, first - 1) :]
        return "".join(lines if most is None else lines[: max(0, most)])

    def write(self, path: object, text: object) -> bool:
        """Writes a file, and creates the directories above it that are missing.

        Args:
            path: the path of the file.
            text: the new content of the whole file.

        Returns:
            Whether the file did not exist before.

        Raises:
            OSError: the file cannot be written.
            ValueError: the path leads out of the directory or to something other than a regular
                file, or the content is not a string.
        """
        place = self.place(path)
        if not isinstance(text, str):
            raise ValueError("expected the content as a string")
        if (kind := kind_of(place)) is not None:
            raise ValueError(f"{path} is {kind}")
        data = text.encode()
        place.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        is_new = not place.exists()
        with open(os.open(place, flags, 0o666), "wb") as file:  # noqa: PTH123
            file.truncate()
            file.write(data)
        return is_new
