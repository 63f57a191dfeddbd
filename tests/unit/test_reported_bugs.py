"""For rebuilt bug reports, the output of `show` names the problem, the frame and the culprit."""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.command_line import run

DATA = Path(__file__).parents[1] / "data" / "reports"


class Collection(NamedTuple):
    """A directory of rebuilt bug reports and healthy conversations, with its list."""

    path: Path
    entries: list[dict[str, Any]]

    @property
    def reports(self) -> list[dict[str, Any]]:
        """Returns the entries that are bug reports."""
        return [entry for entry in self.entries if "thread" in entry]


def collection(name: str) -> Collection:
    """Reads a directory of conversations and its list."""
    path = DATA / name
    entries = json.loads((path / "expected.json").read_text(encoding="utf-8"))
    return Collection(path, entries)


NAMES = ("culprits", "fresh", "second", "third", "fourth", "fifth")
CULPRITS, FRESH, SECOND, THIRD, FOURTH, FIFTH = COLLECTIONS = [collection(name) for name in NAMES]
HEALTHY = [
    (reports, entry)
    for reports in COLLECTIONS
    for entry in reports.entries
    if "thread" not in entry
]


def named(value: Collection | dict[str, Any]) -> str:
    """Returns the name of a test for a collection."""
    return value.path.name if isinstance(value, Collection) else value["file"]


class Points(NamedTuple):
    """The three things that a finding may get right about a bug report; each counts one point."""

    problem: bool
    frame: bool
    culprit: bool


@cache
def findings(path: Path) -> list[dict[str, Any]]:
    """Returns the problems that `show` finds in a recording."""
    shown = json.loads(run("show", "--json", path).stdout)
    actual: list[dict[str, Any]] = shown["problems"]
    return actual


def accusing(path: Path) -> list[dict[str, Any]]:
    """Returns the errors and warnings that `show` finds in a recording."""
    return [finding for finding in findings(path) if finding["severity"] != "info"]


def points_of(finding: dict[str, Any], entry: dict[str, Any]) -> Points:
    """Returns what a finding gets right about a bug report.

    Each regular expression of ``problem`` has to be in the sentence. Blame counts only if the
    finding is about the problem or its frames.
    """
    text = finding["text"]
    problem = all(re.search(words, text, re.IGNORECASE) for words in entry["problem"])
    frame = not set(entry["frames"]).isdisjoint(finding["seqs"])
    return Points(problem, frame, (problem or frame) and finding["by"] == entry["culprit"])


def best_points(entry: dict[str, Any], among: Collection, read: int | None) -> Points:
    """Returns the points of the finding that gets most about a bug report right.

    If ``read`` is a number, only so many errors and warnings count, the first ones.
    """
    path = among.path / entry["file"]
    actual = findings(path) if read is None else accusing(path)[:read]
    return max(
        (points_of(item, entry) for item in actual), key=sum, default=Points(False, False, False)
    )


@pytest.mark.parametrize(
    ("among", "read", "least"),
    [
        (CULPRITS, None, 90),
        (FRESH, None, 94),
        (FRESH, 5, 86),
        (SECOND, None, 95),
        (SECOND, 5, 83),
        (THIRD, None, 95),
        (THIRD, 5, 72),
        (FOURTH, None, 92),
        (FOURTH, 5, 82),
        (FIFTH, None, 91),
        (FIFTH, 5, 81),
    ],
    ids=[
        "culprits",
        "fresh",
        "fresh-first-five",
        "second",
        "second-first-five",
        "third",
        "third-first-five",
        "fourth",
        "fourth-first-five",
        "fifth",
        "fifth-first-five",
    ],
)
def test_the_score_of_the_reports(among: Collection, read: int | None, least: int) -> None:
    """In recordings rebuilt from bug reports, the findings of `show` score a minimum of points.

    Points are given for the right problem, frame and culprit.
    """
    points = {entry["file"]: best_points(entry, among, read) for entry in among.reports}
    score = 100 * sum(map(sum, points.values())) / (3 * len(points))
    said = [f"{score:.0f} % of {3 * len(points)} points of {len(points)} reports"]
    for name, point in points.items():
        missing = [what for what, has in zip(Points._fields, point, strict=True) if not has]
        said += [f"{name}: no {', no '.join(missing)}"] if missing else []
    sys.stdout.write("\n".join(["", *said, ""]))
    assert score >= least


@pytest.mark.parametrize("among", COLLECTIONS, ids=named)
def test_every_report_names_frames_of_its_recording(among: Collection) -> None:
    """Each bug report that the tests rebuilt names frames of its recording and a known culprit."""
    for entry in among.reports:
        rows = (among.path / entry["file"]).read_text(encoding="utf-8").splitlines()[1:]
        assert entry["frames"], entry["file"]
        assert set(entry["frames"]) <= set(range(1, len(rows) + 1)), entry["file"]
        assert entry["culprit"] in ("client", "agent", "environment", "fault", None), entry["file"]


@pytest.mark.parametrize(("among", "entry"), HEALTHY, ids=named)
def test_nobody_is_accused_in_a_healthy_conversation(
    among: Collection, entry: dict[str, Any]
) -> None:
    """`show` blames neither side in the healthy conversations among the tests' bug reports."""
    assert accusing(among.path / entry["file"]) == []


@pytest.mark.parametrize("among", COLLECTIONS, ids=named)
def test_every_file_is_listed(among: Collection) -> None:
    """The tests' list of rebuilt bug reports names each recording in their directory once."""
    files = sorted(path.name for path in among.path.glob("*.jsonl"))
    assert files == sorted(entry["file"] for entry in among.entries)
