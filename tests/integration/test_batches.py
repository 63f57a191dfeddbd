"""Tests batches with real processes: each kind of failure, and killed processes."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.batches.batch import Job
from acp_proxy.batches.local_executor import LocalExecutor
from acp_proxy.batches.results import VerdictKind
from tests.integration.processes import needs_proc, processes, wait_until
from tests.integration.verifying import RECORDINGS, Started, Verifier
from tests.support.batch_recordings import AGENT, VERIFIED, Kinds, write_recordings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fork_server import ForkServer

pytestmark = needs_proc

MANNER = (
    "--check",
    "--stall-timeout=2",
    "--grace=1",
    "--secret=env:ab12cd34=NOT_SET",
)
"""Options that let each recording have the expected kind of verdict."""


class Batches(Verifier):
    """Runs batches of jobs for one test in the test's directory."""

    def __init__(self, acp_proxy: Path, directory: Path, server: ForkServer) -> None:
        super().__init__(acp_proxy, directory, server)
        self.directory = directory

    def begin(self, command: str, *words: str) -> Started:
        """Starts a batch; for `verify`, with an agent that fails as its prompt says."""
        name, *more = command.split()
        agent = ["--", *AGENT] if name == "verify" else []
        return self.start("", [], name, *more, *words, *agent)

    def end(self, command: str, *words: str) -> tuple[int, list[str]]:
        """Runs a batch to its end; returns its exit code and the lines that it prints."""
        started = self.begin(command, *words)
        stdout, stderr = started.communicate()
        assert started.returncode is not None
        assert stderr == ""
        self.expect_nothing_left()
        return started.returncode, stdout.splitlines()

    def _words(self, _: object, __: object, options: Any) -> list[str | Path]:
        return [*options]

    def verdicts(self, *names: str) -> dict[str, Any]:
        """Returns the verdict on each recording in files of results, without times."""
        result = {}
        for name in names:
            _, *lines = (self.directory / name).read_bytes().splitlines()
            for item in map(json.loads, lines):
                result[item["recording"]] = item
                for member in ("seconds", "new_recording", "node"):
                    del item[member]
        return result


@pytest.fixture(scope="module")
def batches(
    acp_proxy: Path, tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer
) -> Iterator[Batches]:
    """Runs batches, and kills all processes that remain."""
    result = Batches(acp_proxy, tmp_path_factory.mktemp("batches"), fork_server)
    yield result
    for pid in result.living():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def expected(batches: Batches) -> Kinds:
    """Returns the expected verdict on each recording, one for each kind of failure."""
    return write_recordings(batches.directory / "recs", len(VERIFIED), VERIFIED)


@pytest.fixture(scope="module")
def whole(batches: Batches, expected: Kinds) -> list[str]:
    """Returns the output of `verify` of all recordings; its results are in ``whole.jsonl``."""
    code, lines = batches.end("verify", "recs", "--results=whole.jsonl", *MANNER)
    assert (code, len(lines)) == (2, len(expected) - 1 + 1)
    return lines


def found_in(verdicts: dict[str, Any]) -> Kinds:
    """Returns the kind and the exit code of each verdict."""
    names = {name.removeprefix("recs/"): item for name, item in verdicts.items()}
    return {name: (item["kind"], item["exit"]) for name, item in names.items()}


def test_each_failure_is_printed(batches: Batches, expected: Kinds, whole: list[str]) -> None:
    """`verify` of several recordings prints one line for each recording that fails."""
    verdicts = batches.verdicts("whole.jsonl")
    assert found_in(verdicts) == expected
    assert whole[-1].startswith(
        "18 recordings: 1 clean, 5 differ, 1 broke rules, 1 incomplete, 1 stalled,"
        " 3 lost, 5 unreadable, 1 refused; "
    )
    told = {line.split()[1]: line.split()[0] for line in whole[:-1]}
    assert told == {
        n: verdict["kind"] for n, verdict in verdicts.items() if verdict["kind"] != "clean"
    }
    lines = (batches.directory / "whole.jsonl").read_bytes().splitlines()[1:]
    named = {verdict["new_recording"] for verdict in map(json.loads, lines)} - {None}
    runs = batches.directory / "whole.runs"
    assert named <= {str(path).removesuffix(".log") for path in runs.iterdir()}
    assert len(named) == 10
    assert not [*batches.home.glob("*")]
    assert whole[-1].endswith(f"; new runs in {runs}")
    endings = {name.rpartition("-")[2]: verdict["ending"] for name, verdict in verdicts.items()}
    assert endings["exits.jsonl"] == "the agent ended with exit 3: no such module"
    assert endings["crashes.jsonl"] == "the agent ended with SIGABRT"
    (broken,) = (verdict for verdict in verdicts.values() if verdict["kind"] == "broken-rules")
    assert broken["findings"][0]["rule"] == "prompt.stop-reason"


