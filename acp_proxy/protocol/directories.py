"""Decides whether a path is within directories, by its text alone: no disk is read.

So a symbolic link that leads out of a directory is not noticed. If a path can be read in two ways,
as with a backslash, it has to be within by both.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def is_within(path: object, roots: Iterable[str]) -> bool:
    """Whether a path is within one of some directories, or is one of them.

    A relative path is within relative directories alone, since its base is unknown.

    Args:
        path: a path, or a ``file:`` URI; anything else is not within.
        roots: directories.
    """
    if not isinstance(path, str) or not path:
        return False
    plain = local_path(path)
    if plain is None or "\0" in plain:
        return False
    return any(_is_below(plain, root) for root in roots if root)


def local_path(path: str) -> str | None:
    """Returns a path, or the path in a URI; None for another machine, or if it is no file."""
    if _DRIVE.match(path) or not _SCHEME.match(path):
        return path
    try:
        parts = urlsplit(path)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost"):
        return None
    if parts.query or parts.fragment:  # a lenient reader takes them for a part of the path
        return None
    plain = unquote(parts.path)
    return plain[1:] if _DRIVE.match(plain[1:]) else plain


def _is_below(path: str, root: str) -> bool:
    if is_windows(root):
        if path.startswith(("\\\\?\\", "\\\\.\\", "//?/", "//./")):
            return False
        return _begins(_parts(path.casefold(), "/\\"), _parts(root.casefold(), "/\\"))
    # A backslash is a character of a name here, unless the client takes it for a separator.
    return _begins(_parts(path, "/"), _parts(root, "/")) and _begins(
        _parts(path, "/\\"), _parts(root, "/")
    )


def is_windows(root: str) -> bool:
    """Whether an absolute path is a Windows path: with a drive, or on another machine."""
    return _DRIVE.match(root) is not None or root.startswith("\\\\")


def _parts(path: str, separators: str) -> tuple[str, ...] | None:
    """Returns the names in a path, with ``..`` resolved; None if the path leads above its start.

    The first of them is empty for an absolute path.
    """
    names = re.split(f"[{re.escape(separators)}]", path)
    is_absolute = names[0] == "" or _DRIVE.match(path) is not None
    kept: list[str] = [names[0]] if is_absolute else []
    for name in names[1:] if is_absolute else names:
        if name == "..":
            if len(kept) > is_absolute:
                kept.pop()
            elif not is_absolute:
                return None
        elif "\\" in separators and name.rstrip(". ") == "" and name not in ("", "."):
            return None  # a system that takes dots and blanks at the end away goes up here
        elif name not in ("", "."):
            kept.append(name)
    return tuple(kept)


def _begins(path: tuple[str, ...] | None, root: tuple[str, ...] | None) -> bool:
    if path is None or root is None:
        return False
    is_same_kind = (path[:1] == ("",)) == (root[:1] == ("",))
    return is_same_kind and path[: len(root)] == root
