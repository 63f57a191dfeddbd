"""Lists the programs that the benchmark compares, and runs each of them."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from bench.build import BenchError
from bench.window import watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.build import Programs
    from bench.cases import Case

TIMEOUT_S = 120
PROXY = Path(sys.executable).with_name("acp-proxy")
RECORDING = "rec.db"


@frozen
class Subject:
    """A program that runs between client and agent."""

    name: str
    prefix: tuple[str, ...] = ()
    """The words before the agent's command; `{tmp}` is the directory of the run."""
    records: bool = False
    is_special: bool = False
    """Whether only cases that name the program measure it."""
    is_watched: bool = False
    """Whether a live window shows the recording meanwhile."""

    def command(self, folder: Path, agent: list[str]) -> list[str]:
        """Return the command of a run, with the agent's command at its end."""
        return [*(word.replace("{tmp}", str(folder)) for word in self.prefix), *agent]


def subjects(programs: Programs) -> tuple[Subject, ...]:
    """Return all programs that can be measured here; acp-proxy only if it is installed."""
    python_copier = Path(__file__).with_name("copier.py")
    floors = (
        Subject("direct"),
        Subject("copier", (str(programs.copier),)),
        Subject("python", (sys.executable, str(python_copier)), is_special=True),
    )
    watched = evolve(proxy("watched"), is_special=True, is_watched=True)
    return (*floors, proxy(), touched(), fired(), watched) if PROXY.exists() else floors


def proxy(name: str = "acp-proxy", *options: str) -> Subject:
    """Return acp-proxy as it is installed beside this interpreter, with some options."""
    command = (str(PROXY), "record", "-o", f"{{tmp}}/{RECORDING}", *options, "--")
    return Subject(name, command, records=True, is_special=bool(options))


def in_own_process(make: Callable[..., Path], *arguments: Any) -> Path:
    """Call a function in a new process, so that its memory is not counted for a subject."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(make, *arguments).result()


def touched() -> Subject:
    """Return acp-proxy with a fault rule that never fires but is checked for each frame."""
    return proxy("touched", "--fault", "drop where=text:never-said")


def fired() -> Subject:
    """Return acp-proxy with a fault rule that fires for each frame without delaying it."""
    return proxy("fired", "--fault", "latency latency_ms=0")


def measure(case: Case, subject: Subject, programs: Programs) -> dict[str, float]:
    """Run a case with one program as often as a round requires; return median figures.

    Raises:
        BenchError: bytes were lost, the exit code was wrong, or a run took too long.
    """
    runs = [_run(case, subject, programs) for _ in range(case.repeats)]
    return {key: median(run[key] for run in runs) for key in runs[0]}


def environment(folder: Path) -> dict[str, str]:
    """Return an environment without settings that would change the figures."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ACP_PROXY_")}
    return {**kept, "ACP_PROXY_RECORDINGS": str(folder), "XDG_DATA_HOME": str(folder)}


def finish_recording(folder: Path) -> str:
    """Index the rest of a recording's log; return the lines on stderr."""
    command = [str(PROXY), "inspect", "show", str(folder / RECORDING)]
    try:
        result = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(folder),
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BenchError(f"inspect show was not done after {TIMEOUT_S} s") from None
    return result.stderr.decode(errors="replace").strip()[-400:]


def _run(case: Case, subject: Subject, programs: Programs) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="acp-proxy-bench-") as name:
        folder = Path(name)
        agent = [str(programs.agent), *case.agent_arguments]
        command = subject.command(folder, agent)
        words = [str(programs.driver), *case.driver_arguments, "--", *command]
        with watched(folder, RECORDING) if subject.is_watched else contextlib.nullcontext():
            figures = _drive(words, folder)
        # A process that only waits for the agent is not counted as the subject's memory.
        figures["peak_kb"] = max(figures["tree_kb"], figures["process_kb"]) if subject.prefix else 0
        if case.keeps:
            if subject.records:
                figures["cpu_s"] += _finishing_cpu_s(folder)
            kept = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            figures["kept_per_frame"] = kept / case.count
        figures["cpu_per_100k_s"] = figures["cpu_s"] / case.count * 100_000
        return figures


def _drive(command: list[str], folder: Path) -> dict[str, float]:
    with tempfile.TemporaryFile() as said:
        driver = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment(folder),
            start_new_session=True,
        )
        try:
            output, _ = driver.communicate(timeout=TIMEOUT_S)
            reason = f"exit code {driver.returncode}" if driver.returncode else ""
        except subprocess.TimeoutExpired:
            reason = f"not done after {TIMEOUT_S} s"
        finally:
            if driver.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(driver.pid, signal.SIGKILL)
                driver.communicate()
        if reason:
            said.seek(0)
            text = said.read()[-400:].decode(errors="replace").strip()
            raise BenchError(f"{reason}: {text}" if text else reason)
    figures: dict[str, float] = json.loads(output)
    return figures


def _finishing_cpu_s(folder: Path) -> float:
    """Index the rest of the log; return the processor seconds if the recorder left a log."""
    undone = (folder / f"{RECORDING}.log").exists()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = finish_recording(folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not (folder / RECORDING).exists():
        raise BenchError(f"no recording was made of the log: {said}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent if undone else 0.0
