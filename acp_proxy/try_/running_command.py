"""Runs a command for an agent, in a process group that ends when acp-proxy ends.

A guardian process leads the group, as for a recorded agent. When acp-proxy ends, even by SIGKILL,
the guardian kills the group.
"""

import contextlib
import os
import signal
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import trio
from attrs import define, field

from acp_proxy.base.limits import CHUNK
from acp_proxy.protocol.json_text import member
from acp_proxy.record.capture.process_groups import GUARDIAN, SHELL

_MOMENT_S = 0.5
"""How many seconds the command's output is still read after the command has ended."""
_MOST_OUTPUT = 1_000_000
"""How many bytes from the end of the output are kept if the agent names no limit."""


@define(eq=False)
class RunningCommand:
    """A command that the agent has started, until the agent releases its terminal.

    Args:
        params: the params of ``terminal/create``.
        cwd: the directory in which the command runs.
    """

    _params: dict[str, Any]
    _cwd: Path
    ended: trio.Event = field(init=False, factory=trio.Event)
    _guardian: trio.Process = field(init=False)
    _process: trio.Process = field(init=False)
    life: trio.CancelScope = field(init=False, factory=trio.CancelScope)
    """The scope of the command's task; cancelled when the agent releases the terminal."""
    _output: bytearray = field(init=False, factory=bytearray)
    _is_cut: bool = field(init=False, default=False)

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Starts the command, collects its output, and waits until the command is released.

        Then kills the processes of the command that still run.

        Args:
            task_status: started as soon as the command runs.

        Raises:
            OSError, TypeError, ValueError: the command cannot be started.
        """
        env = {**os.environ}
        for item in self._params.get("env") or []:
            env[member(item, "name")] = member(item, "value")
        words: list[Any] = [self._params.get("command")] + (self._params.get("args") or [])
        self._guardian = await trio.lowlevel.open_process(
            [SHELL, "-c", GUARDIAN], stdin=PIPE, process_group=0
        )
        processes = [self._guardian]
        try:
            with self.life:
                self._process = await trio.lowlevel.open_process(
                    words, stdout=PIPE, stderr=STDOUT, cwd=self._cwd, env=env,
                    process_group=self._guardian.pid,
                )  # fmt: skip
                processes.append(self._process)
                task_status.started()
                await self._collect_all()
                self.ended.set()
                await trio.sleep_forever()
        finally:
            self.kill()
            with trio.CancelScope(shield=True):
                for process in processes:
                    await process.wait()
                    for stream in filter(None, (process.stdin, process.stdout)):
                        await stream.aclose()
            self.ended.set()

    async def _collect_all(self) -> None:
        out = self._process.stdout
        assert out is not None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._collect, out)
            await self._process.wait()
            # A descendant may keep the output open, so it is only read a little longer.
            nursery.cancel_scope.deadline = trio.current_time() + _MOMENT_S

    async def _collect(self, out: trio.abc.ReceiveStream) -> None:
        limit = self._params.get("outputByteLimit")
        most = limit if isinstance(limit, int) and limit >= 0 else _MOST_OUTPUT
        while chunk := await out.receive_some(CHUNK):
            self._output += chunk
            if (beyond := len(self._output) - most) > 0:
                # Cut the beginning, but not within a character of UTF-8.
                while beyond < len(self._output) and self._output[beyond] & 0xC0 == 0x80:
                    beyond += 1
                del self._output[:beyond]
                self._is_cut = True

    def output(self) -> dict[str, Any]:
        """Returns the result of ``terminal/output``: the output so far, and perhaps an exit status.

        The exit status is only present if the command has ended.
        """
        shown = {"output": self._output.decode(errors="replace"), "truncated": self._is_cut}
        return {**shown, "exitStatus": self.exit_status()} if self.ended.is_set() else shown

    def exit_status(self) -> dict[str, Any]:
        """Returns the exit status of the command: its ``exitCode`` and its ``signal``.

        The exit code is None if a signal ended the command, and otherwise the name of the signal
        is None. While the command is running, both are None.
        """
        code = self._process.returncode
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        return {"exitCode": None, "signal": signal.Signals(-code).name}

    def release(self) -> None:
        """Ends the command if it still runs. Then `run` ends as well."""
        self.life.cancel()

    def kill(self) -> None:
        """Kills the command and the processes that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guardian.pid, signal.SIGKILL)
