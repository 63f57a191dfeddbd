"""A comparison for a test runner: a JUnit test case for handshake, lanes and ending each."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from attrs import define, evolve, field

from acp_proxy.cli.render.diff_lines import DiffLines
from acp_proxy.cli.render.diff_output import Reporter, differences
from acp_proxy.cli.render.junit import Case, Failure, suite
from acp_proxy.cli.reports import write_text
from acp_proxy.difference.result import Change, Counts, Diff, DiffEntry, Field

_MOST_LINES = 500
"""Lines of one failure; whoever wants all of them reads the JSON."""
_COUNTED = {
    Change.ONLY_A: "only_a",
    Change.ONLY_B: "only_b",
    Change.CHANGED: "changed",
    Change.MOVED: "moved",
}


@define
class _Place:
    """What is different in one place."""

    counts: Counts = field(factory=Counts)
    lines: list[str] = field(factory=list)
    left_out: int = 0

    def add(self, kind: str, lines: Iterable[str]) -> None:
        """Adds a difference of a kind, which is a member of `Counts`.

        Its lines are made only where there is room; of one that has too many the first are kept.
        """
        self.counts = evolve(self.counts, **{kind: getattr(self.counts, kind) + 1})
        if self.left_out:
            self.left_out += 1
            return
        room = _MOST_LINES - len(self.lines)
        made = [*islice(lines, room + 1)]
        self.lines += made[:room]
        self.left_out = int(len(made) > room)

    def failure(self) -> Failure | None:
        """Why its case failed, if anything is different."""
        if not self.counts.total:
            return None
        more = [f"… and {self.left_out:,} more"] if self.left_out else []
        return Failure("difference", differences(self.counts), [*self.lines, *more])


class Cases(Reporter):
    """Makes test cases of what is told."""

    def __init__(self) -> None:
        self._lines = DiffLines(None, color=False)
        self._places: dict[str, _Place] = {}

    def begin(self, found: Diff) -> None:
        """Begins the cases that there are in any comparison."""
        sessions = [name for name in found.aliases if name.startswith("session:")]
        self._places = {name: _Place() for name in ("handshake", "connection", *sessions)}
        self._add_fields("handshake", found.handshake)

    def entry(self, entry: DiffEntry) -> None:
        """Adds an entry to its lane's case."""
        place = self._places.setdefault(entry.lane, _Place())
        place.add(_COUNTED[entry.change], self._lines.entry(entry))

    def end(self, found: Diff) -> None:
        """Adds how the recordings ended."""
        self._places["ending"] = _Place()
        self._add_fields("ending", found.ending)

    @property
    def cases(self) -> list[Case]:
        """A case for each place; complete when all is told."""
        return [Case("diff", name, place.failure()) for name, place in self._places.items()]

    def _add_fields(self, name: str, fields: tuple[Field, ...]) -> None:
        for one in fields:
            self._places[name].add(name, self._lines.field(one, ""))


class Junit(Cases):
    """Writes a file when all is told.

    Args:
        path: the file's.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def end(self, found: Diff) -> None:
        """Writes the file.

        Raises:
            Refusal: it cannot be written.
        """
        super().end(found)
        name = f"acp-proxy diff {found.a.name} {found.b.name}"
        write_text(self._path, suite(name, self.cases))
