"""Makes a table of the figures of all rounds."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import asdict, frozen

if TYPE_CHECKING:
    from bench.cases import Case, Goal, Metric

Rounds: TypeAlias = "dict[str, list[dict[str, float]]]"
"""The figures of each subject, round by round; all subjects have the same rounds."""

FLOORS = ("direct", "copier", "python")
MEASURES = (*FLOORS, "acp-proxy")
"""The programs that others are compared with; each is also compared with those before it."""
HEADER = (
    f"{'':32}{'':10}{'median':>12}{'min .. max':>20}"
    f"{'x direct':>10}{'x copier':>10}{'x python':>10}{'x proxy':>10}  {'must hold':20}{'aim'}"
)


@frozen
class Row:
    """A figure of one program, from all rounds."""

    metric: Metric
    subject: str
    values: tuple[float, ...]
    ratios: dict[str, float]
    """For each program of `MEASURES`, the median of the ratios to its figure in the same round."""

    @property
    def goal(self) -> Goal | None:
        """Returns the goal of the figure, if it has one."""
        goal = None if self.subject in FLOORS else self.metric.goal
        return None if goal is None or goal.floor == self.subject else goal


def rows(case: Case, rounds: Rounds) -> list[Row]:
    """Return the figures of a case for all programs, in the order of the metrics."""
    results = []
    for metric in case.metrics:
        series = {subject: _series(metric, runs) for subject, runs in rounds.items() if runs}
        if metric.less_direct:
            direct = series.pop("direct", ())
            series = {
                subject: tuple(a - b for a, b in zip(values, direct, strict=True))
                for subject, values in series.items()
                if direct
            }
        for subject, values in series.items():
            below = MEASURES[: MEASURES.index(subject)] if subject in MEASURES else MEASURES
            ratios = {
                other: median(a / b for a, b in zip(values, series[other], strict=True))
                for other in below
                if min(series.get(other, (0.0,))) > 0
            }
            if max(values) > 0 or subject not in FLOORS:
                results.append(Row(metric, subject, values, ratios))
    return results


def _series(metric: Metric, runs: list[dict[str, float]]) -> tuple[float, ...]:
    return tuple(run[metric.key] * metric.scale for run in runs)


def table(case: Case, rows: list[Row]) -> str:
    """Return the table of a case as text."""
    lines = [f"{case.title} ({case.name})"]
    last = None
    for row in rows:
        label = "" if row.metric is last else row.metric.name
        last = row.metric
        value = f"{number(median(row.values))} {row.metric.unit}"
        spread = f"{number(min(row.values))} .. {number(max(row.values))}"
        ratios = "".join(_ratio(row.ratios.get(other)) for other in MEASURES)
        goal = _goal(row)
        lines.append(f"  {label:30}{row.subject:10}{value:>12}{spread:>20}{ratios}{goal}".rstrip())
    return "\n".join(lines)


def as_json(row: Row) -> dict[str, Any]:
    """Return a row as JSON values."""
    return {
        "figure": row.metric.name,
        "unit": row.metric.unit,
        "subject": row.subject,
        "median": median(row.values),
        "min": min(row.values),
        "max": max(row.values),
        "ratios": row.ratios,
        "goal": asdict(row.goal) if row.goal else None,
    }


def number(value: float) -> str:
    """Return a number with three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _ratio(value: float | None) -> str:
    return f"{'' if value is None else number(value):>10}"


def _goal(row: Row) -> str:
    goal = row.goal
    if goal is None:
        return ""
    sign = ">=" if row.metric.more_is_better else "<="
    of = f"x {goal.floor}" if goal.floor else row.metric.unit
    must = f"{sign} {goal.must:g} {of}"
    return f"  {must:20}{sign} {goal.aim:g} {of}"
