"""All checks of `doctor`, and the checks of how acp-proxy is installed and can be started."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import evolve

from acp_proxy import __version__
from acp_proxy.editors.agents import SYSTEM_PATH
from acp_proxy.editors.doctor.client_settings import client_settings
from acp_proxy.editors.doctor.context import (
    CheckResult,
    CheckStatus,
    DoctorContext,
    Examination,
    error,
    is_same,
    ok,
    warning,
)
from acp_proxy.editors.doctor.recordings_check import leftovers, recordings_directory, running
from acp_proxy.editors.doctor.variables import variables
from acp_proxy.store.files.database import SQLITE_VERSION

_TOOLS = ("/pipx/venvs/", "/uv/tools/")
"""The directories in which pipx and uv keep the virtual environments that they manage."""


def version(_context: DoctorContext) -> Iterator[CheckResult]:
    """Yields one result with the versions of acp-proxy, of Python and of the system."""
    system = os.uname()
    python = ".".join(map(str, sys.version_info[:3]))
    yield ok(
        f"acp-proxy {__version__}, Python {python} ({sys.executable}), SQLite"
        f" {SQLITE_VERSION}, {system.sysname} {system.release} {system.machine}",
    )


def start_script(context: DoctorContext) -> Iterator[CheckResult]:
    """Yields the results for the path of acp-proxy that has to be in an editor's settings.

    Args:
        context: the machine, and how acp-proxy is started on it.
    """
    script = Path(context.own[0])
    words = shlex.join(context.own)
    if len(context.own) > 1:
        yield warning(f"{words}: no start script was found, so settings need all of these words")
        return
    if not os.access(script, os.X_OK):
        yield error(f"{words} cannot be executed", f"chmod u+x {shlex.quote(words)}")
        return
    yield ok(words)
    if context.is_temporary:
        yield warning(
            f"{words} is in a cache or a temporary directory and may be removed some day",
            advice="before an editor uses it, install the checkout or the wheel: pipx or uv tool",
        )
    elif (environment := _virtual_environment(script)) is not None:
        yield warning(
            f"it is removed with the virtual environment {environment}",
            advice="for an editor, install the checkout or the wheel with pipx or uv tool",
        )
    yield from _by_name(context, script)


def _by_name(context: DoctorContext, script: Path) -> Iterator[CheckResult]:
    """Yields warnings if PATH leads to another ``acp-proxy``, or if an editor may not find any."""
    machine = context.machine
    first = machine.find("acp-proxy")
    if first is not None and not is_same(Path(first), script):
        yield warning(f"`acp-proxy` in your PATH is another one, {first}")
    usual = evolve(machine, environ={**machine.environ, "PATH": SYSTEM_PATH})
    if usual.find("acp-proxy") is None:
        yield warning(
            f"a graphical editor may look through {SYSTEM_PATH} only, where acp-proxy is not",
            advice="settings need the absolute path above, which `acp-proxy setup` prints",
        )


def _virtual_environment(script: Path) -> Path | None:
    """Returns the virtual environment of a script.

    None if the script is in no virtual environment, or in one that pipx or uv manages.
    """
    for place in (script, script.resolve()):
        directory = place.parent.parent
        if any(part in f"{place}" for part in _TOOLS):
            return None
        if (directory / "pyvenv.cfg").is_file():
            result = directory
            break
    else:
        return None
    return None if any(part in f"{script.resolve()}" for part in _TOOLS) else result


CHECKS: Mapping[str, Callable[[DoctorContext], Iterator[CheckResult]]] = {
    "version": version,
    "path": start_script,
    "recordings": recordings_directory,
    "variables": variables,
    "running": running,
    "clients": client_settings,
    "leftovers": leftovers,
}
"""The checks by their names, in the order in which they are shown.

Each yields at least one result, and changes no file.
"""
_ORDER = [CheckStatus.OK, CheckStatus.WARNING, CheckStatus.ERROR]


def examine(context: DoctorContext) -> Examination:
    """Runs all checks and returns their results."""
    results = [
        evolve(each, check=name) for name, check in CHECKS.items() for each in check(context)
    ]
    return Examination(
        __version__,
        [*context.own],
        str(context.recordings),
        max((result.status for result in results), key=_ORDER.index),
        results,
    )
