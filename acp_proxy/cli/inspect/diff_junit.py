"""A comparison for a test runner: a JUnit test case for handshake, lanes and ending each."""

import xml.etree.ElementTree as ET
from pathlib import Path

from attrs import define, evolve, field

from acp_proxy.cli.inspect.diff_lines import DiffLines
from acp_proxy.cli.inspect.diff_telling import Teller, differences
from acp_proxy.cli.main import Refusal
from acp_proxy.difference.result import Change, Counts, Diff, Entry, Field
from acp_proxy.inspection.safe_text import visible

_MOST_LINES = 500
"""Lines of one failure; whoever wants all of them reads the JSON."""
_COUNTED = {
    Change.ONLY_A: "only_a",
    Change.ONLY_B: "only_b",
    Change.CHANGED: "changed",
    Change.MOVED: "moved",
}


@define
class _Case:
    """What is different in one place."""

    counts: Counts = field(factory=Counts)
    lines: list[str] = field(factory=list)
    left_out: int = 0

    def add(self, kind: str, lines: list[str]) -> None:
        """Adds a difference of a kind, which is a member of `Counts`."""
        self.counts = evolve(self.counts, **{kind: getattr(self.counts, kind) + 1})
        if len(self.lines) + len(lines) <= _MOST_LINES:
            self.lines += lines
        else:
            self.left_out += 1


class Cases(Teller):
    """Makes a test suite of what is told.

    Attributes:
        suite: the suite; complete when all is told.
    """

    def __init__(self) -> None:
        self.suite = ET.Element("testsuite")
        self._lines = DiffLines(None, color=False)
        self._cases: dict[str, _Case] = {}

    def begin(self, found: Diff) -> None:
        """Begins the cases that there are in any comparison."""
        sessions = [name for name in found.aliases if name.startswith("session:")]
        self._cases = {name: _Case() for name in ("handshake", "connection", *sessions)}
        self._add_fields("handshake", found.handshake)

    def entry(self, entry: Entry) -> None:
        """Adds an entry to its lane's case."""
        case = self._cases.setdefault(entry.lane, _Case())
        case.add(_COUNTED[entry.change], [*self._lines.entry(entry)])

    def end(self, found: Diff) -> None:
        """Completes the suite."""
        self._cases["ending"] = _Case()
        self._add_fields("ending", found.ending)
        self._fill(found)

    def _add_fields(self, name: str, fields: tuple[Field, ...]) -> None:
        for one in fields:
            self._cases[name].add(name, [*self._lines.field(one, "")])

    def _fill(self, found: Diff) -> None:
        failures = sum(case.counts.total > 0 for case in self._cases.values())
        self.suite.set("name", visible(f"acp-proxy diff {found.a.name} {found.b.name}"))
        self.suite.set("tests", str(len(self._cases)))
        self.suite.set("failures", str(failures))
        self.suite.set("errors", "0")
        for name, case in self._cases.items():
            test = ET.SubElement(self.suite, "testcase", classname="diff", name=visible(name))
            if case.counts.total:
                message = differences(case.counts)
                failure = ET.SubElement(test, "failure", type="difference", message=message)
                more = [f"… and {case.left_out:,} more"] if case.left_out else []
                failure.text = "\n".join([*case.lines, *more])


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
        try:
            self._path.write_text(text_of(self.suite), encoding="utf-8")
        except OSError as e:
            reason = (e.strerror or str(e)).lower()
            raise Refusal(f"cannot write {self._path}: {reason}") from None


def text_of(suite: ET.Element) -> str:
    """A test suite as a file has it."""
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
