"""The bench says what must hold only where something must."""

from __future__ import annotations

import pytest

pytest.importorskip("bench.report", reason="the bench is not part of what is distributed")


def test_only_what_is_foreseen_must_cost_little() -> None:
    """A plan of which each frame has to be asked costs what it costs."""
    from bench.cases import CASES
    from bench.report import rows, table

    case = next(case for case in CASES if case.idle_plans)
    figures = {metric.key: 1.0 for metric in case.metrics}
    names = ("direct", "copier", "acp-proxy", "foreseen", "asked")
    lines = table(case, rows(case, {name: [figures] for name in names})).splitlines()
    goals = [line.split() for line in lines if "<=" in line]
    assert len(goals) == len(case.metrics)
    assert all("foreseen" in words and "asked" not in words for words in goals)
