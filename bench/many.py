"""Measures commands that look for one recording in a directory of a thousand recordings.

python -m bench.many                    copies of the shipped recordings, five rounds
python -m bench.many --count 100 --keep DIR     keeps the recordings in DIR, for experiments
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from bench.subjects import PROXY

SHIPPED = sorted((Path(__file__).parents[1] / "recordings").glob("*.db"))
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
COMMANDS: tuple[list[str], ...] = (
    ["--version"],
    ["show", "{file}"],
    ["show"],
    [],
    ["list", "-n", "10"],
    ["list"],
    ["show", "run-0007"],
    ["show", "{id}"],
    ["show", "nothing-like-it"],
)
"""The measured commands; ``{file}`` is a path in the directory, ``{id}`` the beginning of an id."""


def make(directory: Path, count: int) -> None:
    """Fills a directory with copies of the shipped recordings, six hours apart.

    Args:
        directory: the directory, which must not exist.
        count: the number of copies.
    """
    directory.mkdir(parents=True)
    for number in range(count):
        path = directory / f"run-{number:04}.db"
        shutil.copyfile(SHIPPED[number % len(SHIPPED)], path)
        started = (FIRST + timedelta(hours=6 * number)).isoformat(timespec="microseconds")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute(
                "UPDATE recording SET id = ?, name = ?, started_at = ?, redaction = 'secrets'",
                (f"{number * 2654435761 % 2**48:012x}", path.stem, started),
            )
        when = (FIRST + timedelta(hours=6 * number)).timestamp() + 1
        os.utime(path, (when, when))


def completion(directory: Path, line: str) -> dict[str, str]:
    """Returns the environment in which bash asks for completions of a line."""
    words = line.split(" ")
    return {
        **environment(directory),
        "_ACP_PROXY_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }


def environment(directory: Path) -> dict[str, str]:
    """Returns the environment of a user with a directory of recordings."""
    inherited = {key: value for key, value in os.environ.items() if "ACP_PROXY" not in key}
    return inherited | {"ACP_PROXY_RECORDINGS": str(directory)}


def measure(arguments: list[str], env: dict[str, str], rounds: int) -> str:
    """Returns the median of the time and of the processor time of a command.

    Args:
        arguments: the arguments of acp-proxy.
        env: the environment of acp-proxy.
        rounds: the number of runs.
    """
    walls, used = [], []
    for _ in range(rounds):
        before = time.perf_counter()
        with subprocess.Popen(
            [PROXY, *arguments], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        walls.append(time.perf_counter() - before)
        used.append(usage.ru_utime + usage.ru_stime)
    return f"{statistics.median(walls):6.3f} s  cpu {statistics.median(used):6.3f} s"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--count", default=1000, show_default=True, type=click.IntRange(10))
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1))
@click.option("--keep", type=click.Path(path_type=Path), help="Where to leave the recordings.")
def main(count: int, rounds: int, keep: Path | None) -> None:
    """Measure the commands that look for one recording among many."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = keep or Path(scratch) / "recordings"
        if not directory.exists():
            make(directory, count)
        place = {"file": str(directory / "run-0003.db"), "id": f"{7 * 2654435761 % 2**48:012x}"[:9]}
        for command in COMMANDS:
            arguments = [word.format(**place) for word in command]
            figures = measure(arguments, environment(directory), rounds)
            click.echo(f"{figures}  acp-proxy {' '.join(command)}")
        for line in ("acp-proxy ", "acp-proxy show ", "acp-proxy log latest kind:"):
            figures = measure([], completion(directory, line), rounds)
            click.echo(f"{figures}  completion of {line!r}")


if __name__ == "__main__":
    main()
