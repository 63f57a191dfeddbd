"""What `doctor` finds, whose members `docs/json.md` documents for programs."""

from enum import StrEnum

from attrs import field, frozen


class CheckStatus(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    """It is worth knowing, and may be as it was meant."""
    ERROR = "error"
    """Something is wrong."""


@frozen
class CheckResult:
    """What a check found: one sentence, and what helps."""

    check: str
    """The name of the check."""
    status: CheckStatus
    text: str
    advice: str = ""
    """What to do, in words."""
    commands: list[str] = field(factory=list)
    """Lines for a shell that mend it."""


@frozen
class Examination:
    """What all checks found."""

    version: str
    """Of acp-proxy."""
    command: list[str]
    """The words that start it."""
    recordings: str
    """The recordings directory."""
    status: CheckStatus
    """The worst of all results."""
    results: list[CheckResult]
