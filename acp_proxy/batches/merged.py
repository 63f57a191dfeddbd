"""Merges the results of several files: one verdict for each recording, and what is missing.

A batch may be divided into shards, stopped and continued, and run twice in part. Each file has a
header that says of which batch it is a part, and how many recordings that part has, so what is
missing is known without a look at the recordings. Two verdicts on one recording that say the same
are one. If they differ, the worse one counts, and both are reported.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from attrs import define, evolve, field, frozen

from acp_proxy.batches.results import (
    JobVerdict,
    ResultsHeader,
    ShardCount,
    VerdictKind,
    line_of,
    versions_of,
    worst_exit,
)
from acp_proxy.errors import AcpProxyError
from acp_proxy.forms import converter
from acp_proxy.inspection.findings import Finding

_SHARD = re.compile(r"([1-9]\d{0,4})/([1-9]\d{0,4})", re.ASCII)
_KINDS = [*VerdictKind]
_VERDICTS = {0: "clean", 1: "failed", 3: "incomplete"}
CHECK, SWEEP = "check", "faults sweep"
COMMANDS = ("verify", CHECK, SWEEP)
"""Those that write results."""
_NOTHING, _INCOMPLETE = 2, 3
"""Exit codes: no recording at all; some have no verdict."""
_WORST_FIRST = (2, 3, 1, 0)
_MOST_ABSENT = 10_000


class DifferentBatches(AcpProxyError):
    """Raised when files hold results of different commands or options."""


@frozen
class MergedVerdict:
    """What one recording came to."""

    verdict: JobVerdict
    """The worst."""
    others: tuple[JobVerdict, ...] = ()
    """What other files say of the same recording, where that is something else."""


@frozen
class MissingPart:
    """A part of the batch of which results are missing."""

    shard: str | None
    """None if it is no shard, but all that a file should have."""
    recordings: int | None
    """How many it has; None if that is not known."""
    verdicts: int
    """How many of them there are."""


@frozen
class MergedResults:
    """What all files say together."""

    header: ResultsHeader
    recordings: tuple[MergedVerdict, ...]
    """By name."""
    missing: tuple[MissingPart, ...]
    exit: int

    @property
    def counts(self) -> dict[VerdictKind, int]:
        """How many recordings came to what; those that occur, in the order of the kinds."""
        found = Counter(one.verdict.kind for one in self.recordings)
        return {kind: found[kind] for kind in _KINDS if kind in found}

    @property
    def failed(self) -> list[JobVerdict]:
        """The verdicts that are not clean, by name."""
        return [one.verdict for one in self.recordings if one.verdict.kind is not VerdictKind.CLEAN]

    @property
    def tolerated(self) -> list[JobVerdict]:
        """The verdicts that are clean although something was found, by name."""
        every = (one.verdict for one in self.recordings)
        return [one for one in every if one.kind is VerdictKind.CLEAN and one.broken]

    @property
    def conflicts(self) -> list[MergedVerdict]:
        """The recordings on which files differ."""
        return [one for one in self.recordings if one.others]


@frozen
class ResultsSummary:
    """Merged results in figures, as ``--json`` prints them."""

    verdict: str
    """In one word: clean, failed, incomplete or error."""
    exit: int
    command: str
    recordings: int | None
    """How many there should be; None if that is not known."""
    verdicts: int
    """How many there are."""
    counts: dict[str, int]
    missing: tuple[MissingPart, ...]
    conflicts: int
    """How many recordings have different verdicts in different files."""
    findings: int
    """Of all checks."""
    seconds: float
    """That all of them took together."""


def summary(merged: MergedResults) -> ResultsSummary:
    """Returns merged results in figures."""
    every = [one.verdict for one in merged.recordings]
    return ResultsSummary(
        verdict=_VERDICTS.get(merged.exit, "error"),
        exit=merged.exit,
        command=merged.header.command,
        recordings=merged.header.recordings,
        verdicts=len(every),
        counts={kind.value: count for kind, count in merged.counts.items()},
        missing=merged.missing,
        conflicts=len(merged.conflicts),
        findings=sum(one.broken or 0 for one in every if one.command != SWEEP),
        seconds=round(sum(one.seconds for one in every), 3),
    )


def findings_of(verdict: JobVerdict) -> list[Finding]:
    """Returns the broken rules that a verdict lists; a sweep lists its runs instead.

    Raises:
        ValueError: they are none.
    """
    if verdict.command == SWEEP:
        return []
    try:
        found = [converter.structure(dict(one), Finding) for one in verdict.findings or ()]
    except Exception:  # whatever the values of a stranger do to a converter
        raise ValueError("expected findings of a check") from None
    if any(one.line is not None and one.line < 1 for one in found):
        raise ValueError("expected lines from 1 on")
    return found


@define
class _Part:
    """A shard, or all of a file that has none."""

    shard: str | None
    recordings: int | None
    names: set[str] = field(factory=set)
    counted: int = 0
    """Verdicts of it that a merged file has."""

    @property
    def verdicts(self) -> int:
        return max(len(self.names), self.counted)

    @property
    def is_missing(self) -> bool:
        return self.recordings is None or self.verdicts < self.recordings

    def is_continued_by(self, other: "_Part") -> bool:
        """Whether another file has all of this one, and more of the same batch."""
        is_known = len(self.names) == self.verdicts  # a merged file does not say whose are whose
        return is_known and self.recordings == other.recordings and self.names < other.names


@define
class ResultsMerger:
    """Takes the lines of all files, one file after another."""

    _first: tuple[str, ResultsHeader] | None = None
    _versions: tuple[str, ...] = ()
    _parts: dict[object, _Part] = field(factory=dict)
    _now: list[_Part] = field(factory=list)
    """The parts that the verdicts of the file belong to."""
    _found: dict[str, list[JobVerdict]] = field(factory=dict)
    _files: int = 0
    _total: int | None = None

    def begin(self, name: str, header: ResultsHeader) -> None:
        """Begins a file.

        Args:
            name: of the file.
            header: its first line.

        Raises:
            DifferentBatches: it is of another batch than the files before.
            ValueError: the header contradicts itself.
        """
        if header.command not in COMMANDS:
            raise ValueError(f"expected one of {', '.join(COMMANDS)}, got {header.command!r:.40}")
        if self._first is None:
            self._first = name, header
        first_name, first = self._first
        if (header.command, header.digest) != (first.command, first.digest):
            what = "another command" if header.command != first.command else "other options"
            raise DifferentBatches(
                f"{name} has results of {what} than {first_name}; expected those of one batch"
            )
        self._versions = versions_of(first, header, evolve(first, versions=self._versions))
        self._total = header.total if self._total is None else self._total
        self._files += 1
        counts = header.shards or (ShardCount(header.shard, header.recordings, 0),)
        parts = [self._part(count, number) for number, count in enumerate(counts)]
        self._now = parts[:1] if len(parts) == 1 else []

    def add(self, verdict: JobVerdict) -> None:
        """Adds a verdict of the file that was begun.

        Raises:
            ValueError: it is of another batch, or lists something else than findings.
        """
        assert self._first is not None
        header = self._first[1]
        if (verdict.command, verdict.digest) != (header.command, header.digest):
            raise ValueError("expected a verdict of the batch that the header names")
        findings_of(verdict)
        for part in self._now:
            part.names.add(verdict.recording)
        known = self._found.setdefault(verdict.recording, [])
        if not any(_says_the_same(verdict, one) for one in known):
            known.append(verdict)

    @property
    def has_begun(self) -> bool:
        """Whether there is a file."""
        return self._first is not None

    def merged(self, *, is_partial: bool = False, empty: int = 0) -> MergedResults:
        """Returns what all files say.

        Args:
            is_partial: whether shards that are not there are not missing.
            empty: how many files ended within their first line, so that nobody knows their part.
        """
        assert self._first is not None
        recordings = tuple(_merged(self._found[name]) for name in sorted(self._found))
        absent = [] if is_partial else [*islice(self._absent(), _MOST_ABSENT)]
        stopped = [MissingPart(one.shard, one.recordings, one.verdicts) for one in self._stopped()]
        missing = [*stopped, *[MissingPart(None, None, 0)] * empty]
        exits = [one.verdict.exit for one in recordings]
        if missing or absent:
            exits.append(_INCOMPLETE)
        elif not recordings and not is_partial:
            exits.append(_NOTHING)
        return MergedResults(
            header=self._header(has_absent=bool(absent)),
            recordings=recordings,
            missing=(*sorted(missing, key=_order), *absent),
            exit=worst_exit(exits),
        )

    def _part(self, count: ShardCount, number: int) -> _Part:
        """Returns a shard, in whatever file it is, or else a part of the file that is read."""
        if count.shard is not None:
            _numbers(count.shard)
        part = self._parts.setdefault(
            count.shard or (self._files, number), _Part(count.shard, count.recordings)
        )
        part.counted = max(part.counted, count.verdicts)
        if count.recordings is not None:
            part.recordings = max(count.recordings, part.recordings or 0)
        return part

    def _counting(self) -> list[_Part]:
        """Returns the parts without those that another file goes on with."""
        whole = [part for part in self._parts.values() if part.shard is None]
        return [
            part
            for part in self._parts.values()
            if part.shard is not None or not any(map(part.is_continued_by, whole))
        ]

    def _stopped(self) -> list[_Part]:
        return [part for part in self._counting() if part.is_missing]

    def _absent(self) -> Iterator[MissingPart]:
        """Yields the shards of which there is no file."""
        there: dict[int, set[int]] = {}
        for part in self._parts.values():
            if part.shard is not None:
                number, of = _numbers(part.shard)
                there.setdefault(of, set()).add(number)
        for of, numbers in sorted(there.items()):
            for number in range(1, of + 1):
                if number not in numbers:
                    yield MissingPart(f"{number}/{of}", None, 0)

    def _header(self, *, has_absent: bool) -> ResultsHeader:
        assert self._first is not None
        count = self._total if has_absent else self._recordings()
        return evolve(
            self._first[1],
            versions=self._versions,
            shard=None,
            recordings=count,
            total=count,
            shards=tuple(
                ShardCount(one.shard, one.recordings, one.verdicts)
                for one in sorted(self._counting(), key=_order)
            ),
        )

    def _recordings(self) -> int | None:
        """How many there are: each that has a verdict once, and those that files lack."""
        count = len(self._found)
        for part in self._stopped():
            if part.recordings is None:
                return None
            count += part.recordings - part.verdicts
        return count


def _numbers(shard: str) -> tuple[int, int]:
    match = _SHARD.fullmatch(shard)
    number, of = (int(match[1]), int(match[2])) if match else (1, 0)
    if number > of:
        raise ValueError(f"expected a shard such as 3/7, got {shard!r:.20}")
    return number, of


def _order(part: _Part | MissingPart) -> tuple[int, int]:
    number, of = (0, 0) if part.shard is None else _numbers(part.shard)
    return of, number


def _says_the_same(one: JobVerdict, other: JobVerdict) -> bool:
    """Whether two verdicts are equal apart from machine, time, attempt and new recording."""
    return _bare(one) == _bare(other)


def _bare(one: JobVerdict) -> JobVerdict:
    return evolve(one, seconds=0.0, node="", attempt=1, new_recording=None)


def _merged(verdicts: Sequence[JobVerdict]) -> MergedVerdict:
    worst, *others = sorted(verdicts, key=_badness)
    return MergedVerdict(worst, tuple(others))


def _badness(verdict: JobVerdict) -> tuple[int, int, bytes]:
    text = line_of(_bare(verdict))  # so that the order of the files does not count
    return _WORST_FIRST.index(verdict.exit), -_KINDS.index(verdict.kind), text


def missing_text(missing: Iterable[MissingPart], most: int = 20) -> list[str]:
    """Returns in words what is missing, in a few lines.

    Args:
        missing: the parts.
        most: how many shards are named.
    """
    stopped: list[MissingPart] = []
    absent: list[MissingPart] = []
    for part in missing:
        is_absent = part.shard is not None and part.recordings is None and not part.verdicts
        (absent if is_absent else stopped).append(part)
    lines = [_stopped(part) for part in stopped[:most]]
    if len(stopped) > most:
        lines.append(f"{len(stopped) - most:,} more shards stopped")
    named = [part.shard for part in absent if part.shard is not None]
    if named:
        more = f" and {len(named) - most:,} more" if len(named) > most else ""
        verb = "is" if len(named) == 1 else "are"
        word = "shard" if len(named) == 1 else "shards"
        lines.append(f"{word} {', '.join(named[:most])}{more} {verb} not among the files")
    return lines


def _stopped(part: MissingPart) -> str:
    if part.shard is None and part.recordings is None and not part.verdicts:
        return "a file ends within its first line, and has no verdicts"
    name = "the batch" if part.shard is None else f"shard {part.shard}"
    of = "" if part.recordings is None else f" of {part.recordings:,}"
    return f"{name} stopped after {part.verdicts:,}{of} recordings"
