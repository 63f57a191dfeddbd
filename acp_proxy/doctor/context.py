"""What the checks of `doctor` are given: the machine, and what only the command line knows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from acp_proxy.clients.machine import Machine
from acp_proxy.doctor.programs import VersionAnswer, ask_version
from acp_proxy.doctor.values import CheckResult, CheckStatus

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""What a graphical program looks through at least, on most systems."""


@frozen
class DoctorContext:
    """The machine, and how acp-proxy is started on it."""

    machine: Machine
    own: tuple[str, ...]
    """The words that start this acp-proxy."""
    is_temporary: bool
    """Whether it is in a directory that is removed some day."""
    recordings: Path
    """The recordings directory."""
    read_record: Callable[[Sequence[str]], list[str]]
    """Returns the agent's command of arguments of ``record``; a ValueError says what is wrong."""
    commands: Collection[str]
    """The commands whose options are variables."""
    now: float
    """Seconds since 1970."""
    monotonic_ns: int
    """The monotonic clock."""
    unredacted: bool = False
    """Whether secrets of recordings are shown."""
    ask: Callable[[Sequence[str], Mapping[str, str]], VersionAnswer] = field(default=ask_version)
    """Asks an acp-proxy for its version."""


def ok(check: str, text: str) -> CheckResult:
    """Makes a result of what is in order.

    Args:
        check: the name of the check.
        text: what was found.
    """
    return CheckResult(check, CheckStatus.OK, text)


def warning(check: str, text: str, *commands: str, advice: str = "") -> CheckResult:
    """Makes a result of what is worth knowing.

    Args:
        check: the name of the check.
        text: what was found.
        *commands: lines for a shell that mend it.
        advice: what to do, in words.
    """
    return CheckResult(check, CheckStatus.WARNING, text, advice, [*commands])


def error(check: str, text: str, *commands: str, advice: str = "") -> CheckResult:
    """Makes a result of what is wrong.

    Args:
        check: the name of the check.
        text: what was found.
        *commands: lines for a shell that mend it.
        advice: what to do, in words.
    """
    return CheckResult(check, CheckStatus.ERROR, text, advice, [*commands])
