"""Runs fuzz targets: ``python -m tests.fuzz [--seconds N] [TARGET ...]``, or one input again."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from attrs import frozen

from tests.fuzz import targets

ROOT = Path(__file__).parents[2]
CACHE = Path(".cache/fuzz")
_EXECUTIONS = re.compile(r"executions: (\d+)|number_of_executed_units: (\d+)")
_HYPOTHESIS, _ATHERIS = "hypothesis", "atheris"


@frozen
class Run:
    """A run of one target with one engine."""

    executions: int
    seconds: float
    crashes: list[Path]


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(targets.NAMES), metavar="[TARGET]...")
@click.option("--seconds", type=click.FloatRange(min=0), default=600, help="For each target.")
@click.option("--rerun", type=click.Path(exists=True, path_type=Path), help="An input of TARGET.")
@click.option("--engine", type=click.Choice((_HYPOTHESIS, _ATHERIS)), help="By default both.")
def main(names: tuple[str, ...], seconds: float, rerun: Path | None, engine: str | None) -> None:
    """Runs each target for some time with each installed engine."""
    os.chdir(ROOT)
    if rerun is not None:
        for name in names:
            targets.target(name).run_within_memory(rerun.read_bytes())
        return
    engines = [engine] if engine else [_HYPOTHESIS]
    if engine is None and importlib.util.find_spec("atheris") is not None:
        engines.append(_ATHERIS)
    crashes = 0
    for name in names or targets.NAMES:
        for tool in engines:
            run = _run(name, tool, seconds / len(engines))
            rate = run.executions / run.seconds if run.seconds else 0
            click.echo(f"{name:<16} {tool:<10} {run.executions:>9,} executions {rate:>8,.0f}/s"
                       f"  {len(run.crashes)} crashes")  # fmt: skip
            for crash in run.crashes:
                again = [sys.executable, "-m", "tests.fuzz", name, "--rerun", str(crash)]
                shown = subprocess.run(again, capture_output=True, text=True, errors="replace")
                click.echo(f"{shown.stderr[-3000:]}  again: {' '.join(again)}")
            crashes += len(run.crashes)
    sys.exit(bool(crashes))


def _run(name: str, engine: str, seconds: float) -> Run:
    """Runs a target in a separate process, because an input may kill the process."""
    directory = CACHE / name
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", f"tests.fuzz.with_{engine}", name]
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        if engine == _HYPOTHESIS:
            command += [str(seconds), f"{place}/crash"]
        else:
            command += [str(max(1, round(seconds))), str(directory), f"{place}/"]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace")
        took = time.monotonic() - start
        crashes = [_kept(path, directory) for path in sorted(Path(place).iterdir())]
    output = process.stdout + process.stderr
    if process.returncode and not crashes:
        raise click.ClickException(f"{' '.join(command)} failed:\n{output[-4000:]}")
    counts = [int(a or b) for a, b in _EXECUTIONS.findall(output)]
    return Run(counts[-1] if counts else 0, took, crashes)


def _kept(path: Path, directory: Path) -> Path:
    """Stores an input in a file, whose name is a hash of the input."""
    data = path.read_bytes()
    kept = directory / f"crash-{hashlib.sha1(data).hexdigest()[:12]}"
    kept.write_bytes(data)
    return kept


if __name__ == "__main__":
    main()
