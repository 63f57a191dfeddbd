"""Runs a client once per plan against a replayed recording, and classifies how each run ended.

A client gets the command of its agent in its own command or in its environment. No process of a run
is left when the next run begins: the client's process group is ended, and on Linux also processes
that have left the group.
"""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import trio
from attrs import frozen

from acp_proxy.playback.drivers.recorder_process import Orphans

PLACE = "{agent}"
_SHOWN = 4000
_CRASH = re.compile(
    rb"^Traceback \(most recent call last\):\n  File .*, in (?:<module>|_run_module_as_main)$"
    rb"|^thread '.*' panicked at|^panic: |^fatal error: |Segmentation fault|^Node\.js v[\d.]+\s*\Z",
    re.MULTILINE,
)
"""Matches the stderr of a crashed program in Python, Rust, Go or Node.js. A Python traceback must
begin at the top level, since the traceback of an error that is only logged does not."""
_OURS = re.compile(rb"^(?:acp-proxy: .*)?\n", re.MULTILINE)
"""Matches the lines that the replayed agent writes to stderr, which may be the client's stderr."""
_GRACE_S = 2.0
"""Seconds that the processes of a run have to write the report."""

FINISHED, SHOWN, SILENT, HUNG, CRASHED, NOT_REACHED = (
    "finished", "error shown", "failed silently", "hung", "crashed", "not reached"
)  # fmt: skip
BAD = (HUNG, CRASHED)
"""Outcomes that always count as failures."""


@frozen
class ClientRun:
    """How a client ended.

    Attributes:
        plan: the plan as named on the command line; empty for the run without faults.
        outcome: one of the six words from `FINISHED` to `NOT_REACHED`.
        exit_code: the client's exit code, negative for a signal; None if the client hung.
        fired: how often each rule fired; None if no agent was started, or if the agent wrote no
            report.
        output: the end of the client's output.
        received: how many lines the client sent to the agent that it started last; None without a
            report.
    """

    plan: str
    outcome: str
    exit_code: int | None
    seconds: float
    fired: dict[str, int] | None
    output: str
    started: bool = True
    received: int | None = None

    @property
    def last_line(self) -> str:
        """Returns the last line of the client's stderr, or of its stdout if stderr is empty."""
        return next((line for line in reversed(self.output.splitlines()) if line.strip()), "")

    @property
    def untested(self) -> str | None:
        """Returns the reason why the run tests nothing; None if the run tests something."""
        if not self.started:
            return f"the client never started its agent; use {PLACE} or ACP_AGENT_COMMAND"
        if self.plan:
            return None
        if self.received == 0:
            return "the client started its agent and sent it nothing"
        if self.outcome != FINISHED:
            return f"without faults, too, the outcome is '{self.outcome}': no plan was tried"
        return None


def run_client(
    recording: Path, client: str, plan: str, timeout_s: float, options: Sequence[str] = ()
) -> ClientRun:
    """Runs a client once.

    Args:
        recording: the recording to replay.
        client: the client's command, split as by a shell; `PLACE` becomes the agent's command.
        plan: a file or ``@name``; empty for no faults.
        timeout_s: after how many seconds the client counts as hung.
        options: more options for the replay.
    """
    with tempfile.TemporaryDirectory(prefix="acp-proxy-sweep-") as name:
        directory = Path(name)
        report = directory / "report.json"
        agent = agent_command(recording, plan, report, options)
        start = time.monotonic()
        with (directory / "stdout").open("w+b") as out, (directory / "stderr").open("w+b") as err:
            code = _exit_code(client, agent, timeout_s, out, err)
            seconds = time.monotonic() - start
            complaints, answer = _OURS.sub(b"", _tail(err)), _tail(out)
        text = b"\n".join(part for part in (answer, complaints) if part).decode(errors="replace")
        content = _reported(report)
        fired = None if content is None else content.get("faults") or {}
        outcome = outcome_of(code, complaints, is_silent=not text.strip())
        if plan and outcome == FINISHED and fired is not None and not any(fired.values()):
            outcome = NOT_REACHED
        return ClientRun(
            plan,
            outcome,
            code,
            seconds,
            fired,
            text,
            started=_mark(report).exists(),
            received=None if content is None else content.get("lines_received"),
        )


def agent_command(recording: Path, plan: str, report: Path, options: Sequence[str]) -> list[str]:
    """Returns the command of a replayed agent with a plan. The agent has no stall timeout.

    Args:
        recording: the recording to replay.
        plan: a file or ``@name``; empty for no faults.
        report: the path of the agent's report; a file beside the report shows that the agent has
            started.
        options: more options for the replay.
    """
    faults = ["--faults", plan] if plan else []
    start = [sys.executable, "-P", "-m", "acp_proxy.programs.swept_agent", str(_mark(report))]
    start += ["replay", *faults, *options]
    return [*start, "--stall-timeout", "0", "--report", str(report), "--", str(recording)]


def client_command(client: str, agent: Sequence[str]) -> list[str]:
    """Returns the command of a client with its agent's command inserted.

    Args:
        client: the client's command, split as by a shell. The word `PLACE` becomes all words of the
            agent's command. Within a longer word, `PLACE` becomes the quoted command.
        agent: the command of the agent.

    Raises:
        ValueError: the command cannot be split as by a shell.
    """
    words: list[str] = []
    for word in shlex.split(client):
        if word == PLACE:
            words += agent
        else:
            words.append(word.replace(PLACE, shlex.join(agent)))
    return words


def _exit_code(
    client: str, agent: list[str], timeout_s: float, out: IO[bytes], err: IO[bytes]
) -> int | None:
    """Runs a client, ends its processes, and returns its exit code; None if the client hung."""
    with Orphans() as orphans:
        process = subprocess.Popen(
            client_command(client, agent),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, "ACP_AGENT_COMMAND": shlex.join(agent)},
            start_new_session=True,
        )
        try:
            return _waited(process, timeout_s)
        finally:
            trio.run(orphans.end, _GRACE_S)


def _waited(process: "subprocess.Popen[bytes]", timeout_s: float) -> int | None:
    with _guarded(process.pid):
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)


_GUARDIAN = 'read never; kill -TERM -"$1"; sleep 2; kill -KILL -"$1"'


@contextlib.contextmanager
def _guarded(group: int) -> Iterator[None]:
    """While the context is open, a shell ends a process group if our process is killed."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", _GUARDIAN, "sh", str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        shell.kill()
        shell.communicate()


def _mark(report: Path) -> Path:
    return report.with_suffix(".started")


def _tail(file: IO[bytes]) -> bytes:
    file.seek(max(0, file.seek(0, os.SEEK_END) - _SHOWN))
    return file.read()


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Ends the processes of a run, first with SIGTERM, so that an agent can write its report."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _GRACE_S
        while time.monotonic() < deadline:
            process.poll()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-process.pid, os.WNOHANG)  # a process that we adopted
            os.killpg(process.pid, 0)
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def outcome_of(code: int | None, complaints: bytes, *, is_silent: bool) -> str:
    """Classifies how a client ended.

    Args:
        code: the client's exit code, negative for a signal; None if the client did not end.
        complaints: the end of the client's stderr.
        is_silent: whether the client wrote nothing at all.
    """
    if code is None:
        return HUNG
    if code < 0 or (code > 0 and _CRASH.search(complaints)):
        return CRASHED
    if code == 0:
        return FINISHED
    return SILENT if is_silent else SHOWN


def _reported(report: Path) -> dict[str, Any] | None:
    """Returns the report of the agent that a run started last; None if it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        content = json.loads(report.read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else None
    return None
