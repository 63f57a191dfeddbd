"""Decides whether a path is within directories by comparing texts, without reading a disk.

So a symbolic link that leads out of a directory is not noticed. A path that can be read in two
ways, such as a path with a backslash, must be within a directory in both readings.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

_DRIVE = re.compile(r"[A-Za-z]:[/\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def is_within(path: object, roots: Iterable[str]) -> bool:
    """Whether a path is one of several directories, or is inside one of these directories.

    A relative path can only be within a relative directory, since its base is unknown.

    Args:
        path: a path or a ``file:`` URI; any other value is outside all directories.
        roots: the paths of the directories.
    """
    if not isinstance(path, str) or not path:
        return False
    plain = local_path(path)
    if plain is None or "\0" in plain:
        return False
    return any(_is_below(plain, root) for root in roots if root)


def local_path(path: str) -> str | None:
    """Returns a path unchanged, or the path in a ``file:`` URI.

    Returns:
        The path; None for a URI that is not a ``file:`` URI, names another machine, or has a query
        or fragment.
    """
    if _DRIVE.match(path) or not _SCHEME.match(path):
        return path
    try:
        parts = urlsplit(path)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost"):
        return None
    if parts.query or parts.fragment:  # a lenient reader may add them to the path
        return None
    plain = unquote(parts.path)
    return plain[1:] if _DRIVE.match(plain[1:]) else plain


def _is_below(path: str, root: str) -> bool:
    if is_windows(root):
        if path.startswith(("\\\\?\\", "\\\\.\\", "//?/", "//./")):
            return False
        return _begins(_parts(path.casefold(), "/\\"), _parts(root.casefold(), "/\\"))
    # Here a backslash is part of a name, unless the client reads it as a separator.
    return _begins(_parts(path, "/"), _parts(root, "/")) and _begins(
        _parts(path, "/\\"), _parts(root, "/")
    )


def is_windows(root: str) -> bool:
    r"""Whether an absolute path is a Windows path: ``C:\`` or ``\\HOST``."""
    return _DRIVE.match(root) is not None or root.startswith("\\\\")


def _parts(path: str, separators: str) -> tuple[str, ...] | None:
    """Returns the names in a path after resolving ``..``; None if ``..`` may lead above the start.

    In an absolute path the first name is empty or a drive.
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
            return None  # a system that strips trailing dots and blanks may go up here
        elif name not in ("", "."):
            kept.append(name)
    return tuple(kept)


def _begins(path: tuple[str, ...] | None, root: tuple[str, ...] | None) -> bool:
    if path is None or root is None:
        return False
    is_same_kind = (path[:1] == ("",)) == (root[:1] == ("",))
    return is_same_kind and path[: len(root)] == root
