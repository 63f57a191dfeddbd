"""One finding: what is wrong with a conversation, or worth knowing, who did it, and where.

There is one list of findings of a recording. What the rules of the protocol find in messages and
what went wrong with the conversation itself (waits that never ended, exits, crashes, silence) are
told in it alike, in the order of `in_order`, by every command.
"""

from collections.abc import Iterable
from enum import StrEnum

from attrs import Factory, field, frozen


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """A must of the specification was broken, or the conversation failed."""
    WARNING = "warning"
    """A should was broken; or a must, where a race or a newer version may explain it; or a fault
    that was injected kept something from its receiver."""
    INFO = "info"
    """A hint."""


SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""The worst first."""
CLIENT, AGENT, ENVIRONMENT, FAULT = "client", "agent", "environment", "fault"
"""Who did it. The environment is what is around the agent: its launcher, a login, the network."""
CONVERSATION = ("agent", "answer", "fault", "pipe", "recording", "wait")
"""The groups of findings about the conversation itself, which no message shows alone."""


@frozen
class Finding:
    """One thing that is wrong, or worth knowing."""

    rule: str
    """Its id in the catalogue."""
    severity: Severity
    by: str | None
    """client, agent, environment or fault; None if nobody is to blame."""
    seq: int
    """The frame or event at which it shows."""
    text: str
    """One sentence."""
    related: tuple[int, ...] = ()
    """Frames that explain it."""
    unblamed: str | None = None
    """Why nobody is to blame, where `by` is None."""
    place: str | None = None
    """The JSON pointer to the value that breaks a rule."""
    method: str | None = None
    """Of the message, or of the request that it answers."""
    session: str | None = None
    turn: int | None = None
    source: tuple[str, ...] = ()
    """Where the specification says so."""
    line: int | None = None
    """Of the frame, in the text form; None if it has none."""
    fingerprint: str = ""
    """What it has in common with its like in another run."""
    known: bool = False
    """Whether the baseline of a check has it, so that it does not count."""
    seqs: tuple[int, ...] = field(
        init=False,
        default=Factory(lambda self: (self.seq, *self.related), takes_self=True),
        metadata={"json": "seqs"},
    )
    """All frames that it is about, the first of which to look at first."""

    @property
    def group(self) -> str:
        """The part of the id before the dot."""
        return self.rule.partition(".")[0]

    @property
    def whose(self) -> str:
        """Who did it, in words to follow the id; why nobody did, if nobody is to blame."""
        if self.by is None:
            return f"nobody to blame: {self.unblamed}" if self.unblamed else "nobody to blame"
        return f"by the {self.by}" if self.by != FAULT else "by a fault"


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Returns findings in the order in which all commands tell them.

    The worst come first; of those, what is wrong with the conversation itself, which may be why
    rules are broken; then the first frame.
    """
    return sorted(
        findings,
        key=lambda one: (SEVERITIES.index(one.severity), one.group not in CONVERSATION, one.seq),
    )


def counts_of(findings: Iterable[Finding]) -> dict[str, int]:
    """Returns how many findings there are of each severity."""
    counts = {severity.value: 0 for severity in SEVERITIES}
    for one in findings:
        counts[one.severity] += 1
    return counts


def by_rule(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Returns findings that are not known, by the rule and the side, in the order of `in_order`."""
    groups: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in in_order(findings):
        if not finding.known:
            groups.setdefault((finding.rule, finding.by), []).append(finding)
    return [*groups.values()]
