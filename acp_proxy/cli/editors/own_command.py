"""The command that starts this acp-proxy in an editor, as an absolute path.

The PATH of an editor may differ from the PATH of the user's shell.
"""

import os
import re
import sys
from pathlib import Path

from acp_proxy.editors.agents import Machine

_TEMPORARY = re.compile(
    r"/(?:\.cache|Caches|_npx|tmp|var/folders|(?:archive|builds|environments)-v\d+)/"
)
"""Matches paths inside the temporary directories of uvx, `pipx run`, npx, pip and tests."""


def this_machine() -> Machine:
    """Returns the machine and the environment of this process."""
    try:
        directory = Path.cwd()
    except FileNotFoundError:  # the working directory was removed
        directory = Path("/")
    return Machine(os.environ, sys.platform, directory)


def own_command(machine: Machine) -> tuple[str, ...]:
    """Returns the words that start this acp-proxy.

    Symbolic links are kept, because an update may change their targets.

    Args:
        machine: the machine that runs the command.
    """
    script = Path(sys.argv[0])
    if script.name == "acp-proxy" and len(script.parts) > 1 and script.exists():
        return (str(machine.directory / script),)
    beside = Path(sys.executable).with_name("acp-proxy")
    if script.name != "acp-proxy" and beside.exists():
        return (str(beside),)
    if path := machine.find("acp-proxy"):
        return (path,)
    return (sys.executable, "-P", "-m", "acp_proxy")  # -P: ignore modules in the current directory


def is_temporary(own: tuple[str, ...]) -> bool:
    """Whether this acp-proxy is in a directory that may be removed later, such as uvx's cache."""
    return any(map(_TEMPORARY.search, (own[0], os.path.realpath(own[0]))))
