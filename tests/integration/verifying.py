"""Runs ``acp-proxy verify`` with real agents, and checks that no process remains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define

from tests.integration.processes import DEADLINE_S, MARK, marked, wait_until
from tests.support.command_line import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.fork_server import Forked, ForkServer

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "recordings"
SDK_AGENT = [sys.executable, "-m", "tests.agents.sdk_agent"]
PLAIN_AGENT = [sys.executable, "-S", "-m", "tests.agents.plain_agent"]
"""An agent that sends the same messages as `SDK_AGENT`, and starts twenty times as fast."""
CHANGED_AGENT = [sys.executable, "-S", "-m", "tests.agents.changed_agent"]
UNRULY_AGENT = [sys.executable, "-IS", str(ROOT / "tests" / "agents" / "unruly_agent.py")]


@define
class Verified:
    """The exit code, the output and the reports of ``verify``."""

    code: int
    stdout: str
    stderr: str
    report: dict[str, Any]
    """The report as JSON; empty if there is none."""
    junit: str

    @property
    def kinds(self) -> list[str]:
        """Returns the kinds of all divergences except informational ones."""
        divergences = self.report["conversation"]["divergences"]
        return [divergence["kind"] for divergence in divergences if divergence["rank"] != "info"]

    @property
    def differences(self) -> list[tuple[str, str]]:
        """Returns each difference as change and title, with its JSON pointers."""
        entries = [
            (f"{item['change']} {item['title']}", " ".join(f["pointer"] for f in item["fields"]))
            for item in self.report["entries"]
        ]
        return [("handshake", item["pointer"]) for item in self.report["handshake"]] + entries


class Started:
    """A running ``verify`` or ``try``.

    Attributes:
        process: the process of the command.
    """

    def __init__(self, process: subprocess.Popen[bytes] | Forked, outputs: list[Path]) -> None:
        self.process = process
        self._outputs = outputs

    @property
    def returncode(self) -> int | None:
        """Returns the exit code, a negative signal, or None while the command runs."""
        return self.process.poll()

    def send_signal(self, signum: int) -> None:
        """Sends a signal to the command if it still runs."""
        self.process.send_signal(signum)

    def communicate(self) -> tuple[str, str]:
        """Waits until the command has ended; returns its stdout and stderr."""
        self.process.wait(DEADLINE_S)
        stdout, stderr = (path.read_text(encoding="utf-8") for path in self._outputs)
        return stdout, stderr


class Verifier:
    """Runs ``verify`` for one test.

    Attributes:
        home: the directory of the new recordings.
        scratch: the directory of temporary files.
        junit: the path of the JUnit report.
        server: a server that forks ``verify``; None for tests of how the program starts.
    """

    def __init__(self, acp_proxy: Path, directory: Path, server: ForkServer) -> None:
        self.server: ForkServer | None = server
        self.home = directory / "recordings"
        self.scratch = directory / "scratch"
        self.scratch.mkdir()
        self.mark = uuid.uuid4().hex
        self.junit = directory / "report.xml"
        self._directory = directory
        self._started = 0
        self._acp_proxy = acp_proxy

    def start(
        self, recording: Path | str, agent: Sequence[str], *options: str, **more: str
    ) -> Started:
        """Starts ``verify`` with a recording and an agent."""
        words = self._words(recording, agent, options)
        env = {**self._environment(), **more}
        self._started += 1
        outputs = [self._directory / f"{name}-{self._started}" for name in ("stdout", "stderr")]
        with (
            open(os.devnull, "rb") as nothing,  # noqa: PTH123
            outputs[0].open("wb") as out,
            outputs[1].open("wb") as err,
        ):
            stdin, stdout, stderr = (file.fileno() for file in (nothing, out, err))
            process: subprocess.Popen[bytes] | Forked
            if self.server is None:
                process = subprocess.Popen(
                    [self._acp_proxy, *words],
                    stdin=stdin,
                    stdout=stdout,
                    stderr=stderr,
                    env=env,
                    cwd=self._directory,
                )
            else:
                process = self.server.start(
                    words, stdin=stdin, stdout=stdout, stderr=stderr, env=env, cwd=self._directory
                )
        return Started(process, outputs)

    def __call__(
        self, recording: Path | str, agent: Sequence[str], *options: str, **more: str
    ) -> Verified:
        """Runs ``verify`` to its end, and checks that no process remains."""
        started = self.start(recording, agent, *options, **more)
        stdout, stderr = started.communicate()
        assert started.returncode is not None
        return self._verified(started.returncode, stdout, stderr)

    def here(self, recording: Path | str, agent: Sequence[str], *options: str) -> Verified:
        """Runs ``verify`` within this process, for tests that send no signals to it.

        Recorder and agent still are separate processes; the agent's stderr goes to our stderr.
        """
        words = self._words(recording, agent, options)
        environment: dict[str, Any] = dict.fromkeys(os.environ)
        ended = run(*words, **{**environment, **self._environment()})
        return self._verified(ended.exit_code, ended.stdout, ended.stderr)

    def _words(
        self, recording: Path | str, agent: Sequence[str], options: Sequence[str]
    ) -> list[str | Path]:
        path = RECORDINGS / f"{recording}.db" if isinstance(recording, str) else recording
        reports = ["--report", str(self._directory / "report.json"), "--junit", str(self.junit)]
        return ["verify", path, *options, *reports, "--", *agent]

    def _verified(self, code: int, stdout: str, stderr: str) -> Verified:
        self.expect_nothing_left()
        report = self._directory / "report.json"
        return Verified(
            code,
            stdout,
            stderr,
            json.loads(report.read_text()) if report.exists() else {},
            self.junit.read_text() if self.junit.exists() else "",
        )

    def expect_nothing_left(self) -> None:
        """Waits until no process of ``verify`` runs."""
        wait_until(lambda: not self.living(), "no process to be left behind")

    def living(self) -> list[int]:
        """Returns the running processes that ``verify`` has started."""
        return marked(self.mark)

    def _environment(self) -> dict[str, str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")}
        return {
            **ours,
            "PYTHONPATH": str(ROOT),
            "ACP_PROXY_RECORDINGS": str(self.home),
            "TMPDIR": str(self.scratch),
            MARK: self.mark,
        }
