"""Ends a recorder that is our child, and its agent with it.

We are the client of its agent, and a recorder ends no agent whose client still listens. So we leave
as a client does: we close our end, read until nothing comes for the grace time, and then close the
other end as well. An agent that is still there then overstays, and its recorder ends it.
"""

import contextlib
import signal
from collections.abc import AsyncIterator
from math import inf

import trio

from acp_proxy.capture.pumps import CHUNK
from acp_proxy.runtime.replayer import now_ns

MORE_S = 5.0
"""Seconds that a recorder has to end, beyond twice the agent's grace: in the first grace it waits
for the agent, and in the second for SIGTERM to end it. Then the recorder gets SIGTERM itself."""
_PAUSE_S = 0.01


class RecorderShutdown:
    """Ends a recorder, and its agent with it.

    Args:
        process: the recorder.
        grace: seconds of silence after which nothing more is expected from the agent.

    Attributes:
        signum: the signal that stopped us, or None.
        is_hopeless: whether there is no use in waiting for the agent to end by itself.
        was_stopped: whether the recorder got a signal to stop.
        last_read_ns: when the agent last sent something, in nanoseconds.
        hurried: set when a signal comes while the recorder is waited for.
    """

    def __init__(self, process: trio.Process, grace: float) -> None:
        self.signum: int | None = None
        self.is_hopeless = False
        self.was_stopped = False
        self.hurried = trio.Event()
        self.last_read_ns = now_ns()
        self._process = process
        self._grace = grace
        self._patience = 2 * grace + MORE_S

    async def cancel_on_signal(self, signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
        """Stops the conversation when a signal comes.

        Args:
            signals: those that stop us.
            scope: what is cancelled.
        """
        async for signum in signals:
            self.signum = signum
            scope.cancel()

    async def kill_on_signal(self, signals: AsyncIterator[int]) -> None:
        """Kills the recorder when a signal comes while it is waited for; its agent dies with it."""
        async for signum in signals:
            self.signum = self.signum or signum
            self.hurried.set()
            self._send(signal.SIGKILL)

    async def end(self) -> None:
        """Waits for the recorder, then sends it SIGTERM, then SIGKILL."""
        assert self._process.stdin is not None
        with contextlib.suppress(trio.BrokenResourceError):
            await self._process.stdin.aclose()
        steps = [signal.SIGTERM, signal.SIGKILL]
        if self.signum is not None or self.is_hopeless:
            self._send(steps.pop(0))
        while True:
            with trio.move_on_after(self._patience if steps else inf):
                await self._read_rest()
                await self._process.wait()
                return
            self._send(steps.pop(0))

    async def _read_rest(self) -> None:
        """Reads what still comes, so that no writer waits for us; not too much, if it is endless.

        After a silence of the grace time we close the pipe, from which the recorder learns that its
        client is gone. What was written is recorded whether we read it or not.
        """
        out = self._process.stdout
        assert out is not None
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                left = max(0.0, self._grace - (now_ns() - self.last_read_ns) / 1e9)
                with trio.move_on_after(left) as silence:
                    if not await out.receive_some(CHUNK):
                        break
                    self.last_read_ns = now_ns()
                if silence.cancelled_caught:
                    await out.aclose()
                    break
                if self.was_stopped:  # an agent that floods must not keep us busy until its end
                    await trio.sleep(_PAUSE_S)

    def _send(self, signum: int) -> None:
        self.was_stopped = True
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signum)
