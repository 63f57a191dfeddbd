"""Reads and writes text files for the agent, in one directory alone.

Symbolic links are followed before the directory is compared, so that no link leads out of it.
"""

import os
from pathlib import Path

from attrs import define, field

from acp_proxy.base.limits import WHOLE_LINE
from acp_proxy.base.plain_files import kind_of, open_plain, reason
from acp_proxy.try_.agent_connection import INVALID_PARAMS, RequestError

NOT_FOUND = -32002
"""The error code of a missing file in v1 (error.mdx, "Resource not found")."""


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@define
class WorkFiles:
    """The text files of a directory.

    Args:
        root: the directory.
    """

    root: Path = field(converter=_real)

    def place(self, path: object) -> Path:
        """Returns the place in the directory that a path leads to.

        Args:
            path: the path in the agent's request; a relative path begins at the directory.

        Raises:
            RequestError: the value is not a path, or it leads out of the directory.
        """
        if not isinstance(path, str) or not path or "\0" in path:
            raise RequestError(INVALID_PARAMS, "expected a path")
        try:
            place = Path(os.path.realpath(self.root / path))
        except ValueError:
            raise RequestError(INVALID_PARAMS, "expected a path in Unicode") from None
        if not place.is_relative_to(self.root):
            raise RequestError(INVALID_PARAMS, f"{path} is not in {self.root}")
        return place

    def read(self, path: object, first: int = 1, most: int | None = None) -> str:
        """Returns the text of a file, or some of its lines.

        Args:
            path: the path of the file.
            first: the number of the first line, from 1 on.
            most: the largest number of lines; None for all.

        Raises:
            RequestError: the path leads out of the directory, or it cannot be read as UTF-8.
        """
        place = self.place(path)
        try:
            with open_plain(place) as file:
                text = file.read(WHOLE_LINE + 1).decode()
        except FileNotFoundError:
            raise RequestError(NOT_FOUND, f"there is no file {path}") from None
        except OSError as e:
            raise RequestError(INVALID_PARAMS, f"cannot read {path}: {reason(e)}") from None
        except UnicodeDecodeError:
            raise RequestError(INVALID_PARAMS, f"{path} is not a text file in UTF-8") from None
        if len(text) > WHOLE_LINE:
            raise RequestError(INVALID_PARAMS, f"{path} has more than {WHOLE_LINE:,} bytes")
        if first <= 1 and most is None:
            return text
        lines = text.splitlines(keepends=True)[max(0, first - 1) :]
        return "".join(lines if most is None else lines[: max(0, most)])

    def write(self, path: object, text: object) -> bool:
        """Writes a file, and the directories above it.

        Args:
            path: the path of the file.
            text: the text.

        Returns:
            Whether the file is new.

        Raises:
            RequestError: the path leads out of the directory, the text is not a text, or the file
                cannot be written.
        """
        place = self.place(path)
        if not isinstance(text, str):
            raise RequestError(INVALID_PARAMS, "expected the content as a string")
        if (kind := kind_of(place)) is not None:
            raise RequestError(INVALID_PARAMS, f"cannot write {path}: it is {kind}")
        try:
            data = text.encode()
            place.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            is_new = not place.exists()
            with open(os.open(place, flags, 0o666), "wb") as file:  # noqa: PTH123
                file.truncate()
                file.write(data)
        except (OSError, UnicodeEncodeError) as e:
            why = reason(e) if isinstance(e, OSError) else "it is not Unicode text"
            raise RequestError(INVALID_PARAMS, f"cannot write {path}: {why}") from None
        return is_new
