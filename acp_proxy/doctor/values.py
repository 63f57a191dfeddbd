"""The results of `doctor`; `docs/json.md` documents their JSON members."""

from enum import StrEnum

from attrs import field, frozen


class CheckStatus(StrEnum):
    """How serious the result of a check is."""

    OK = "ok"
    """Everything is as it should be."""
    WARNING = "warning"
    """The user should know this; it may be intended."""
    ERROR = "error"
    """Something is wrong."""


@frozen
class CheckResult:
    """One finding of a check, and what to do about it."""

    check: str
    """The name of the check."""
    status: CheckStatus
    text: str
    advice: str = ""
    """What to do, in words."""
    commands: list[str] = field(factory=list)
    """Shell commands that solve the problem."""


@frozen
class Examination:
    """The results of all checks."""

    version: str
    """The version of acp-proxy."""
    command: list[str]
    """The words that start acp-proxy."""
    recordings: str
    """The recordings directory."""
    status: CheckStatus
    """The worst status of all results."""
    results: list[CheckResult]
