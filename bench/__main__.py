"""Runs the benchmark: measures all cases and programs in interleaved rounds, prints a table."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import asdict

from bench.build import BenchError, Programs, build
from bench.cases import CASES, Case
from bench.diffs import FRAMES, measure_diffs
from bench.growth import COMMANDS, SIZES, run_growth
from bench.kills import Kill, run_kills
from bench.pages import FRAMES as PAGE_FRAMES
from bench.pages import GOALS, measure_pages
from bench.report import HEADER, Rounds, as_json, number, rows, table
from bench.shapes import SHAPES
from bench.subjects import PROXY, Subject, measure, subjects

if TYPE_CHECKING:
    from collections.abc import Sequence

KILLS = 100
NAMES = (*(case.name for case in CASES), "diff", "report", "growth", "kills")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice(NAMES))
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1))
@click.option("--quick", is_flag=True, help="A tenth of everything, to try the bench itself.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Every figure, as JSON.")
@click.option("--kills", type=click.IntRange(1), help=f"Kill this often. [asked for: {KILLS}]")
@click.option("--seed", type=int, help="Of the moments of the kills; by default a new one.")
def main(
    names: Sequence[str],
    rounds: int,
    quick: bool,
    json_file: Path | None,
    kills: int | None,
    seed: int | None,
) -> None:
    """Measure acp-proxy against a direct pipe and against a C program that only copies.

    NAME selects what to measure; by default, everything except the kills.
    """
    names = names or [name for name in NAMES if name != "kills"]
    if "kills" in names:
        kills = kills or KILLS
    try:
        programs = build()
    except BenchError as error:
        raise click.ClickException(str(error)) from None
    measured = subjects(programs)
    if not PROXY.exists():
        click.echo(f"{PROXY} is not there: only the floors are measured", err=True)
    cases = [case.quick() if quick else case for case in CASES if case.name in names]
    results: dict[str, Any] = {"rounds": rounds, "load": os.getloadavg()[0], "cases": {}}
    failed = _run_cases(cases, measured, programs, rounds, results)
    if "diff" in names:
        _run_diffs(rounds, results, quick=quick)
    if "report" in names:
        failed |= _run_pages(rounds, results, quick=quick)
    if "growth" in names:
        sizes = (SIZES[0] // 10, SIZES[1] // 10) if quick else SIZES
        results["growth"] = run_growth(list(SHAPES), list(COMMANDS), sizes)
    if kills:
        failed |= _run_kills(programs, kills, seed, results)
    if json_file:
        json_file.write_text(json.dumps(results, indent=1) + "\n")
    if failed:
        raise click.ClickException("not everything could be measured")


def _run_cases(
    cases: Sequence[Case],
    measured: Sequence[Subject],
    programs: Programs,
    rounds: int,
    results: dict[str, Any],
) -> bool:
    """Measure cases, and print the table of each; return whether a measurement failed."""
    failed = False
    if cases:
        click.echo(
            f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}; {rounds} interleaved rounds; "
            "ratios are medians of those within a round\n"
        )
        click.echo(HEADER)
    for case in cases:
        figures, failures = _rounds(case, measured, programs, rounds)
        summary = rows(case, figures)
        click.echo(table(case, summary))
        for subject, reason in failures.items():
            click.echo(f"  {subject}: {reason}", err=True)
        click.echo()
        failed |= bool(failures)
        results["cases"][case.name] = {
            "rows": [as_json(row) for row in summary],
            "rounds": figures,
            "failures": failures,
        }
    return failed


def _rounds(
    case: Case, measured: Sequence[Subject], programs: Programs, rounds: int
) -> tuple[Rounds, dict[str, str]]:
    """Measure all rounds of a case; after its first failure, a program is left out."""
    taking_part = [
        subject for subject in measured if not subject.is_special or subject.name in case.also
    ]
    figures: Rounds = {subject.name: [] for subject in taking_part}
    failures: dict[str, str] = {}
    for turn in range(rounds):
        first = turn % len(taking_part)
        for subject in taking_part[first:] + taking_part[:first]:
            if subject.name in failures:
                continue
            try:
                figures[subject.name].append(measure(case, subject, programs))
            except BenchError as error:
                failures[subject.name] = str(error)
                figures[subject.name] = []
    return figures, failures


def _run_diffs(rounds: int, results: dict[str, Any], *, quick: bool) -> None:
    """Measure and print how long `diff` takes for two long recordings."""
    times = measure_diffs(min(rounds, 3), FRAMES // 10 if quick else FRAMES)
    for time in times:
        click.echo(time.line())
    results["diff"] = [asdict(time) for time in times]


def _run_pages(rounds: int, results: dict[str, Any], *, quick: bool) -> bool:
    """Measure and print figures of report pages in a browser; return whether this failed."""
    frames = tuple(count // 10 for count in PAGE_FRAMES) if quick else PAGE_FRAMES
    results["report"] = []
    try:
        for time in measure_pages(min(rounds, 3), frames):
            click.echo(time.line())
            results["report"].append(asdict(time))
    except BenchError as error:
        click.echo(f"  {error}", err=True)
        return True
    click.echo(GOALS)
    return False


def _run_kills(programs: Programs, count: int, seed: int | None, results: dict[str, Any]) -> bool:
    """Kill recorders, and print the results; return whether a kill could not be measured."""
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    click.echo(f"{count} kills, seed {seed}")

    def complain(kill: Kill) -> None:
        if kill.lost:
            click.echo(
                f"  {kill.lost:,} of {kill.received:,} bytes lost, killed {kill.after_s:.3f} s "
                f"after the first byte, {kill.gap_us} us between frames"
            )

    if not PROXY.exists():
        click.echo("  there is nothing to kill", err=True)
        return True
    try:
        kills = run_kills(programs, count, random.Random(seed), complain)
    except BenchError as error:
        click.echo(f"  {error}", err=True)
        return True
    losing = sum(1 for kill in kills if kill.lost)
    received = sum(kill.received for kill in kills) / 1e6
    click.echo(
        f"  forwarded but not recorded: in {losing} of {count} kills, of {number(received)} MB"
        "   must hold: 0 of 20   aim: 0 of 1,000"
    )
    results["kills"] = {"seed": seed, "count": count, "losing": losing, "received_mb": received}
    return False


if __name__ == "__main__":
    main(prog_name="python -m bench")
