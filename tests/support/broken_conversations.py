"""Changes clean conversations in one place each, and names the rules that the change breaks.

A clean conversation, such as ``tests/data/conformance/clean-v1.txt``, has a name before each line,
and the syntax of the examples of rules. A table of changes has sections such as these:

    # v1: a prompt is not answered
    delete end 1
       rpc.unanswered by agent at prompt 1

The title begins with the name of the conversation. Then come the changes, in these forms:

    delete NAME
    repeat NAME                  a second time, directly after it
    repeat NAME after OTHER
    move NAME after OTHER
    set NAME /a/pointer VALUE    makes a member, or adds it; `-` stands for the end of a list
    drop NAME /a/pointer
    replace NAME LINE
    add after NAME LINE

Then come all expected findings, with the severity if it is not the rule's own. A repeated line has
the name ``NAME again``; added lines have the names ``added``, ``added 2`` and so on.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define, frozen

from acp_proxy.check.catalogue import rules
from tests.support.example_checker import check_lines, frames_of
from tests.support.labelled_transcripts import frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.explain.findings import Finding

FOLDER = Path(__file__).parents[1] / "data" / "conformance"
CONVERSATIONS = ("v1", "v1-plain", "v2", "draft")
_NAMED = re.compile(r"(?P<name>[^:]+): (?P<line>.+)")
_TITLE = re.compile(r"# (?P<conversation>\S+): (?P<title>.+)")
_FOUND = re.compile(
    r"(?P<rule>\S+) by (?P<by>client|agent) at (?P<name>.+?)( \((?P<severity>\w+)\))?"
)
_POINTER = re.compile(r"(?P<name>[^/]+?) (?P<pointer>/\S+)( (?P<value>.+))?")


@frozen
class Change:
    """A section of a table: changes of a conversation, and the expected findings."""

    conversation: str
    title: str
    operations: tuple[str, ...]
    findings: tuple[str, ...]
    """All findings that the checker should have, in the form of the table."""

    @property
    def name(self) -> str:
        """Returns the name of the change as the id of a test."""
        return f"{self.conversation}: {self.title}"


@define
class Named:
    """A line of a conversation, with the name that tables use for it."""

    name: str
    line: str

    @property
    def arrow(self) -> str:
        """Returns the first word of the line: an arrow, or the mark of an event."""
        return self.line.partition(" ")[0]

    @property
    def message(self) -> Any:
        """Returns the message on the line as JSON values."""
        return json.loads(frame(self.line.partition(" ")[2]))

    def with_message(self, message: Any) -> Named:
        """Returns a line with the same name and direction, but another message."""
        return Named(self.name, f"{self.arrow} {json.dumps(message)}")


@cache
def clean(conversation: str) -> tuple[tuple[str, str], ...]:
    """Returns the lines of a clean conversation, each with its name before it."""
    written = (FOLDER / f"clean-{conversation}.txt").read_text("utf-8").splitlines()
    findings = [_NAMED.fullmatch(line) for line in written]
    return tuple((item["name"], item["line"]) for item in findings if item is not None)


def lines_of(conversation: str) -> list[Named]:
    """Returns the lines of a clean conversation as new objects, which a test may change."""
    return [Named(name, line) for name, line in clean(conversation)]


def changes(table: str) -> Iterator[Change]:
    """Yields the sections of a table.

    Raises:
        ValueError: a section has no title or no change.
    """
    text = (FOLDER / f"{table}.txt").read_text("utf-8")
    for section in re.split(r"\n(?=# )", text.strip()):
        title, *lines = [line for line in section.splitlines() if line.strip()]
        match = _TITLE.fullmatch(title)
        operations = tuple(line for line in lines if not line.startswith(" "))
        if match is None or not operations:
            raise ValueError(f"expected '# CONVERSATION: TITLE' and a change, got {section!r}")
        findings = tuple(line.strip() for line in lines if line.startswith(" "))
        yield Change(match["conversation"], match["title"], operations, findings)


def findings(lines: list[Named]) -> list[str]:
    """Checks a conversation, and returns the findings in the form of a table of changes."""
    return [
        described(finding, lines)
        for finding in check_lines([finding.line for finding in lines]).findings
    ]


def described(finding: Finding, lines: list[Named]) -> str:
    """Returns a finding in the form of a table of changes."""
    own = rules()[finding.rule].severity
    severity = "" if finding.severity == own else f" ({finding.severity.value})"
    names = [line.name for line in lines for _ in range(frames_of(line.line))]
    at = names[finding.seq - 1] if finding.seq <= len(names) else f"event {finding.seq}"
    return f"{finding.rule} by {finding.by} at {at}{severity}"


def is_error(finding: str) -> bool:
    """Whether a finding of a table is an error.

    Raises:
        ValueError: the finding does not have the form that tables use.
    """
    match = _FOUND.fullmatch(finding)
    if match is None:
        raise ValueError(f"expected 'RULE by SIDE at NAME', got {finding!r}")
    return (match["severity"] or rules()[match["rule"]].severity.value) == "error"


def changed(change: Change) -> list[Named]:
    """Returns the lines of a conversation after all operations of a change."""
    lines = lines_of(change.conversation)
    for operation in change.operations:
        _apply(operation, lines)
    return lines


def _apply(operation: str, lines: list[Named]) -> None:
    verb, _, rest = operation.partition(" ")
    if verb == "delete":
        del lines[_at(rest, lines)]
    elif verb == "repeat":
        name, _, other = rest.partition(" after ")
        at = _at(name, lines)
        after = _at(other or name, lines)
        lines.insert(after + 1, Named(f"{name} again", lines[at].line))
    elif verb == "move":
        name, _, other = rest.partition(" after ")
        moved = lines.pop(_at(name, lines))
        lines.insert(_at(other, lines) + 1, moved)
    elif verb in ("set", "drop"):
        match = _POINTER.fullmatch(rest)
        if match is None:
            raise ValueError(f"expected 'NAME /pointer', got {rest!r}")
        at = _at(match["name"], lines)
        message = lines[at].message
        value = (json.loads(match["value"]),) if verb == "set" else ()
        _edit(message, match["pointer"].split("/")[1:], *value)
        lines[at] = lines[at].with_message(message)
    elif verb == "replace":
        name = _longest(rest, lines)
        lines[_at(name, lines)].line = rest.removeprefix(name).strip()
    elif verb == "add":
        rest = rest.removeprefix("after ")
        name = _longest(rest, lines)
        number = sum(re.fullmatch(r"added( \d+)?", line.name) is not None for line in lines)
        new = "added" if not number else f"added {number + 1}"
        lines.insert(_at(name, lines) + 1, Named(new, rest.removeprefix(name).strip()))
    else:
        raise ValueError(f"expected a change, got {operation!r}")


def _edit(value: Any, path: list[str], *new: Any) -> None:
    for name in path[:-1]:
        value = value[int(name)] if isinstance(value, list) else value[name]
    last = path[-1]
    if isinstance(value, list):
        if last == "-":
            value.append(*new)
        elif new:
            value[int(last)] = new[0]
        else:
            del value[int(last)]
    elif new:
        value[last] = new[0]
    else:
        del value[last]


def _at(name: str, lines: list[Named]) -> int:
    for at, line in enumerate(lines):
        if line.name == name:
            return at
    raise ValueError(f"no line is called {name!r}")


def _longest(text: str, lines: list[Named]) -> str:
    """Returns the longest name of a line with which a text begins."""
    names = [line.name for line in lines if text.startswith(f"{line.name} ")]
    if not names:
        raise ValueError(f"expected the name of a line, got {text!r}")
    return max(names, key=len)
