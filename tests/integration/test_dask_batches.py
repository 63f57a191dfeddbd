"""Tests batches on a Dask cluster: a scheduler and workers, which tests may kill."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy import __version__
from tests.integration.processes import DEADLINE_S, needs_proc, wait_until
from tests.integration.verifying import PLAIN_AGENT, RECORDINGS, ROOT
from tests.support.dask_cluster import NO_VERSION, DaskCluster

if TYPE_CHECKING:
    from tests.support.fork_server import Forked, ForkServer

HELD = """
touch "$DOOR/$$.agent"
while [ ! -e "$DOOR/open" ]; do
    for ticket in "$DOOR"/*.ticket; do
        [ -e "$ticket" ] && rm "$ticket" 2>/dev/null && exec "$@"
    done
    sleep 0.05
done
exec "$@"
"""
AGENT = ["/bin/sh", "-c", HELD, "held-agent", *PLAIN_AGENT]
"""An agent that waits until there is a ticket for it, or until all agents may continue."""


def is_running(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Fleet:
    """A directory with a Dask cluster, and the batches that run on the cluster."""

    def __init__(self, directory: Path, server: ForkServer) -> None:
        self.directory = directory
        self.door = directory / "door"
        self.results = directory / "results.jsonl"
        self.runs = directory / "runs"
        self._server = server
        self.runs.mkdir()
        self.door.mkdir()

    def admit(self, count: int) -> None:
        """Lets a number of agents continue; the other agents wait."""
        (self.door / "open").unlink(missing_ok=True)
        for number in range(count):
            (self.door / f"{number}.ticket").touch()

    def open(self) -> None:
        """Lets all agents continue."""
        (self.door / "open").touch()

    def await_verdicts(self, count: int, waiting: int) -> set[int]:
        """Waits for a number of verdicts and of waiting agents; returns these agents."""

        def all_stored() -> set[int] | None:
            agents = self.agents()
            return agents if (len(agents), len(self.verdicts())) == (waiting, count) else None

        return wait_until(all_stored, f"{count} verdicts and {waiting} agents that wait")

    @property
    def environment(self) -> dict[str, str]:
        """Returns the environment of all processes of the cluster."""
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")},
            "ACP_PROXY_RECORDINGS": str(self.directory / "new"),
            "PYTHONPATH": str(ROOT),
            "DOOR": str(self.door),
        }

    def cluster(self, *versions: str) -> DaskCluster:
        """Starts a cluster, in which each worker reports the given version of acp-proxy."""
        return DaskCluster(self.directory, self.environment, versions)

    def start(self, *words: str | Path) -> Forked:
        """Starts a command; its output goes to files in the directory."""
        with (
            (self.directory / "stdout").open("wb") as out,
            (self.directory / "stderr").open("wb") as err,
        ):
            return self._server.start(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out.fileno(),
                stderr=err.fileno(),
                env=self.environment,
                cwd=ROOT,
            )

    @property
    def stderr(self) -> str:
        """Returns the stderr of the last command."""
        return (self.directory / "stderr").read_text()

    def verdicts(self) -> list[dict[str, Any]]:
        """Returns the verdicts in the file of results."""
        if not self.results.exists():
            return []
        lines = self.results.read_bytes().splitlines(keepends=True)[1:]
        return [json.loads(line) for line in lines if line.endswith(b"\n")]

    def agents(self) -> set[int]:
        """Returns the running agents."""
        started = (int(path.stem) for path in self.door.glob("*.agent"))
        return {pid for pid in started if is_running(pid)}


@pytest.fixture
def fleet(tmp_path: Path, fork_server: ForkServer) -> Fleet:
    """Returns a directory for a cluster, which is not started yet."""
    return Fleet(tmp_path, fork_server)


@needs_proc
@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.soak)])
def test_each_recording_has_one_verdict_though_a_worker_is_killed(fleet: Fleet, count: int) -> None:
    """If a Dask worker is killed, `verify` still has one verdict for each recording."""
    fill(fleet, count)
    with fleet.cluster("", "") as cluster:
        fleet.admit(count // 2)
        batch = fleet.start(*verify(fleet, cluster.address))
        both = fleet.await_verdicts(count // 2, waiting=2)
        os.kill(cluster.workers[0], signal.SIGKILL)
        assert fleet.await_verdicts(count // 2, waiting=1) < both
        fleet.open()
        assert batch.wait(DEADLINE_S) == 1, fleet.stderr
        assert fleet.agents() == set()
        result = fleet.verdicts()
        assert sorted(verdict["recording"] for verdict in result) == sorted(
            map(str, fleet.runs.iterdir())
        )
        assert {verdict["node"][:16] for verdict in result} == {"tcp://127.0.0.1:"}
        for verdict in result:
            assert verdict["kind"] == ("differs" if "crash" in verdict["recording"] else "clean")
            assert (verdict["new_recording"] is not None) == (verdict["kind"] == "differs")
            assert verdict["new_recording"] is None or Path(verdict["new_recording"]).stat().st_size

        fill(fleet, 3)
        fleet.admit(1)
        batch = fleet.start(*verify(fleet, cluster.address))
        fleet.await_verdicts(1, waiting=1)
        batch.send_signal(signal.SIGINT)
        assert batch.wait(DEADLINE_S) == 130
        wait_until(lambda: not fleet.agents(), "the agent to end")

        batch = fleet.start(*verify(fleet, cluster.address))
        fleet.await_verdicts(1, waiting=1)
        os.kill(cluster.scheduler, signal.SIGKILL)
        assert batch.wait(DEADLINE_S) == 2
        assert fleet.stderr.splitlines()[-1:] == [
            f"acp-proxy: lost the Dask scheduler at {cluster.address}; a batch with --results"
            " continues with the remaining recordings if you run the same command again"
        ]
        wait_until(lambda: not fleet.agents(), "the agent to end")
    (kept,) = fleet.verdicts()
    fleet.open()
    assert fleet.start(*verify(fleet)).wait(DEADLINE_S) == 0, fleet.stderr
    assert fleet.verdicts()[0] == kept
    assert len({verdict["recording"] for verdict in fleet.verdicts()}) == len(fleet.verdicts()) == 3


def test_a_check_finds_the_same_however_recordings_travel(fleet: Fleet) -> None:
    """With Dask, `check` has the same findings whether a recording is sent or on a shared disk."""
    names = ["tour.db", "crash.db", "terminal.db"]
    words = [f"recordings/{name}" for name in names] + [f"file://{RECORDINGS}/{n}" for n in names]
    with fleet.cluster("") as cluster:
        result = []
        for part in (words[:3], words[3:]):
            fleet.results.unlink(missing_ok=True)
            where = ["--executor", f"dask={cluster.address}", "--results", str(fleet.results)]
            check = ["inspect", "check", *part, *where, "--fail-on", "info"]
            assert fleet.start(*check).wait(DEADLINE_S) == 1, fleet.stderr
            before = fleet.results.read_bytes()
            assert fleet.start(*check).wait(DEADLINE_S) == 1, fleet.stderr
            assert fleet.results.read_bytes() == before
            verdicts = {
                Path(verdict.pop("recording")).name: verdict for verdict in fleet.verdicts()
            }
            assert all(verdict.pop("seconds") >= 0 for verdict in verdicts.values())
            result.append(verdicts)
    assert result[0] == result[1]
    kinds = {name: verdict["kind"] for name, verdict in result[0].items()}
    assert kinds == {"tour.db": "findings", "crash.db": "findings", "terminal.db": "clean"}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nowhere", "no Dask scheduler answers at nowhere: missing port number in address"),
        ("", "--executor dask=: expected local or dask=ADDRESS"),
    ],
)
def test_a_cluster_that_is_not_there_is_an_error(fleet: Fleet, address: str, said: str) -> None:
    """If `verify` does not reach the Dask cluster, it exits with 2 and an error of one line."""
    fill(fleet, 1)
    assert fleet.start(*verify(fleet, address)).wait(DEADLINE_S) == 2
    assert fleet.stderr.startswith(f"acp-proxy: {said}")
    assert fleet.stderr.count("\n") == 1


def test_workers_with_another_version_are_named(fleet: Fleet) -> None:
    """If a Dask worker has another acp-proxy version, the error of `verify` names the worker."""
    fill(fleet, 1)
    with fleet.cluster("0.0.1", NO_VERSION) as cluster:
        assert fleet.start(*verify(fleet, cluster.address)).wait(DEADLINE_S) == 2
    *_, line = fleet.stderr.splitlines()
    assert re.fullmatch(
        f"acp-proxy: expected acp-proxy {re.escape(__version__)} on each worker"
        r"(: tcp://\S+ has 0\.0\.1| of tcp://\S+: .*acp_proxy.*)",
        line,
    )
    assert fleet.verdicts() == []


def fill(fleet: Fleet, count: int) -> None:
    """Puts recordings into the batch and removes all results; one of eight will differ."""
    fleet.results.unlink(missing_ok=True)
    shutil.rmtree(fleet.runs)
    fleet.runs.mkdir()
    for number in range(count):
        name = "crash" if number % 8 == 5 else "hello"
        shutil.copy(RECORDINGS / f"{name}.db", fleet.runs / f"{number:02}-{name}.db")


def verify(fleet: Fleet, address: str | None = None) -> list[str | Path]:
    """Returns the command for `verify` of the batch, locally or on a cluster."""
    where = [] if address is None else ["--executor", f"dask={address}"]
    return ["verify", fleet.runs, *where, "--results", fleet.results, "--", *AGENT]
