"""Makes the context of a machine for tests of `doctor`, in a temporary directory."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from attrs import evolve

from acp_proxy import __version__
from acp_proxy.cli.editors.doctor import read_record
from acp_proxy.cli.removed import of_variable
from acp_proxy.editors.agents import Machine
from acp_proxy.editors.doctor.context import DoctorContext, VersionAnswer
from tests.support.log_writer import ORIGIN_NS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from acp_proxy.editors.doctor.context import CheckResult

SETTINGS = ".config/zed/settings.json"
RECORDINGS = ".local/share/acp-proxy"


def healthy(_words: Sequence[str], _environ: Mapping[str, str]) -> VersionAnswer:
    """Returns the version of this acp-proxy; `doctor` calls it in place of a program."""
    return VersionAnswer(__version__)


def program(path: Path, text: str = "\x7fELF") -> Path:
    """Writes an executable file, and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


def machine(home: Path, ask: Any = healthy, **environ: str) -> DoctorContext:
    """Returns the context of a machine with a recordings directory, and programs in ``bin``."""
    own = program(home / "bin/acp-proxy")
    program(home / "bin/agent")
    recordings = home / RECORDINGS
    recordings.mkdir(mode=0o700, parents=True, exist_ok=True)
    return DoctorContext(
        Machine({"HOME": str(home), "PATH": f"{home}/bin", **environ}, "linux", home / "project"),
        (str(own),),
        is_temporary=False,
        recordings=recordings,
        read_record=read_record,
        commands=frozenset({"list", "replay", "faults"}),
        removed=of_variable,
        now=time.time() + 3600,
        monotonic_ns=ORIGIN_NS + 10**10,
        ask=ask,
    )


def with_environment(context: DoctorContext, **environ: str) -> DoctorContext:
    """Returns a context with additional environment variables."""
    own = context.machine
    return evolve(context, machine=evolve(own, environ={**own.environ, **environ}))


def configure(home: Path, command: str, *arguments: str, **env: str) -> Path:
    """Writes settings of the editor Zed with one agent, and returns their path."""
    path = home / SETTINGS
    path.parent.mkdir(parents=True, exist_ok=True)
    entry = {"type": "custom", "command": command, "args": arguments, "env": env}
    path.write_text(json.dumps({"agent_servers": {"Mine": entry}}), "utf-8")
    return path


def lines(results: Iterable[CheckResult]) -> list[str]:
    """Returns the text of each result of `doctor` after the mark of the result."""
    marks = {"ok": "✓", "warning": "!", "error": "✗"}
    return [f"{marks[result.status]} {result.text}" for result in results]
