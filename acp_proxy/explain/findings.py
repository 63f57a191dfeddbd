"""A finding: a problem of a conversation or a fact worth knowing, with its cause and its frames.

A recording has one list of findings: broken rules of the protocol, and failures of the conversation
(waits that never ended, exits, crashes, silence). All commands print the findings in the order of
`in_order`.
"""

import re
from collections.abc import Iterable
from enum import StrEnum

from attrs import Factory, field, frozen


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """A MUST of the specification was violated, or the conversation failed."""
    WARNING = "warning"
    """A SHOULD was violated, or an injected fault kept a message from its receiver. A violated MUST
    is also a warning if a race between messages, or a newer version of the protocol, may explain
    it."""
    INFO = "info"
    """A fact that is worth knowing but not a problem."""


SEVERITIES = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""All severities, the worst first."""
CLIENT, AGENT, ENVIRONMENT, FAULT = "client", "agent", "environment", "fault"
"""Who may have caused a finding. The environment is everything around the agent: its launcher, a
login, the network."""
CONVERSATION = ("agent", "answer", "fault", "pipe", "recording", "wait")
"""The groups of findings about the conversation itself, not about a single message."""


_NAME = re.compile(r'"[^"]*"')
"""A name in quotes within the sentence of a finding."""


@frozen
class Finding:
    """One thing that is wrong, or worth knowing."""

    rule: str
    """The id of the rule. docs/rules.md lists all rules."""
    severity: Severity
    by: str | None
    """Who is to blame: client, agent, environment or fault; None for nobody."""
    seq: int
    """The number of the frame or event that shows the finding."""
    text: str
    """The finding in one sentence."""
    related: tuple[int, ...] = ()
    """The numbers of frames that explain the finding."""
    unblamed: str | None = None
    """Why nobody is to blame; None if `by` names somebody."""
    place: str | None = None
    """The JSON pointer of the value that breaks the rule; None if the finding is not about one
    value."""
    method: str | None = None
    """The method of the frame, or of the request that the frame answers; None without a method."""
    session: str | None = None
    turn: int | None = None
    source: tuple[str, ...] = ()
    """Where the specification states the rule."""
    line: int | None = None
    """The line of the frame in the recording's text form; None for a database."""
    fingerprint: str = ""
    """A text that identifies the finding. It stays the same if the check is run again."""
    known: bool = False
    """Whether the finding is in the baseline, and so does not count."""
    brief: str = field(default="", metadata={"hidden": True}, eq=False)
    """The finding in a few words, for lists. If it is empty, lists show the rule in words."""
    seqs: tuple[int, ...] = field(
        init=False,
        default=Factory(lambda self: (self.seq, *self.related), takes_self=True),
        metadata={"json": "seqs"},
    )
    """The numbers of all frames of the finding, the most important frame first."""

    @property
    def group(self) -> str:
        """The part of the rule's id before the dot, such as ``wait``."""
        return self.rule.partition(".")[0]

    @property
    def whose(self) -> str:
        """Words that are printed after the id of a finding: who is to blame, or why nobody is."""
        if self.by is None:
            return f"nobody to blame: {self.unblamed}" if self.unblamed else "nobody to blame"
        return f"by the {self.by}" if self.by != FAULT else "by a fault"


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Sorts findings for output. All commands use this order.

    The order is by severity, the worst first. Within a severity, findings about the conversation
    come first, because they may explain broken rules. After that, the order is by frame.
    """
    return sorted(
        findings, key=lambda f: (SEVERITIES.index(f.severity), f.group not in CONVERSATION, f.seq)
    )


def counts_of(findings: Iterable[Finding]) -> dict[str, int]:
    """Returns how many findings there are of each severity."""
    counts = {severity.value: 0 for severity in SEVERITIES}
    for finding in findings:
        counts[finding.severity] += 1
    return counts


def by_rule(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Groups findings by rule and by who is to blame. Findings in the baseline are left out.

    Groups and findings are in the order of `in_order`.
    """
    groups: dict[tuple[str, str | None], list[Finding]] = {}
    for finding in in_order(findings):
        if not finding.known:
            groups.setdefault((finding.rule, finding.by), []).append(finding)
    return [*groups.values()]


def alike(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Groups findings about broken rules if their sentences differ only in quoted names.

    Every other finding is a group of its own.
    """
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        text = _NAME.sub("", finding.text)
        alone = finding.seq if finding.group in CONVERSATION else None
        key = (finding.rule, finding.by, finding.severity, text, alone)
        groups.setdefault(key, []).append(finding)
    return [*groups.values()]
