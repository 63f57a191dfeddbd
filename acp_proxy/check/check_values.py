"""The values of a check, whose members ``docs/json.md`` documents for programs."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from attrs import define, field, frozen

from acp_proxy.explain.findings import SEVERITIES as SEVERITIES
from acp_proxy.explain.findings import Finding
from acp_proxy.explain.findings import Severity as Severity

HOUSE = "acp-proxy; no specification"
"""The source of a rule of our own."""


def source_text(source: str) -> str:
    """Returns a source as people read it."""
    return "a rule of acp-proxy" if source == HOUSE else source


@frozen
class Rule:
    """One rule of the protocol."""

    id: str
    by: str
    """Who is obliged: client, agent or either."""
    severity: Severity
    """The worst that a finding of it can have."""
    dialects: tuple[str, ...]
    text: str
    """What the specification asks."""
    detection: str
    """What in a recording shows that it was broken."""
    source: tuple[str, ...]
    """The places in the specification; `HOUSE` alone for a rule that no specification states."""
    lost_if: tuple[str, ...] | None = None
    """What has to be known of an imported recording, or nobody can tell that the rule was broken:
    words of `Fact`. None for what is said of the conversation itself: there each of `CHECKS`
    declares it."""

    @property
    def group(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


class Breach(NamedTuple):
    """What a rule's function yields: the rule was broken."""

    text: str
    """What happened, in one sentence that names values but no frame."""
    related: tuple[int, ...] = ()
    """Frames that explain it: the request of an answer, the end of a turn, and so on."""
    by: str | None = None
    """client or agent; None for the sender of the message."""
    seq: int | None = None
    """The frame; None for that of the message."""
    severity: Severity | None = None
    """None for the rule's own."""
    place: str | None = None
    """The JSON pointer to the value that breaks it, from the root of the message. The schema is not
    asked about that place any more."""
    explains: tuple[str, ...] = ()
    """Rules whose findings at the same frames are taken back, since they follow from this one."""


Breaches = Iterator[Breach]
"""The breaches that a rule yields, one by one."""


class HasFrame(Protocol):
    """What a frame has said first, such as a session, or the capabilities of a peer."""

    @property
    def seq(self) -> int | None:
        """The number of the frame; None if it is not known."""


def frames_of(*ones: HasFrame | int | None) -> tuple[int, ...]:
    """Returns those of the given frames whose numbers are known, to explain a breach.

    Args:
        *ones: what they have said, or their numbers.
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
    """Rules that were not checked in an imported recording."""

    reason: str
    """What its source had lost, as a clause to follow "since"."""
    rules: tuple[str, ...]
    """In the order of the catalogue; none that an earlier reason names."""


@define
class ConformanceResult:
    """What a check of one recording found."""

    dialect: str | None
    dialect_reason: str | None
    frames: int = 0
    """Frames that were checked; lines on stderr are not among them."""
    last_seq: int = 0
    """The last of them."""
    is_whole: bool = True
    """Whether all frames were checked."""
    findings: list[Finding] = field(factory=list)
    """The first thousand of each rule, in the order of the frames."""
    counts: list[RuleCount] = field(factory=list)
    """All of them, by rule and side, the worst first."""
    unread: list[int] = field(factory=list)
    """The first frames that are too large to be decoded, of which only the labels were checked."""
    by_faults: int = 0
    """Findings that are left out, since a fault made up, changed or kept back their frame."""
    notes: list[str] = field(factory=list)
    """What limits the check, in words: a gap in the recording, a protocol that is not ACP."""
    unchecked: list[UncheckedRules] = field(factory=list)
    """The rules that an imported recording cannot show to be broken."""
