"""The values of a check; ``docs/json.md`` documents their members for programs."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from attrs import define, field, frozen

from acp_proxy.explain.findings import SEVERITIES as SEVERITIES
from acp_proxy.explain.findings import Finding
from acp_proxy.explain.findings import Severity as Severity

HOUSE = "acp-proxy; no specification"
"""The source of the rules that acp-proxy states itself."""


def source_text(source: str) -> str:
    """Returns a source in words, for people who read the catalogue or a finding."""
    return "a rule of acp-proxy" if source == HOUSE else source


@frozen
class Rule:
    """One rule of the protocol."""

    id: str
    by: str
    """Who has to follow it: client, agent or either."""
    severity: Severity
    """The highest severity of its findings."""
    dialects: tuple[str, ...]
    text: str
    """The requirement of the specification."""
    detection: str
    """How a recording shows that the rule was broken."""
    source: tuple[str, ...]
    """The places in the specification; `HOUSE` alone for a rule that no specification states."""
    lost_if: tuple[str, ...] | None = None
    """The facts (words of `Fact`) that an imported recording must provide for the rule to be
    checked. None for rules about the conversation as a whole: each check in `CHECKS` declares its
    own facts."""

    @property
    def group(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


class Breach(NamedTuple):
    """A broken rule, as the rule's function yields it."""

    text: str
    """One sentence that says what happened; it names values but no frames."""
    related: tuple[int, ...] = ()
    """Numbers of frames that explain the breach: the request of an answer, the end of a turn."""
    by: str | None = None
    """The side that broke the rule: client or agent; None for the sender of the message."""
    seq: int | None = None
    """The number of the frame that broke the rule; None for the frame of the message."""
    severity: Severity | None = None
    """The severity of the finding; None for the severity of the rule."""
    place: str | None = None
    """The JSON pointer to the wrong value, from the root of the message. The schema check skips
    this value."""
    explains: tuple[str, ...] = ()
    """Rules whose findings at the same frames are removed, since this breach explains them."""


Breaches = Iterator[Breach]
"""The breaches that a rule yields, one by one."""


class HasFrame(Protocol):
    """Anything with a frame number, such as a session or the capabilities of a peer."""

    @property
    def seq(self) -> int | None:
        """The number of the frame; None if it is not known."""


def frames_of(*ones: HasFrame | int | None) -> tuple[int, ...]:
    """Returns the known frame numbers among some values, as the related frames of a breach.

    Args:
        *ones: frame numbers, or values that have one.
    """
    seqs = (value if value is None or isinstance(value, int) else value.seq for value in ones)
    return tuple(seq for seq in seqs if seq is not None)


@define
class RuleCount:
    """How often one side broke a rule."""

    rule: str
    by: str | None
    severity: Severity
    count: int


@frozen
class UncheckedRules:
    """Rules that were not checked in an imported recording, all for the same reason."""

    reason: str
    """The cause, as a clause that follows "since"."""
    rules: tuple[str, ...]
    """The ids of the rules, in the order of the catalogue. A rule with several reasons is listed
    only for the first one."""


@define
class ConformanceResult:
    """The result of checking one recording."""

    dialect: str | None
    dialect_reason: str | None
    frames: int = 0
    """The number of checked frames; lines on stderr do not count."""
    last_seq: int = 0
    """The number of the last checked frame."""
    is_whole: bool = True
    """Whether all frames were checked."""
    findings: list[Finding] = field(factory=list)
    """The first thousand findings of each rule, in the order of the frames."""
    counts: list[RuleCount] = field(factory=list)
    """How often each side broke each rule, worst first."""
    unread: list[int] = field(factory=list)
    """The numbers of the first frames that are too large to be decoded; only the labels of these
    frames were checked."""
    by_faults: int = 0
    """The number of findings that are left out because a fault created, changed or held back their
    frame."""
    notes: list[str] = field(factory=list)
    """The limits of the check, in words: a gap in the recording, a protocol other than ACP."""
    unchecked: list[UncheckedRules] = field(factory=list)
    """The rules that could not be checked in an imported recording."""
