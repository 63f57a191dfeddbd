"""The agent of a test: a command for the client, and the reports of the replays."""

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from acp_proxy.api import OpenRecording

_MOMENT_S = 0.005
_KILL_AFTER_S = 10.0


class RunReport(NamedTuple):
    """The report of a replay, as `acp-proxy replay --report` writes it."""

    verdict: str
    """``clean``, ``diverged``, ``stalled`` or ``incomplete``."""
    exit_code: int
    divergences: list[dict[str, Any]]
    unplayed: int
    """The number of the agent's frames that were never sent."""
    text: str
    """The report as text; a single line if the replay was clean."""
    data: dict[str, Any]
    """The whole report."""


class AgentRun:
    """One run of the agent, which begins when the client starts the agent.

    Attributes:
        number: the number of the run, from 1.
        was_ended: whether the agent still ran after the test, and was ended.
    """

    def __init__(self, directory: Path, number: int) -> None:
        self.number = number
        self.was_ended = False
        self._base = directory / str(number)

    @property
    def database(self) -> Path:
        """The path of the recording of this run, which need not exist."""
        return self._base.with_suffix(".db")

    @property
    def error(self) -> str | None:
        """Why the agent could not start; None if the agent started."""
        with contextlib.suppress(OSError):
            return self._base.with_suffix(".error").read_text(encoding="utf-8")
        return None

    def is_over(self) -> bool:
        """Whether the agent's process has ended."""
        import fcntl  # late: the plugin is also loaded on Windows, where tests get no agent

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
        """Ends the agent's process if it still runs, with SIGTERM and, if needed, SIGKILL."""
        for signum in (signal.SIGTERM, signal.SIGKILL):
            if wait([self], 0):
                return
            self.was_ended = True
            self._signal(signum)
            if wait([self], _KILL_AFTER_S):
                return

    def report(self) -> RunReport | None:
        """Reads the report of the replay; None if there is no readable report."""
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
    """Returns all runs of the agent, in order."""
    numbers = [int(path.stem) for path in directory.glob("*.lock") if path.stem.isdecimal()]
    return [AgentRun(directory, number) for number in sorted(numbers)]


def wait(runs: list[AgentRun], seconds: float) -> bool:
    """Waits until all given runs of the agent have ended. Returns whether they have.

    Args:
        runs: the runs.
        seconds: the longest wait in seconds.
    """
    deadline = time.monotonic() + seconds
    while not all(run.is_over() for run in runs):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_MOMENT_S)
    return True


def _text(data: dict[str, Any]) -> str:
    from acp_proxy.base.forms import converter
    from acp_proxy.base.wording import visible
    from acp_proxy.playback.replay.replay_report import ReplayReport, text

    name = Path(data["recording"]).name
    lines = text(converter.structure({**data, "recording": name}, ReplayReport))
    counts = f"{data['frames_sent']} frames sent, {data['messages_matched']} messages matched"
    return "\n".join(map(visible, lines)) or f"replay of {name}: clean; {counts}"


_TITLE = "acp"
_BEGIN_S = 1.0
_BLANK_LINE = "\n\n"
_STILL_RUNNING = (
    "start {} of the agent was still running when the test was over: the client has to close the"
    " agent's stdin, and should wait for it"
)


