"""How a recorder that is our child ends, and its agent with it."""

import contextlib
import signal
from collections.abc import AsyncIterator
from math import inf

import trio

from acp_proxy.capture.pumps import CHUNK

MORE_S = 5.0
"""Seconds that a recorder has to end, beyond twice the agent's grace, before it is told to, and
then killed; in the first it asks the agent to end, and in the second it tells it."""
_PAUSE_S = 0.01


class Ending:
    """Sees that a recorder ends, and its agent with it.

    Attributes:
        signum: the signal that we were told to stop by.
        is_hopeless: whether there is no use in waiting for the agent to end by itself.
        was_stopped: whether the recorder was told to stop.
        hurried: set when a signal comes while the recorder is waited for.
    """

    def __init__(self, process: trio.Process, patience: float) -> None:
        self.signum: int | None = None
        self.is_hopeless = False
        self.was_stopped = False
        self.hurried = trio.Event()
        self._process = process
        self._patience = patience

    async def stop_when_told(self, signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
        """Stops the conversation when a signal comes."""
        async for signum in signals:
            self.signum = signum
            scope.cancel()

    async def hurry_when_told(self, signals: AsyncIterator[int]) -> None:
        """Kills the recorder when a signal comes while it is waited for; its agent dies with it."""
        async for signum in signals:
            self.signum = self.signum or signum
            self.hurried.set()
            self._send(signal.SIGKILL)

    async def end(self) -> None:
        """Waits for the recorder; then tells it to stop; then kills it."""
        assert self._process.stdin is not None
        with contextlib.suppress(trio.BrokenResourceError):
            await self._process.stdin.aclose()
        steps = [signal.SIGTERM, signal.SIGKILL]
        if self.signum is not None or self.is_hopeless:
            self._send(steps.pop(0))
        while True:
            with trio.move_on_after(self._patience if steps else inf):
                await self._hear_the_rest()
                await self._process.wait()
                return
            self._send(steps.pop(0))

    async def _hear_the_rest(self) -> None:
        """Reads what still comes, so that nobody waits for us to; not too much, if it is endless.

        What was written is recorded whether we read it or not.
        """
        assert self._process.stdout is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while await self._process.stdout.receive_some(CHUNK):
                if self.was_stopped:
                    await trio.sleep(_PAUSE_S)

    def _send(self, signum: int) -> None:
        self.was_stopped = True
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signum)
