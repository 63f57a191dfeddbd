"""Public reports of bugs, rebuilt: `show` alone names the problem, the frame and the culprit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.commands import run

DATA = Path(__file__).parents[1] / "data" / "reports" / "culprits"
ENTRIES: list[dict[str, Any]] = json.loads((DATA / "expected.json").read_text(encoding="utf-8"))
REPORTS = [entry for entry in ENTRIES if "thread" in entry]
HEALTHY = [entry for entry in ENTRIES if "thread" not in entry]
LEAST = 90
"""The least score in percent."""


class Points(NamedTuple):
    """What one finding says of a report; each counts one."""

    problem: bool
    frame: bool
    culprit: bool


def findings(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """What `show` says is wrong with a recording."""
    shown = json.loads(run("show", "--json", DATA / entry["file"]).stdout)
    found: list[dict[str, Any]] = shown["problems"]
    return found


def points_of(finding: dict[str, Any], entry: dict[str, Any]) -> Points:
    """Compares a finding with what is expected.

    Each text of ``problem`` has alternatives, of which one has to be in the sentence. Who is blamed
    counts only of a finding about the problem or its frames.
    """
    text = finding["text"].lower()
    problem = all(
        any(word.lower() in text for word in alternatives.split("|"))
        for alternatives in entry["problem"]
    )
    frame = not set(entry["frames"]).isdisjoint(finding["seqs"])
    return Points(problem, frame, (problem or frame) and finding["by"] == entry["culprit"])


def best_points(entry: dict[str, Any]) -> Points:
    """The points of the finding that fits best."""
    return max(
        (points_of(one, entry) for one in findings(entry)),
        key=sum,
        default=Points(False, False, False),
    )


def test_the_score_of_the_reports() -> None:
    """The points of all reports are enough; the score and what is missing are printed."""
    points = {entry["file"]: best_points(entry) for entry in REPORTS}
    score = 100 * sum(map(sum, points.values())) / (3 * len(points))
    said = [f"{score:.0f} % of {3 * len(points)} points of {len(points)} reports"]
    for name, one in points.items():
        missing = [what for what, has in zip(Points._fields, one, strict=True) if not has]
        said += [f"{name}: no {', no '.join(missing)}"] if missing else []
    sys.stdout.write("\n".join(["", *said, ""]))
    assert score >= LEAST


@pytest.mark.parametrize("entry", REPORTS, ids=lambda entry: entry["file"])
def test_every_report_names_frames_of_its_recording(entry: dict[str, Any]) -> None:
    """The numbers are those of frames and events, and the culprit is a side or nobody."""
    rows = (DATA / entry["file"]).read_text(encoding="utf-8").splitlines()[1:]
    assert entry["frames"]
    assert set(entry["frames"]) <= set(range(1, len(rows) + 1))
    assert entry["culprit"] in ("client", "agent", "environment", "fault", None)


@pytest.mark.parametrize("entry", HEALTHY, ids=lambda entry: entry["file"])
def test_nobody_is_accused_in_a_healthy_conversation(entry: dict[str, Any]) -> None:
    """It looks suspicious, but nothing is wrong and nobody is to blame."""
    accusing = [one for one in findings(entry) if one["severity"] != "info"]
    assert accusing == []


def test_every_file_is_listed() -> None:
    """The list has each recording once."""
    files = sorted(path.name for path in DATA.glob("*.jsonl"))
    assert files == sorted(entry["file"] for entry in ENTRIES)
