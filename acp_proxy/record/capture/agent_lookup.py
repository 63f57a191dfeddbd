"""Replaces ``@NAME`` by the command of a known agent; imported only for such commands."""

import os

from acp_proxy.record.capture.stdio import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Expand = Callable[
        [Sequence[str], Callable[[str], bool]], "tuple[list[str], Mapping[str, str], str] | None"
    ]


def find_program(name: str, environ: "Mapping[str, str]") -> "str | None":
    """Returns the path of the file that would be executed for a program; starts nothing.

    Args:
        name: the program; a path is checked without a search.
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
    """Replaces ``@NAME`` by the command of a known agent, and sets the variables for this agent.

    Variables that are already set keep their values. If the agent is not installed and its package
    cannot be run, a line on stderr gives the command that would run the package.

    Args:
        command: a command that begins with ``@NAME``.
        expand: the function `expanded` of the table of agents.

    Returns:
        The command; None if no agent has this name.
    """
    expansion = expand(command, lambda name: find_program(name, os.environ) is not None)
    if expansion is None:
        return None
    for name, value in expansion[1].items():
        os.environ.setdefault(name, value)
    if expansion[2]:
        warn(f"{command[0]}: {expansion[2]}")
    return expansion[0]


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)