class AcpAgent:
    """A recorded agent that the client under test starts."""

    def __init__(
        self,
        directory: Path,
        recording: Path,
        *,
        recordings: list[Path],
        options: list[str],
        real_agent: list[str] | None,
        patience_s: float,
    ) -> None:
        """Prepares the command.

        Args:
            directory: an empty directory for the files of the agent's runs.
            recording: the file of the recording; if there are several, the file of the first
                recording.
            recordings: a recording for each run of the agent. A single recording is played in all
                runs.
            options: the arguments of ``acp-proxy replay``.
            real_agent: the command of a real agent, which is recorded; None to replay.
            patience_s: seconds to wait for the agent's end after the test.
        """
        self.recording = recording
        """The file of the recording that is played, or of the new recording."""
        self.is_recording = real_agent is not None
        """Whether the command runs and records a real agent."""
        self.command = [
            sys.executable,
            "-P",
            "-m",
            "acp_proxy.programs.tested_agent",
            str(directory),
        ]
        """The command; the client may run it any number of times."""
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")}
        """The environment for the agent: the test's environment without settings of acp-proxy."""
        self._directory = directory
        self._recordings = recordings
        self._patience_s = patience_s
        self._runs: dict[int, AgentRun] = {}
        plan = {
            "mode": "record" if self.is_recording else "replay",
            "agent": real_agent,
            "recordings": [str(path) for path in recordings],
            "options": options,
        }
        (directory / "plan.json").write_text(json.dumps(plan, indent=2), encoding="utf-8")

    @property
    def runs(self) -> list[AgentRun]:
        """All runs of the agent so far."""
        return [self._runs.setdefault(run.number, run) for run in runs_in(self._directory)]

    @property
    def reports(self) -> list[RunReport]:
        """The reports of all runs. Waits until all runs have ended.

        Raises:
            RuntimeError: the agent was never started, still runs, or has left no report.
        """
        runs = self.runs
        if self.is_recording:
            raise RuntimeError("there is no report of a replay: this test records a real agent")
        if not runs:
            raise RuntimeError("there is no report: the agent was never started")
        if not wait(runs, self._patience_s):
            raise RuntimeError("there is no report: the agent still runs, so close its stdin first")
        reports = [run.report() for run in runs]
        if None in reports:
            raise RuntimeError(f"there is no report: {_failure(runs[reports.index(None)])}")
        return [report for report in reports if report is not None]

    @property
    def report(self) -> RunReport:
        """The report of the agent's latest run; see `reports`."""
        return self.reports[-1]

    def open(self) -> "OpenRecording":
        """Opens the played recording, or the new recording of a real agent's latest run.

        Raises:
            RuntimeError: the real agent was never started.
        """
        from acp_proxy import api

        return api.open(self._recorded())

    def check(self, fail_on: str = "error", *, ignore: Collection[str] = ()) -> None:
        """Fails the test if the recording that `open` returns breaks a rule of the protocol.

        Args:
            fail_on: the lowest severity that counts: ``error``, ``warning`` or ``info``.
            ignore: rules that do not count, such as ``rpc.unanswered``, or groups, such as ``rpc``.

        Raises:
            AssertionError: a rule is broken; the message names the rule, the peer and the frame.
            RuntimeError: the real agent was never started.
            ValueError: there is no such severity.
            AcpProxyError: there is no such rule, or the recording cannot be read.
        """
        __tracebackhide__ = True
        from acp_proxy.testing.broken_rules import complaint_about

        complaint = complaint_about(self._recorded(), fail_on, ignore)
        if complaint is not None:
            raise AssertionError(complaint)

    def _recorded(self) -> Path:
        if not self.is_recording:
            return self.recording
        if not self.runs:
            raise RuntimeError("there is no recording: the agent was never started")
        return self.runs[-1].database

    def verdict(self) -> str:
        """Returns the first verdict in `reports` that is not ``clean``; else ``clean``."""
        verdicts = [report.verdict for report in self.reports]
        return next((verdict for verdict in verdicts if verdict != "clean"), "clean")

    def complaint(self) -> str | None:
        """Ends all runs after a test that passed. Returns a text about all problems, or None."""
        runs = self._begun()
        if not runs:
            return (
                f"{_TITLE}: the agent was never started, and {self.recording.name} was not played;"
                " the client has to start acp_agent.command"
            )
        wait(runs, self._patience_s)
        problems = []
        for run in runs:
            run.end()
            problems += [_STILL_RUNNING.format(run.number)] if run.was_ended else []
            problems += self._problems(run)
        if not self.is_recording and 1 < len(self._recordings) > len(runs):
            left = ", ".join(path.name for path in self._recordings[len(runs) :])
            problems.append(
                f"the agent was started {len(runs)} times, but {len(self._recordings)} starts were"
                f" recorded; not played: {left}"
            )
        return f"{_TITLE}: {_BLANK_LINE.join(problems)}" if problems else None

    def account(self) -> str:
        """Ends all runs after a test that failed. Returns a text about each run."""
        paragraphs = []
        for run in self.runs:
            run.end()
            if run.was_ended:
                paragraphs.append(f"start {run.number} of the agent ran when the test failed")
            paragraphs += self._problems(run) or [_success(run)]
        if self.is_recording:
            paragraphs.append("nothing was recorded, since the test has failed")
        return _BLANK_LINE.join(paragraphs) or "the agent was not started"

    def _begun(self) -> list[AgentRun]:
        """Returns all runs so far. If there is no run yet, waits a moment for the first run."""
        deadline = time.monotonic() + min(self._patience_s, _BEGIN_S)
        while not (runs := self.runs) and time.monotonic() < deadline:
            time.sleep(_BEGIN_S / 100)
        return runs

    def _problems(self, run: AgentRun) -> list[str]:
        if self.is_recording:
            return [] if run.error is None else [_failure(run)]
        report = run.report()
        if report is None:
            return [_failure(run)]
        return [] if report.verdict == "clean" else [report.text]


def _failure(run: AgentRun) -> str:
    if (why := run.error) is not None:
        return f"start {run.number} of the agent failed: {why}"
    return f"start {run.number} of the agent was killed before it could report"


def _success(run: AgentRun) -> str:
    report = run.report()
    return report.text if report is not None else f"start {run.number} of the agent was recorded"
