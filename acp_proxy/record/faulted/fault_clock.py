"""Keeps time for the faults of a live agent: writes delayed bytes when they are due."""

import contextlib

import trio

from acp_proxy.record.capture.relay import Relay
from acp_proxy.record.faulted.fault_runner import FaultRunner
from acp_proxy.record.faulted.faulted_pump import WriteQueue
from acp_proxy.recording.log_format import STDERR


class _Bell:
    """Wakes a task from any thread; a ring that comes before the task waits is not lost."""

    def __init__(self) -> None:
        self._event = trio.Event()
        self._token = trio.lowlevel.current_trio_token()

    def ring(self) -> None:
        """Wakes the task."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._set, idempotent=True)

    async def wait(self, ns: int | None) -> None:
        """Waits until the bell rings, for at most ``ns`` nanoseconds; None for no limit."""
        with trio.move_on_after(float("inf") if ns is None else ns / 1e9):
            await self._event.wait()
        if self._event.is_set():
            self._event = trio.Event()

    def _set(self) -> None:
        self._event.set()


async def keep_time(runner: FaultRunner) -> None:
    """Writes due bytes to all outlets, and carries out side effects, until cancelled."""
    async with trio.open_nursery() as nursery:
        for queue in runner.queues.values():
            nursery.start_soon(_deliver, queue)
        nursery.start_soon(_carry_out_effects, runner)


async def _deliver(queue: WriteQueue) -> None:
    """Writes due bytes to one outlet, in a thread, until its sink breaks."""
    bell = _Bell()
    queue.wake = bell.ring
    while queue.error is None:
        wait = queue.wait_ns()
        if wait == 0:
            with contextlib.suppress(OSError):
                await trio.to_thread.run_sync(queue.flush, abandon_on_cancel=True)
        else:
            await bell.wait(wait)


async def finish_stderr(runner: FaultRunner, seconds: float) -> None:
    """Waits until everything that faults wrote to the agent's stderr has gone out.

    Args:
        runner: the runner of the faults, which has queued these bytes.
        seconds: the longest time to wait.
    """
    queue = runner.queues.get(STDERR)
    if queue is not None and not queue.is_empty:
        with trio.move_on_after(seconds), contextlib.suppress(OSError):
            await trio.to_thread.run_sync(queue.wait_until_empty, abandon_on_cancel=True)


def runner_of(relay: Relay) -> FaultRunner:
    """Returns the interceptor of a relay with faults."""
    assert isinstance(relay.interceptor, FaultRunner)
    return relay.interceptor


async def _carry_out_effects(runner: FaultRunner) -> None:
    bell = _Bell()
    runner.wake = bell.ring
    while True:
        runner.carry_out_effects()
        await bell.wait(runner.effect_wait_ns())