@pytest.mark.usefixtures("whole")
def test_a_batch_that_is_killed_goes_on_where_it_was(batches: Batches, expected: Kinds) -> None:
    """If a killed `verify --results FILE` is repeated, it skips recordings with results in FILE."""
    words = ("recs", "--results=1.jsonl", "--jobs=2", *MANNER)
    results = batches.directory / "1.jsonl"
    started = batches.begin("verify", *words)
    wait_until(lambda: results.exists() and results.read_bytes().count(b"\n") > 3, "verdicts")
    os.kill(started.process.pid, signal.SIGKILL)
    started.process.wait()
    before = results.read_bytes().rpartition(b"\n")[0].splitlines()
    batches.expect_nothing_left()
    _, lines = batches.end("verify", *words)
    after = results.read_bytes().splitlines()
    assert after[: len(before)] == before
    result = [line for line in before[1:] if b'"kind":"lost"' not in line]
    assert f"18 recordings ({len(result)} done before): " in lines[-1]
    assert len(after) == 1 + len(expected) + len(before) - 1 - len(result)
    assert found_in(batches.verdicts("1.jsonl")) == expected


def test_ctrl_c_keeps_the_results(batches: Batches, expected: Kinds) -> None:
    """If Ctrl-C ends `verify` of several recordings, `--results` keeps the finished results."""
    names = [f"recs/{name}" for name in expected if "stalls" in name or "clean" in name]
    words = (*names, "--stall-timeout=0", "--results=stopped.jsonl", "--jobs=2", "-o", "stopped")
    started = batches.begin("verify", *words)
    results = batches.directory / "stopped.jsonl"
    wait_until(lambda: results.exists() and results.read_bytes().count(b"\n") == 2, "a verdict")
    started.send_signal(signal.SIGINT)
    stdout, _ = started.communicate()
    assert started.returncode == 130
    assert stdout.startswith("2 recordings: 1 clean, 1 not done; ")
    batches.expect_nothing_left()
    (result,) = batches.verdicts("stopped.jsonl")
    kept = [path.name for path in (batches.directory / "stopped").iterdir()]
    assert kept == [f"{Path(result).stem}.db"]


def test_a_run_that_cannot_be_recorded(batches: Batches, expected: Kinds) -> None:
    """If `verify` of several recordings cannot record a run, its output says why."""
    name = next(name for name in expected if "clean" in name)
    code, lines = batches.end("verify", f"recs/{name}", "--results=no.jsonl", "-o", "/proc")
    assert (code, len(lines)) == (2, 2)
    assert lines[0].endswith(
        ".db.log: No such file or directory; the agent was not started, since it must be recorded"
    )


def test_a_sweep_of_many(batches: Batches, expected: Kinds) -> None:
    """`faults sweep` of several recordings continues after an unreadable recording."""
    client = batches.directory / "client.py"
    client.write_text(
        "import subprocess, sys\n"
        "agent = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)\n"
        'agent.stdin.write(b\'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}\\n\')\n'
        "agent.stdin.flush()\n"
        "if not agent.stdout.readline(): sys.exit('no answer')\n"
        "agent.communicate()\n"
    )
    plan = batches.directory / "plan.toml"
    plan.write_text('[[fault]]\nwhere = "dir:to-client"\nkind = "exit"\n')
    names = [f"recs/{name}" for name in expected if "0000" in name or "garbage" in name]
    command = shlex.join([sys.executable, "-IS", str(client), "{agent}"])
    code, lines = batches.end(
        "faults sweep", *names, f"--plans={plan}", f"--client={command}", "--results=s.jsonl"
    )
    assert (code, len(lines)) == (2, 2)
    assert lines[-1].startswith("2 recordings: 1 clean, 1 unreadable; ")


def test_a_killed_sweep_leaves_no_client(batches: Batches) -> None:
    """If `faults sweep` is killed, no process of its client remains."""
    script = batches.directory / "sleep.sh"
    script.write_text("sleep 1000 & sleep 1000\n")
    started = batches.begin(
        "faults sweep",
        str(RECORDINGS / "hello.db"),
        "--plans=@all",
        f"--client=/bin/sh {script} {{agent}}",
    )
    wait_until(lambda: len(batches.living()) >= 4, "the client and its child")
    os.kill(started.process.pid, signal.SIGKILL)
    batches.expect_nothing_left()


def test_the_process_that_starts_workers_may_be_killed(batches: Batches, expected: Kinds) -> None:
    """If the process that starts workers for `check` was killed, the next job still succeeds."""
    name = next(name for name in expected if "clean" in name)
    job = Job("check", digest="d", recording="a", path=str(batches.directory / "recs" / name))
    for _ in range(2):
        executor = LocalExecutor(1)
        assert executor.submit(job).result().kind is VerdictKind.CLEAN
        executor.shutdown(stop=False)
        (server,) = servers()
        os.kill(server, signal.SIGKILL)
        os.waitid(os.P_PID, server, os.WEXITED | os.WNOWAIT)


def servers() -> list[int]:
    """Returns the running forkservers that this process has started."""
    mine = [item.pid for item in processes() if item.parent == os.getpid() and item.lives]
    lines = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in mine}
    return [pid for pid, line in lines.items() if b"multiprocessing.forkserver" in line]


@pytest.mark.soak
def test_a_thousand_recordings(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> None:
    """`verify` of a thousand recordings of every kind gives the expected result for each."""
    batches = Batches(acp_proxy, tmp_path, fork_server)
    expected = write_recordings(tmp_path / "recs", 1000, VERIFIED)
    batches.end("verify", "recs", "--results=whole.jsonl", *MANNER)
    assert found_in(batches.verdicts("whole.jsonl")) == expected
