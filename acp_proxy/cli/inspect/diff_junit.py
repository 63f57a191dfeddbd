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


class Junit(Teller):
    """Writes a file when all is told.

    Args:
        path: the file's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
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
        """Writes the file.

        Raises:
            Refusal: it cannot be written.
        """
        self._cases["ending"] = _Case()
        self._add_fields("ending", found.ending)
        try:
            self._path.write_text(self._suite(found), encoding="utf-8")
        except OSError as e:
            reason = (e.strerror or str(e)).lower()
            raise Refusal(f"cannot write {self._path}: {reason}") from None

    def _add_fields(self, name: str, fields: tuple[Field, ...]) -> None:
        for one in fields:
            self._cases[name].add(name, [*self._lines.field(one, "")])

    def _suite(self, found: Diff) -> str:
        failures = sum(case.counts.total > 0 for case in self._cases.values())
        suite = ET.Element(
            "testsuite",
            name=visible(f"acp-proxy diff {found.a.name} {found.b.name}"),
            tests=str(len(self._cases)),
            failures=str(failures),
            errors="0",
        )
        for name, case in self._cases.items():
            test = ET.SubElement(suite, "testcase", classname="diff", name=visible(name))
            if case.counts.total:
                message = differences(case.counts)
                failure = ET.SubElement(test, "failure", type="difference", message=message)
                more = [f"… and {case.left_out:,} more"] if case.left_out else []
                failure.text = "\n".join([*case.lines, *more])
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
