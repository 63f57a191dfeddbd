"""Starts a Dask scheduler and workers as separate processes, on loopback, for tests of batches.

One process imports `distributed` and forks the scheduler and the workers: three imports would
take longer than most tests. `dask scheduler` and `dask worker` only add a command line.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from types import TracebackType

ROOT = Path(__file__).parents[2]
HOST = "127.0.0.1"
NO_VERSION = "none"


class DaskCluster:
    """A running Dask cluster; as a context manager, it ends all of its processes.

    Args:
        directory: the directory for files of workers.
        environment: the environment of the scheduler, the workers and the agents.
        versions: the version of acp-proxy that each worker reports; empty for the true version,
            `NO_VERSION` for a worker that cannot import acp-proxy.

    Attributes:
        address: the address of the scheduler.
        scheduler: the process id of the scheduler.
        workers: the process ids of the workers.
    """

    def __init__(
        self, directory: Path, environment: Mapping[str, str], versions: Sequence[str] = ("", "")
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.dask_cluster", directory, *versions],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment,
        )
        assert self._process.stdout is not None
        about = json.loads(self._process.stdout.readline())
        self.address: str = about["address"]
        self.scheduler: int = about["scheduler"]
        self.workers: list[int] = about["workers"]

    def __enter__(self) -> DaskCluster:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: object, ___: TracebackType | None
    ) -> None:
        self._process.communicate()


def serve(directory: str, versions: Sequence[str]) -> None:
    """Starts scheduler and workers, prints their addresses, and kills them when stdin ends."""
    import dask
    import distributed  # noqa: F401  what all of them import

    logging.disable()
    dask.config.set(
        {
            "temporary-directory": directory,
            "distributed.admin.system-monitor.interval": "1h",
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
            "distributed.worker.profile.enabled": False,
        }
    )
    reading, writing = os.pipe()
    scheduler = fork(partial(schedule, writing))
    address = os.read(reading, 1 << 10).decode()
    workers = [fork(partial(work, address, version)) for version in versions]
    for _ in workers:
        os.read(reading, 1)
    about = {"address": address, "scheduler": scheduler, "workers": workers}
    sys.stdout.write(f"{json.dumps(about)}\n")
    sys.stdout.flush()
    sys.stdin.read()
    for pid in (*workers, scheduler):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def fork(run: Callable[[], Coroutine[object, object, None]]) -> int:
    """Runs a coroutine in a forked process, and returns the id of the process."""
    pid = os.fork()
    if not pid:
        try:
            asyncio.run(run())
        finally:
            os._exit(0)
    return pid


async def schedule(told: int) -> None:
    """Runs the scheduler; writes its address to a pipe, and a byte for each worker that joins."""
    from distributed import Scheduler, SchedulerPlugin

    class Joined(SchedulerPlugin):  # type: ignore[misc]  # not read by mypy
        def add_worker(self, *_: object, **__: object) -> None:
            os.write(told, b".")

    async with Scheduler(
        host=HOST, port=0, dashboard_address=f"{HOST}:0", dashboard=False
    ) as scheduler:
        scheduler.add_plugin(Joined())
        os.write(told, scheduler.address.encode())
        await scheduler.finished()


async def work(address: str, version: str) -> None:
    """Runs a worker with one thread, which may claim another version of acp-proxy."""
    from distributed import Worker

    if version == NO_VERSION:
        sys.modules["acp_proxy"] = None  # type: ignore[assignment]  # as if it was not there
    elif version:
        import acp_proxy

        acp_proxy.__version__ = version
    worker = Worker(
        address, nthreads=1, host=HOST, dashboard_address=f"{HOST}:0", dashboard=False,
        memory_limit=0,
    )  # fmt: skip
    async with worker:
        await worker.finished()


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
