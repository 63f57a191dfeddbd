"""Reports a comparison: as a verdict, JSON lines, test cases, or rules to ignore differences."""

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from attrs import asdict, define, field

from acp_proxy.base.limits import NAMED
from acp_proxy.base.wording import counted
from acp_proxy.cli.diff.diff_lines import DiffLines
from acp_proxy.cli.screens.junit import Case, Failure
from acp_proxy.cli.screens.output import Writer, say, warn
from acp_proxy.cli.screens.styled_text import Screen
from acp_proxy.diff.diff_result import Counts, Diff, DiffEntry, Field, differences
from acp_proxy.diff.learned_rules import Learned, can_be_ignored, kind_of, place_of
from acp_proxy.protocol.json_text import encode_json

_MOST_LINES = 500
"""The largest number of lines in a failure of the JUnit report."""


class DiffReporter:
    """A form of report that receives a comparison part by part. This base class prints nothing."""

    def begin(self, _found: Diff) -> None:
        """Begins the report. The entries of the comparison follow."""

    def entry(self, _entry: DiffEntry) -> None:
        """Adds an entry to the report. All entries of a lane come one after the other."""

    def end(self, _found: Diff) -> None:
        """Ends the report, after the last entry."""


def report_diff(diff: Diff, reporters: Sequence[DiffReporter]) -> None:
    """Reports a comparison in several forms, but reads its entries only once.

    Args:
        diff: the comparison.
        reporters: the reporters, one for each form.
    """
    for reporter in reporters:
        reporter.begin(diff)
    for entry in diff.entries():
        for reporter in reporters:
            reporter.entry(entry)
    for reporter in reporters:
        reporter.end(diff)


class DiffJson(DiffReporter):
    """Prints a comparison as lines of JSON, each as soon as its content is known."""

    def __init__(self) -> None:
        self._out = Writer()

    def begin(self, diff: Diff) -> None:
        """Prints the recordings and the differences of the handshakes."""
        head = {
            "a": _members(diff.a),
            "b": _members(diff.b),
            "expect": diff.expect,
            "is_equal": diff.is_equal,
            "counts": _counts(diff.counts),
            "aliases": diff.aliases,
        }
        self._line("diff", head)
        for place in diff.handshake:
            self._line("handshake", _members(place))

    def entry(self, entry: DiffEntry) -> None:
        """Prints an entry."""
        self._line("entry", {**_members(entry), "fields": [*map(_members, entry.fields)]})

    def end(self, diff: Diff) -> None:
        """Prints the differences of the endings, and the latencies."""
        for place in diff.ending:
            self._line("ending", _members(place))
        for latency in diff.latency:
            self._line("latency", _members(latency))
        self._out.flush()

    def learned(self, result: Learned) -> None:
        """Prints the proposed rules as JSON, and the differences that remain with these rules."""
        members = {**_members(result), "rest": _counts(result.rest)}
        self._line("learned", {**members, "is_equal": not result.rest.total})
        self._out.flush()

    def _line(self, kind: str, members: dict[str, Any]) -> None:
        self._out.json(encode_json({"type": kind, **members}))


def _members(value: Any) -> dict[str, Any]:
    return asdict(value, recurse=False, filter=lambda member, _: "hidden" not in member.metadata)


def _counts(counts: Counts) -> dict[str, int]:
    return {**_members(counts), "total": counts.total}


@define
class _Place:
    """The differences of one test case."""

    counts: Counter[str] = field(factory=Counter)
    lines: list[str] = field(factory=list)
    left_out: int = 0

    def add(self, kind: str, lines: Iterable[str]) -> None:
        """Counts a difference, and adds its lines until the test case has `_MOST_LINES` lines."""
        self.counts[kind] += 1
        if self.left_out:
            self.left_out += 1
            return
        room = _MOST_LINES - len(self.lines)
        made = [*islice(lines, room + 1)]
        self.lines += made[:room]
        self.left_out = int(len(made) > room)

    def failure(self) -> Failure | None:
        if not self.counts:
            return None
        more = [f"… and {self.left_out:,} more"] if self.left_out else []
        return Failure("difference", differences(Counts(**self.counts)), [*self.lines, *more])


