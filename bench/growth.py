"""Measures how the time of each command grows if a recording has four times as much.

python -m bench.growth                                     every shape and command, about an hour
python -m bench.growth --shape depth,stderr --command show some of them

Times are processor times of the command and its child processes. The time for a nearly empty
recording is subtracted. Four times the size may take five times as long, as n log n does; a larger
ratio is marked. A difference below `NOISE_S` is too small to judge.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import resource
import shutil
import signal
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from attrs import asdict, frozen

import acp_proxy
from acp_proxy import entry
from acp_proxy.store.reader import RecordingReader
from bench.shapes import SHAPES, write
from bench.subjects import PROXY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIZES = (2_000, 8_000)
MOST = 5.0
"""The largest allowed ratio of the times for four times the size."""
NOISE_S = 0.2
"""A ratio is only computed if the larger size takes at least this time."""
LIMIT_S = 60
"""Processor seconds after which a command is killed, and seconds of silence of a replay."""
_SMALL = 3
"""The size of the recording whose time is subtracted as the start-up."""
_QUIET_S = 2.0

REPLAY = "replay"
COMMANDS: dict[str, list[str]] = {
    "import": ["import", "{text}", "-o", "{new}.db"],
    "list": ["list", "{directory}"],
    "list --check": ["list", "--check", "{directory}"],
    "show": ["show", "{db}"],
    "log": ["log", "{db}"],
    "log --json": ["log", "--json", "{db}"],
    "stats": ["stats", "{db}"],
    "transcript": ["transcript", "{db}"],
    "audit": ["audit", "{db}"],
    "check": ["check", "{db}"],
    "search": ["search", "-e", "no{2}thing", "{db}"],
    "secrets": ["secrets", "{db}"],
    "diff": ["diff", "{db}", "{other}"],
    "report": ["report", "{db}", "-o", "{new}.html"],
    "report --against": ["report", "{db}", "--against", "{other}", "-o", "{new}.html"],
    "bundle": ["bundle", "{db}", "-o", "{new}.zip"],
    "export": ["export", "{db}"],
    "export mermaid": ["export", "--format", "mermaid", "{db}"],
    "export pytest": ["export", "--format", "pytest", "{db}", "-o", "{new}"],
    "export --level": ["export", "{db}", "-o", "{new}.db", "--level", "secrets"],
    REPLAY: ["replay", "{db}", "--stall-timeout", "5"],
    "verify": [
        "verify", "{db}", "--stall-timeout", "5", "-o", "{new}.db", "--",
        str(PROXY), "replay", "{db}",
    ],
}  # fmt: skip
"""The measured commands, by name: their arguments, with placeholders for files."""


@frozen
class Growth:
    """The times of a command for two sizes of a shape.

    Attributes:
        seconds: processor seconds for each size, without start-up; None if the command was killed.
    """

    shape: str
    command: str
    seconds: tuple[float | None, ...]

    @property
    def ratio(self) -> float | None:
        """Returns the larger time divided by the smaller one; None if both are too short."""
        first, last = self.seconds
        if last is None or first is None:
            return float("inf")
        return last / max(first, 0.01) if last > NOISE_S else None

    @property
    def is_too_much(self) -> bool:
        """Whether the time grows faster than it may."""
        return self.ratio is not None and self.ratio > MOST

    def line(self) -> str:
        """Returns the times as a line for the terminal."""
        times = "".join("   > limit" if s is None else f"{s:10.2f}" for s in self.seconds)
        ratio = "-" if self.ratio is None else f"{self.ratio:.1f}"
        mark = "   <-- grows too fast" if self.is_too_much else ""
        return f"{self.shape:<20}{self.command:<18}{times}{ratio:>8}{mark}"


def header(sizes: tuple[int, int]) -> str:
    """Returns the first line of the table."""
    return f"{'shape':<20}{'command':<18}" + "".join(f"{n:>10,}" for n in sizes) + f"{'ratio':>8}"


def measure_growth(
    shapes: Sequence[str] = tuple(SHAPES),
    commands: Sequence[str] = tuple(COMMANDS),
    sizes: tuple[int, int] = SIZES,
) -> Iterator[Growth]:
    """Yields the times of each command with each shape.

    Args:
        shapes: names of `SHAPES`.
        commands: names of `COMMANDS`.
        sizes: the two sizes.
    """
    _import_all()
    for shape in shapes:
        with tempfile.TemporaryDirectory(prefix="acp-growth-") as scratch:
            made = [_Recording(Path(scratch) / str(size), shape, size) for size in (_SMALL, *sizes)]
            for command in commands:
                yield _growth(shape, command, made)


def _import_all() -> None:
    """Imports all modules of acp-proxy, so that imports are not measured."""
    for module in pkgutil.walk_packages(acp_proxy.__path__, "acp_proxy."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.freeze()


def _growth(shape: str, command: str, made: Sequence[_Recording]) -> Growth:
    """Measures a command, and once more if its time grows too fast: the machine may be busy."""
    start = made[0].seconds(command) or 0.0
    results = [item.seconds(command) for item in made[1:]]
    times = tuple(None if s is None else max(0.0, s - start) for s in results)
    growth = Growth(shape, command, times)
    if growth.is_too_much and None not in times:
        again = [item.seconds(command) for item in made[1:]]
        best = Growth(
            shape, command, tuple(None if s is None else max(0.0, s - start) for s in again)
        )
        growth = min(growth, best, key=lambda item: item.ratio or 0.0)
    return growth


class _Recording:
    """A recording of a shape, as text and as a database, in a separate directory."""

    def __init__(self, directory: Path, shape: str, size: int) -> None:
        self._directory = directory
        self._made = 0
        listed = directory / "listed"
        listed.mkdir(parents=True)
        self._names = {
            "text": str(directory / "growth.jsonl"),
            "directory": str(listed),
            "db": str(listed / "growth.db"),
            "other": str(directory / "other.db"),
        }
        write(directory / "growth.jsonl", shape, size)
        self.seconds("import")
        shutil.copyfile(directory / "new-1.db", self._names["db"])
        shutil.copyfile(directory / "new-1.db", self._names["other"])

    def seconds(self, command: str) -> float | None:
        """Returns the processor seconds of a command; None if it was killed."""
        self._made += 1
        names = self._names | {"new": str(self._directory / f"new-{self._made}")}
        arguments = [_filled(word, names) for word in COMMANDS[command]]
        client = _Client(self._client_lines()) if command == REPLAY else None
        pid = os.fork()
        if not pid:
            _become(arguments, self._names["directory"], client)
        guard = threading.Timer(5 * LIMIT_S, os.kill, (pid, signal.SIGKILL))
        guard.start()
        if client is not None:
            client.play()
        _, status, usage = os.wait4(pid, 0)
        guard.cancel()
        code = os.waitstatus_to_exitcode(status)
        if code in (-signal.SIGKILL, -signal.SIGXCPU):
            return None
        if code not in (0, 1, 3):
            click.echo(f"{code}: acp-proxy {' '.join(arguments)}", err=True)
        return usage.ru_utime + usage.ru_stime

    def _client_lines(self) -> list[tuple[int, bytes]]:
        """Returns the client's lines, each with the number of agent's lines before it."""
        lines, count = [], 0
        with RecordingReader(Path(self._names["db"])) as reader:
            for row in reader.frames():
                if row["stream"] == "to-agent":
                    lines.append((count, bytes(row["raw"]) + b"\n"))
                count += row["stream"] == "to-client"
        return lines


def _filled(word: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        word = word.replace("{" + name + "}", value)
    return word


def _become(arguments: list[str], recordings: str, client: _Client | None) -> NoReturn:
    """Runs a command in this forked process, and exits.

    The process has imported everything before the fork, so the time of imports is not measured.
    """
    status = 70
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        for name in [name for name in os.environ if name.startswith("ACP_PROXY")]:
            del os.environ[name]
        os.environ["ACP_PROXY_RECORDINGS"] = recordings
        nothing = os.open(os.devnull, os.O_RDWR)
        ends = (nothing, nothing) if client is None else client.ends
        for number, descriptor in enumerate((*ends, nothing)):
            os.dup2(descriptor, number)
        os.closerange(3, 256)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "r" if not n else "w") for n in range(3))
        sys.argv = ["acp-proxy", *arguments]
        entry.main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    finally:
        sys.stdout.flush()
        os._exit(status)


class _Client:
    """Plays a recorded client: it sends a line after as many agent's lines as in the recording.

    If a line is missing for two seconds, the client sends all its other lines and closes its end.
    """

    def __init__(self, lines: list[tuple[int, bytes]]) -> None:
        self._lines = lines
        stdin, self._input = os.pipe()
        self._output, stdout = os.pipe()
        self.ends = stdin, stdout
        self._seen, self._is_over = 0, False
        self._changed = threading.Condition()

    def play(self) -> None:
        """Sends all lines, each after the required number of lines, and reads until the end."""
        for end in self.ends:
            os.close(end)
        reader = threading.Thread(target=self._read)
        reader.start()
        is_patient = True
        with contextlib.suppress(BrokenPipeError), os.fdopen(self._input, "wb", 0) as pipe:
            for before, line in self._lines:
                is_patient = is_patient and self._has_come(before)
                pipe.write(line)
        reader.join()
        os.close(self._output)

    def _has_come(self, before: int) -> bool:
        with self._changed:
            enough = partial(self._is_enough, before)
            return self._changed.wait_for(enough, _QUIET_S) and not self._is_over

    def _is_enough(self, before: int) -> bool:
        return self._is_over or self._seen >= before

    def _read(self) -> None:
        while block := os.read(self._output, 1 << 16):
            with self._changed:
                self._seen += block.count(b"\n")
                self._changed.notify()
        with self._changed:
            self._is_over = True
            self._changed.notify()


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--shape", default=",".join(SHAPES), help=f"Of {', '.join(SHAPES)}.")
@click.option("--command", default=",".join(COMMANDS), help=f"Of {', '.join(COMMANDS)}.")
@click.option("--sizes", default=SIZES, show_default=True, type=(int, int), help="The two sizes.")
def main(shape: str, command: str, sizes: tuple[int, int]) -> None:
    """Measure how the time of each command grows with each shape.

    Separate several shapes or commands by commas. By default, all are measured.
    """
    run_growth(shape.split(","), command.split(","), sizes)


def run_growth(
    shapes: Sequence[str], commands: Sequence[str], sizes: tuple[int, int]
) -> list[dict[str, Any]]:
    """Prints the table while it is measured, and returns its rows.

    Args:
        shapes: names of `SHAPES`.
        commands: names of `COMMANDS`.
        sizes: the two sizes.
    """
    click.echo(header(sizes))
    results = []
    for growth in measure_growth(shapes, commands, sizes):
        click.echo(growth.line())
        results.append(growth)
    many = sum(growth.is_too_much for growth in results)
    click.echo(f"{len(results)} figures; {many} grow too fast")
    return [asdict(growth) | {"is_too_much": growth.is_too_much} for growth in results]


if __name__ == "__main__":
    main(prog_name="python -m bench.growth")
