"""Exchanges that keep or break a sentence of the specification have the right findings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acp_proxy.check.check_values import Severity
from acp_proxy.check.checker import Checker
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.example_checker import before, check_lines, judge

DATA = Path(__file__).parents[2] / "data/conformance"
HEALTHY = sorted((DATA / "healthy").glob("*.jsonl"))
_SECTION = re.compile(r"# (?P<name>.+): (?P<kind>obeying|breaking)\n(?:after (?P<after>.+)\n)?")


def sections(kind: str) -> list[tuple[str, str, list[str]]]:
    """Returns the exchanges of a kind in `sentences.txt`: name, preceding messages and lines."""
    written = re.split(r"\n\n(?=# )", (DATA / "sentences.txt").read_text("utf-8").strip())
    sections = []
    for section in written:
        title = _SECTION.match(section)
        assert title is not None, section
        if title["kind"] == kind:
            sections.append(
                (title["name"], title["after"] or "", section[title.end() :].splitlines())
            )
    return sections


@each_case(("name", "after", "lines"), sections("obeying"))
def test_who_obeys_is_not_accused(name: str, after: str, lines: list[str]) -> None:
    """`check` finds no error if an exchange obeys a sentence of the specification."""
    told = [line for line in lines if not line.startswith(" ")]
    findings = check_lines([*before(after), *told]).findings
    assert [finding for finding in findings if finding.severity is not Severity.INFO] == [], name


@each_case(("name", "after", "lines"), sections("breaking"))
def test_who_breaks_a_sentence_is_found(name: str, after: str, lines: list[str]) -> None:
    """`check` finds the expected broken rule in an exchange that disobeys the specification."""
    assert judge(lines, after) == lines, name


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.stem)
def test_healthy_conversations_accuse_nobody(path: Path) -> None:
    """`check` finds no error in conversations with proxy chains, child sessions or MCP over ACP."""
    with path.open("rb") as file, RecordingReader(path, iter(file.readlines())) as reader:
        findings = Checker(reader).read().findings
    assert [finding for finding in findings if finding.severity is not Severity.INFO] == []
