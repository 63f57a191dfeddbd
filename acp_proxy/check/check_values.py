"""The values that a check returns, and functions that write values in sentences.

``docs/json.md`` documents the members of these values.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

from attrs import define, field, frozen

from acp_proxy.base.wording import without_middle
from acp_proxy.explain.findings import SEVERITIES as SEVERITIES
from acp_proxy.explain.findings import Finding
from acp_proxy.explain.findings import Severity as Severity
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.redaction.private_text import ABSOLUTE

HOUSE = "acp-proxy; no specification"
"""The source of a rule that acp-proxy itself states, not a specification."""


def source_text(source: str) -> str:
    """Returns the source of a rule in words that people can read."""
    return "a rule of acp-proxy" if source == HOUSE else source


@frozen
class Rule:
    """One rule of the protocol."""

    id: str
    by: Literal["client", "agent", "either"]
    """The side that has to follow the rule. ``either`` means both sides, or that a finding may
    name no side."""
    severity: Severity
    """The highest severity of the rule's findings."""
    dialects: tuple[str, ...]
    text: str
    """The requirement of the specification."""
    detection: str
    """How a recording shows that the rule was broken."""
    source: tuple[str, ...]
    """Where the specifications state the rule. For a rule that no specification states, only
    `HOUSE`."""
    lost_if: tuple[str, ...] | None = None
    """The facts (words of `Fact`) that an imported recording must have for the rule to be checked.
    None for a rule about the whole conversation: `CHECKS` lists the facts for its checks."""

    @property
    def group(self) -> str:
        """The part of the rule's id before the dot."""
        return self.id.partition(".")[0]


class Breach(NamedTuple):
    """A breach of a rule, as a function of `check/rules` yields it."""

    text: str
    """One sentence that says what happened. It names values, but no frames."""
    related: tuple[int, ...] = ()
    """The frames that explain the breach, such as the request or the end of the turn."""
    by: str | None = None
    """The side that broke the rule, client or agent; None if it is the sender of the checked
    message."""
    seq: int | None = None
    """The number of the frame that broke the rule; None if it is the frame of the checked
    message."""
    severity: Severity | None = None
    """The severity of the finding; None for the usual severity of the rule."""
    place: str | None = None
    """The JSON pointer of the wrong value, from the root of the message. The schema check skips
    this value."""
    explains: tuple[str, ...] = ()
    """Rules whose findings at the same frames are removed, because this breach explains them."""


Breaches = Iterator[Breach]
"""The breaches that a rule yields, one by one."""


class HasFrame(Protocol):
    """Anything that has a frame number, such as a session or the capabilities of a peer."""

    @property
    def seq(self) -> int | None:
        """The number of the frame; None if it is not known."""


def frames_of(*ones: HasFrame | int | None) -> tuple[int, ...]:
    """Returns the frame numbers of some values. Unknown numbers are left out.

    Args:
        *ones: frame numbers, or values with a frame number.
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


def worst_first(counts: Iterable[RuleCount]) -> list[RuleCount]:
    """Sorts the counts by severity and then by number, the highest first."""
    return sorted(counts, key=lambda c: (SEVERITIES.index(c.severity), -c.count, c.rule))


@frozen
class UncheckedRules:
    """Rules that were not checked in a recording, all for the same reason."""

    reason: str
    """The reason, as a clause that follows "since"."""
    rules: tuple[str, ...]
    """The ids of the rules, in the order of the catalogue. A rule that has several reasons is
    listed only with the first reason."""


@define
class ConformanceResult:
    """The result of checking one recording."""

    dialect: str | None
    dialect_reason: str | None
    frames: int = 0
    """The number of checked frames, without lines on stderr."""
    last_seq: int = 0
    """The number of the last checked frame."""
    is_whole: bool = True
    """Whether all frames were checked."""
    findings: list[Finding] = field(factory=list)
    """The first thousand findings of each rule, in the order of the frames."""
    counts: list[RuleCount] = field(factory=list)
    """How often each side broke each rule, worst first."""
    unread: list[int] = field(factory=list)
    """The numbers of the first frames that were too large to be decoded. Of these frames, only the
    labels were checked."""
    by_faults: int = 0
    """The number of findings that are left out because a fault created, changed or held back the
    frame of the finding."""
    notes: list[str] = field(factory=list)
    """The limits of the check, in words, such as a gap in the recording or another protocol."""
    unchecked: list[UncheckedRules] = field(factory=list)
    """The rules that could not be checked in an imported recording."""


_LONGEST = 60
_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    bool: "a boolean",
    type(None): "null",
}
_DIALECTS = {V1: "version 1", V2: "version 2", DRAFT: DRAFT}


def dialect_name(dialect: str | None) -> str:
    """Returns the name of a dialect for a sentence. For an unknown dialect, the name of v1."""
    return _DIALECTS[dialect or V1]


def not_offered(what: str, capability: str, side: str) -> str:
    """Returns a sentence which says that a side lacks a required capability.

    Args:
        what: the method, or anything else, that requires the capability.
        capability: the path of the capability.
        side: the side that lacks the capability: client or agent.
    """
    return f"{what} needs the capability {capability}, which the {side} does not offer"


def is_relative(path: Any) -> bool:
    """Whether a value is a path that is relative on POSIX and on Windows."""
    return isinstance(path, str) and ABSOLUTE.match(path) is None


def shown(value: Any, most: int = _LONGEST) -> str:
    """Returns a value for a sentence: a string in quotes, a number, or the kind of the value.

    Args:
        value: any value.
        most: the largest number of characters of a string. With the default limit, a longer
            string loses its end; with any other limit, its middle.
    """
    if (kind := _KINDS.get(type(value))) is not None:
        return kind
    if isinstance(value, str):
        if most != _LONGEST:
            return f'"{without_middle(value, most)}"'
        return f'"{value[:_LONGEST]}…"' if len(value) > _LONGEST else f'"{value}"'
    text = str(value)
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text


_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MCP, _LSP = "MCP, the Model Context Protocol", "LSP, the Language Server Protocol"


def note_of(params: Mapping[str, Any]) -> str | None:
    """Returns a note if ``initialize`` belongs to another protocol, such as MCP; None for ACP.

    Args:
        params: the params of ``initialize``.
    """
    version = params.get("protocolVersion")
    has_root = not params.keys().isdisjoint(("rootUri", "rootPath", "workspaceFolders"))
    if isinstance(version, str) and _DATE.fullmatch(version):
        is_mcp = isinstance(params.get("capabilities"), dict) and "clientInfo" in params
        name = _MCP if is_mcp else None
    else:
        is_lsp = "protocolVersion" not in params and "processId" in params and has_root
        name = _LSP if is_lsp else None
    return name and f"this is not ACP: initialize looks like that of {name}"
