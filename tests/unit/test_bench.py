"""The report of the benchmark shows a goal only for figures that have a goal."""

from __future__ import annotations

import pytest

pytest.importorskip("bench.report", reason="the bench is not part of what is distributed")


def test_a_touched_direction_has_a_goal_for_its_median_alone() -> None:
    """If the bench sets a fault that never fires, only the median round trip has an upper limit."""
    from bench.cases import CASES
    from bench.report import rows, table

    case = next(case for case in CASES if "touched" in case.also)
    figures = {metric.key: 1.0 for metric in case.metrics}
    names = ("direct", "copier", "acp-proxy", "touched")
    lines = table(case, rows(case, {name: [figures] for name in names})).splitlines()
    goals = [line.split() for line in lines if "<=" in line]
    assert [next(word for word in words if word in names) for words in goals] == [
        "acp-proxy",
        "touched",
    ]
    assert all(words[-2:] == ["x", "copier"] for words in goals)
