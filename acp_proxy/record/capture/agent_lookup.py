"""Replaces ``@NAME`` by the command of a known agent. Other commands do not import this module."""

import os

from acp_proxy.record.capture.stdio import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Expand = Callable[
        [Sequence[str], Callable[[str], bool]], "tuple[list[str], Mapping[str, str], str] | None"
    ]


def replace_name(command: "Sequence[str]", expand: "Expand") -> "list[str] | None":
    """Replaces ``@NAME`` by the command of a known agent; sets this agent's environment variables.

    Variables that are already set keep their values. If the agent is not installed and its package
    cannot be run, a line on stderr states the command that would run the package.

    Args:
        command: a command that begins with ``@NAME``.
        expand: the function `known_agents.expanded`.

    Returns:
        The command; None if no agent has this name.
    """
    from shutil import which  # late: it is slow to import

    expansion = expand(command, lambda name: which(name) is not None)
    if expansion is None:
        return None
    for name, value in expansion[1].items():
        os.environ.setdefault(name, value)
    if expansion[2]:
        warn(f"{command[0]}: {expansion[2]}")
    return expansion[0]
