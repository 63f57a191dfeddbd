"""The lines of a results file: a header, and a verdict for each recording.

A line is one JSON object, in ASCII, whose members `docs/json.md` documents. A reader ignores
members that it does not know, so that a later version can add some.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from attrs import asdict, fields, frozen

FORMAT = 1
MOST_FINDINGS = 100
"""Findings of a recording that its verdict lists."""
_SEVEREST = (2, 3, 1)


class VerdictKind(StrEnum):
    """How it went with a recording."""

    CLEAN = "clean"
    DIFFERS = "differs"
    BROKEN_RULES = "broken-rules"
    FINDINGS = "findings"
    """A check has found what counts as a failure."""
    FAILED = "failed"
    """In a sweep, a client hung or crashed."""
    INCOMPLETE = "incomplete"
    """The recording is; it was checked, or played, to its end."""
    STALLED = "stalled"
    KILLED = "killed"
    """The agent was killed by somebody else, or ended with the code of a killed one."""
    LOST = "lost"
    """The process that was to find the verdict has ended without one."""
    CANNOT_START = "cannot-start"
    UNREADABLE = "unreadable"
    UNTESTED = "untested"
    """A sweep that tests nothing."""
    REFUSED = "refused"
    """Wrong use, in any other way."""


RETRIED = {VerdictKind.STALLED, VerdictKind.KILLED, VerdictKind.LOST}
"""What may be the machine's fault, and is tried again."""


@frozen
class FirstDivergence:
    """Where a live agent first did something else."""

    seq: int | None
    """The number of the recorded frame; None if it is about none."""
    text: str


@frozen
class JobVerdict:
    """What was found about one recording."""

    recording: str
    command: str
    digest: str
    exit: int
    """0 to 3, as the command would end for this recording alone; 3 for a lost one."""
    kind: VerdictKind
    seconds: float
    sha256: str | None = None
    """Of the recording's file."""
    node: str = ""
    """The name of the machine."""
    attempt: int = 1
    new_recording: str | None = None
    first_divergence: FirstDivergence | None = None
    broken: int | None = None
    """How many findings there are, listed or not."""
    findings: tuple[Mapping[str, Any], ...] | None = None
    """The worst findings of a check, or the runs of a sweep."""
    error: str | None = None
    """Why there is no other verdict, in one line."""
    ending: str | None = None
    """How the agent ended, and its last line on stderr, where that may explain the verdict."""


@frozen
class ShardCount:
    """How much of a shard is in a merged file."""

    shard: str | None
    recordings: int | None
    verdicts: int


@frozen
class ResultsHeader:
    """What the verdicts of a file have in common."""

    version: str
    """Of acp-proxy."""
    command: str
    digest: str
    words: tuple[str, ...]
    """The options and the agent's command, without secrets."""
    shard: str | None = None
    """``3/7``; None if the file is not one of a shard."""
    recordings: int | None = None
    """How many there are, in this shard."""
    total: int | None = None
    """How many there are in all shards."""
    shards: tuple[ShardCount, ...] = ()
    """Of a file that was merged."""
    versions: tuple[str, ...] = ()
    """The versions of acp-proxy that wrote the results, sorted; empty if there is only one."""
    acp_proxy_results: int = FORMAT


def line_of(value: ResultsHeader | JobVerdict) -> bytes:
    """Returns a line of a results file."""
    members = asdict(value)
    if isinstance(value, ResultsHeader):
        members = {"acp_proxy_results": members.pop("acp_proxy_results"), **members}
    return json.dumps(members, separators=(",", ":")).encode() + b"\n"