class DiffCases(DiffReporter):
    """Makes one test case for the handshake, one for each lane, and one for the ending."""

    def __init__(self) -> None:
        self._lines = DiffLines(Screen())
        self._places: dict[str, _Place] = {}

    def begin(self, diff: Diff) -> None:
        """Begins the report: creates the cases of the handshake and of the lanes."""
        sessions = [name for name in diff.aliases if name.startswith("session:")]
        self._places = {name: _Place() for name in ("handshake", "connection", *sessions)}
        self._add_fields("handshake", diff.handshake)

    def entry(self, entry: DiffEntry) -> None:
        """Adds an entry to the case of its lane."""
        place = self._places.setdefault(entry.lane, _Place())
        place.add(entry.change.value.replace("-", "_"), self._lines.entry(entry))

    def end(self, diff: Diff) -> None:
        """Ends the report: adds the case of the ending."""
        self._places["ending"] = _Place()
        self._add_fields("ending", diff.ending)

    @property
    def cases(self) -> list[Case]:
        """Returns the cases. Before the call of `end`, the case of the ending is missing."""
        return [Case("diff", name, place.failure()) for name, place in self._places.items()]

    def _add_fields(self, name: str, fields: tuple[Field, ...]) -> None:
        for place in fields:
            self._places[name].add(name, self._lines.field(place))


class RuleHint(DiffReporter):
    """Prints on stderr how to ignore the differences: options, and the command that learns rules.

    Args:
        words: the user's names for the recordings.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._ignored: dict[str, None] = {}
        self._has_moved = False

    def begin(self, diff: Diff) -> None:
        """Writes into the hint the options that would ignore the differences in the handshake."""
        self._add(diff.handshake)

    def entry(self, entry: DiffEntry) -> None:
        """Writes into the hint the options that would ignore the changed places of an entry."""
        self._has_moved |= kind_of(entry) is not None
        self._add(entry.fields)

    def end(self, _found: Diff) -> None:
        """Prints the hint."""
        learn = f"`acp-proxy diff --learn {shlex.join(self._words)}` proposes rules"
        options = " ".join(f"--ignore {quoted(rule)}" for rule in self._ignored)
        if len(self._ignored) > NAMED:
            warn(f"to ignore some of these differences: --ignore PTR; {learn}")
        elif options:
            some = "some of these" if self._has_moved else "these"
            warn(f"to ignore {some} differences: {options}; {learn}")
        elif self._has_moved:
            warn(f"to ignore these differences: {learn}")

    def _add(self, fields: Iterable[Field]) -> None:
        for place in fields:
            if can_be_ignored(place) and len(self._ignored) <= NAMED:
                self._ignored[place_of(place)] = None


def say_learned(result: Learned, text: str) -> None:
    """Prints proposed rules on stdout, and on stderr the differences that remain with the rules.

    Args:
        result: the proposed rules.
        text: the rules as the text of a file; empty if the text is not to be printed.
    """
    for line in text.splitlines():
        say(line)
    rules = [*result.aliases, *result.ignored, *result.apart]
    with_rules = f"with {counted(len(rules), 'rule')}" if rules else "without any rule"
    if not result.rest.total:
        warn(f"{with_rules} A and B are equal")
    elif rules:
        warn(f"{with_rules} A and B still differ: {differences(result.rest)}")
    else:
        warn(f"no rule can ignore what differs: {differences(result.rest)}")


def quoted(word: str) -> str:
    """Quotes a word for a shell, on one line even with control characters."""
    return shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_escaped, word))}'"


def _escaped(character: str) -> str:
    """Escapes a character for a shell string between ``$'`` and ``'``."""
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in character.encode(errors="surrogatepass"))
