"""Keeps time for faults: writes what is late when it is due, and does what can or must wait."""

import contextlib
import time
from collections.abc import Callable

import trio

from acp_proxy.capture.log import STDERR
from acp_proxy.runtime.faulting import Faulting
from acp_proxy.runtime.outlet import WriteQueue


class Bell:
    """Wakes a task from any thread; rung before anybody waits, it wakes the next one."""

    def __init__(self) -> None:
        self._event = trio.Event()
        self._token = trio.lowlevel.current_trio_token()

    def ring(self) -> None:
        """Wakes whoever waits."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(self._set, idempotent=True)

    async def wait(self, seconds: float) -> None:
        """Waits until it rings, for some seconds at the most."""
        with trio.move_on_after(seconds):
            await self._event.wait()
        if self._event.is_set():
            self._event = trio.Event()

    def _set(self) -> None:
        self._event.set()


async def keep_time(faulting: Faulting, clock: Callable[[], int] = time.monotonic_ns) -> None:
    """Delivers what is due on all ways out, until cancelled."""
    async with trio.open_nursery() as nursery:
        for outlet in faulting.outlets.values():
            nursery.start_soon(deliver, outlet)
        nursery.start_soon(_do_later, faulting, clock)


async def deliver(outlet: WriteQueue) -> None:
    """Writes in a thread what is due on one way out, until its sink breaks."""
    bell = Bell()
    outlet.wake = bell.ring
    while outlet.error is None:
        wait = outlet.wait_ns()
        if wait == 0:
            with contextlib.suppress(OSError):
                await trio.to_thread.run_sync(outlet.flush, abandon_on_cancel=True)
        else:
            await bell.wait(float("inf") if wait is None else wait / 1e9)


async def finish_stderr(faulting: Faulting, seconds: float) -> None:
    """Waits until the agent's stderr has taken what faults wrote there, not for ever."""
    outlet = faulting.outlets.get(STDERR)
    if outlet is not None and not outlet.is_empty:
        with trio.move_on_after(seconds), contextlib.suppress(OSError):
            await trio.to_thread.run_sync(outlet.wait_until_empty, abandon_on_cancel=True)


async def _do_later(faulting: Faulting, clock: Callable[[], int]) -> None:
    bell = Bell()
    faulting.signals.wake = bell.ring
    later = faulting.signals.later
    while True:
        now = clock()
        for moment in [m for m in later if m[0] <= now]:
            later.remove(moment)
            moment[1]()
        first = min((at for at, _ in later), default=None)
        await bell.wait(float("inf") if first is None else max(0, first - now) / 1e9)