def header_of(line: bytes) -> ResultsHeader:
    """Reads the first line.

    Raises:
        ValueError: it is no header, or one of a later format.
    """
    members = _object(line)
    number = members.get("acp_proxy_results")
    if not isinstance(number, int):
        raise ValueError("expected a header, with the member acp_proxy_results")
    if number > FORMAT:
        raise ValueError(f"it has format {number}, and this is format {FORMAT}; upgrade acp-proxy")
    for name in ("words", "versions"):
        if name in members:
            members[name] = _listed(members[name], str, name)
    shards = _listed(members.get("shards", []), dict, "shards")
    members["shards"] = tuple(_made(ShardCount, one) for one in shards)
    found: ResultsHeader = _made(ResultsHeader, members)
    return found


def versions_of(*headers: ResultsHeader) -> tuple[str, ...]:
    """Returns the versions of acp-proxy that have written results, sorted; empty if it is one.

    Args:
        *headers: of these results.
    """
    found = {version for one in headers for version in (one.version, *one.versions)}
    return tuple(sorted(found)) if len(found) > 1 else ()


def verdict_of(line: bytes) -> JobVerdict:
    """Reads any other line.

    Raises:
        ValueError: it is no verdict.
    """
    members = _object(line)
    divergence, findings = members.get("first_divergence"), members.get("findings")
    try:
        members["kind"] = VerdictKind(members["kind"])
        if members["exit"] not in range(4):
            raise ValueError(f"expected an exit from 0 to 3, got {members['exit']!r}")
        if divergence is not None:
            members["first_divergence"] = _made(FirstDivergence, divergence)
        if findings is not None:
            members["findings"] = _listed(findings, dict, "findings")
        found: JobVerdict = _made(JobVerdict, members)
    except (KeyError, TypeError, OverflowError) as e:
        raise ValueError(f"expected a verdict: {e}") from None
    return found


def _listed(value: object, kind: type, name: str) -> tuple[Any, ...]:
    if not isinstance(value, list) or not all(isinstance(one, kind) for one in value):
        raise ValueError(f"expected a list for {name}, got {value!r:.40}")
    return tuple(value)


def _object(line: bytes) -> dict[str, Any]:
    try:
        members = json.loads(line)
    except (RecursionError, ValueError):
        members = None
    if not isinstance(members, dict):
        text = line[:_SHOWN].decode(errors="replace").strip()
        raise ValueError(f"expected a JSON object, got {text!r}")
    return members


_LARGE = 1 << 53
"""Numbers of a results file are smaller, so that their sums can be computed and printed."""
_SHOWN = 40
"""Bytes of a line that is something else."""
_TYPES = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "VerdictKind": (VerdictKind,),
    "str | None": (str, type(None)),
    "int | None": (int, type(None)),
}


def _made(cls: Any, members: Mapping[str, Any]) -> Any:
    """Makes a value of those members that it has; raises ValueError if one has a wrong type."""
    if not isinstance(members, Mapping):
        raise ValueError(f"expected an object, got {members!r:.40}")
    given = {one.name: members[one.name] for one in fields(cls) if one.name in members}
    for one in fields(cls):
        name = one.type.__name__ if isinstance(one.type, type) else str(one.type)
        expected = _TYPES.get(name)
        if one.name in given and expected and not isinstance(given[one.name], expected):
            raise ValueError(f"expected {name} for {one.name}, got {given[one.name]!r:.40}")
        if isinstance(value := given.get(one.name), int | float) and not 0 <= value < _LARGE:
            raise ValueError(f"expected 0 to 2^53 for {one.name}, got {value!r:.40}")
    try:
        return cls(**given)
    except TypeError as e:
        missing = str(e).rpartition(": ")[2]
        raise ValueError(f"expected these members as well: {missing}") from None


def digest_of(command: str, words: Sequence[str]) -> str:
    """Returns a hash of a command and of its words; equal for batches that can be continued.

    Args:
        command: its name.
        words: its options and the agent's command, in one order.
    """
    return hashlib.sha256(json.dumps([command, *words]).encode()).hexdigest()


def worst_exit(exits: Iterable[int]) -> int:
    """Returns the exit code of a batch: 2 before 3 before 1 before 0."""
    found = set(exits)
    return next((code for code in _SEVEREST if code in found), 0)
