"""Puts the command of a known agent in place of ``@NAME``; imported for such commands alone."""

import os

from acp_proxy.record.capture.stdio import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Expand = Callable[
        [Sequence[str], Callable[[str], bool]], "tuple[list[str], Mapping[str, str], str] | None"
    ]


def find_program(name: str, environ: "Mapping[str, str]") -> "str | None":
    """Returns the path of a program as it would be executed, without starting it.

    Args:
        name: the program; a path is looked at as it is.
        environ: the environment, whose PATH is searched.
    """
    if "/" in name:
        return name if _is_executable(name) else None
    for directory in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory or os.curdir, name)
        if _is_executable(path):
            return path
    return None


def replace_name(command: "Sequence[str]", expand: "Expand") -> "list[str] | None":
    """Returns a command with that of a known agent in place of ``@NAME``; sets what this one needs.

    Variables that are set already stay. If the agent is not installed, and its package is not to be
    run, a line on stderr has the command that runs it.

    Args:
        command: a command that begins with such a word.
        expand: the table's `expanded`.

    Returns:
        The command; None if no agent has this name.
    """
    found = expand(command, lambda name: find_program(name, os.environ) is not None)
    if found is None:
        return None
    for name, value in found[1].items():
        os.environ.setdefault(name, value)
    if found[2]:
        warn(f"{command[0]}: {found[2]}")
    return found[0]


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
