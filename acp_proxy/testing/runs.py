"""Finds the starts of an agent: which still run, and the reports of those that have ended."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

_MOMENT_S = 0.005
_KILL_AFTER_S = 10.0


class RunReport(NamedTuple):
    """The report of a replay, as `acp-proxy replay --report` writes it."""

    verdict: str
    """``clean``, ``diverged``, ``stalled`` or ``incomplete``."""
    exit_code: int
    divergences: list[dict[str, Any]]
    unplayed: int
    """Frames of the agent that never went out."""
    text: str
    """The report as text; one line if it is clean."""
    data: dict[str, Any]
    """All of the report."""


class AgentRun:
    """One start of the agent.

    Attributes:
        number: counted from 1.
        was_ended: whether the test had to end it.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self.was_ended = False
        self._base = directory / str(number)

    @property
    def database(self) -> Path:
        """The file of its recording, which need not exist."""
        return self._base.with_suffix(".db")

    @property
    def error(self) -> str | None:
        """Why it could not start; None if it could."""
        with contextlib.suppress(OSError):
            return self._base.with_suffix(".error").read_text(encoding="utf-8")
        return None

    def is_over(self) -> bool:
        """Whether its process has ended."""
        import fcntl  # late: the plugin is loaded on Windows too, where no test gets an agent

        fd = os.open(self._base.with_suffix(".lock"), os.O_RDWR)
        try:
            if not os.read(fd, 20):
                return False  # the process is just starting
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(fd)
        return True

    def end(self) -> None:
        """Ends it, if it runs, first with SIGTERM as a client would."""
        for signum in (signal.SIGTERM, signal.SIGKILL):
            if wait([self], 0):
                return
            self.was_ended = True
            self._signal(signum)
            if wait([self], _KILL_AFTER_S):
                return

    def report(self) -> RunReport | None:
        """Reads the report of a replay; None if there is none."""
        try:
            data = json.loads(self._base.with_suffix(".json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return RunReport(
            verdict=data["verdict"],
            exit_code=data["exit_code"],
            divergences=data["divergences"],
            unplayed=data["unplayed"],
            text=_text(data),
            data=data,
        )

    def _signal(self, signum: int) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(self._base.with_suffix(".lock").read_text()), signum)


def runs_in(directory: Path) -> list[AgentRun]:
    """Returns all starts, in order."""
    numbers = [int(path.stem) for path in directory.glob("*.lock") if path.stem.isdecimal()]
    return [AgentRun(directory, number) for number in sorted(numbers)]


def wait(runs: list[AgentRun], seconds: float) -> bool:
    """Waits until starts have ended; returns whether all have.

    Args:
        runs: the starts.
        seconds: to wait, at most.
    """
    deadline = time.monotonic() + seconds
    while not all(run.is_over() for run in runs):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_MOMENT_S)
    return True


def _text(data: dict[str, Any]) -> str:
    from acp_proxy.engine.agent.report import ReplayReport, text
    from acp_proxy.forms import converter
    from acp_proxy.safe_text import visible

    name = Path(data["recording"]).name
    lines = text(converter.structure({**data, "recording": name}, ReplayReport))
    counts = f"{data['frames_sent']} frames sent, {data['messages_matched']} messages matched"
    return "\n".join(map(visible, lines)) or f"replay of {name}: clean; {counts}"
