"""Runs the commands that an agent asks for, each in a process group that ends with us.

A guardian process, as of a recorded agent, leads the group: when our process ends, even by SIGKILL,
the guardian kills the group.
"""

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import Any

import trio
from attrs import define, field

from acp_proxy.base.limits import CHUNK
from acp_proxy.protocol.json_text import member
from acp_proxy.record.capture.process_groups import GUARDIAN, SHELL

_MOMENT_S = 0.5
"""Seconds until the output counts as complete after the command has ended."""
_MOST_OUTPUT = 1_000_000
"""The number of bytes of output that are kept if the agent names no limit."""


@define(eq=False)
class RunningCommand:
    """A command that runs or has ended.

    Args:
        words: the command.
        env: the environment of the command.
        cwd: the directory of the command.
        limit: the number of bytes of output that are kept.
    """

    _words: Sequence[str]
    _env: Mapping[str, str]
    _cwd: Path
    _limit: int
    ended: trio.Event = field(init=False, factory=trio.Event)
    _guardian: trio.Process = field(init=False)
    _process: trio.Process = field(init=False)
    life: trio.CancelScope = field(init=False, factory=trio.CancelScope)
    """Cancelled when the command is released."""
    _output: bytearray = field(init=False, factory=bytearray)
    _is_cut: bool = field(init=False, default=False)

    async def run(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Starts the command, and collects its output; ends its group when it is released.

        Args:
            task_status: is told when the command has started.

        Raises:
            OSError, TypeError, ValueError: the command cannot be started.
        """
        self._guardian = await trio.lowlevel.open_process(
            [SHELL, "-c", GUARDIAN], stdin=PIPE, process_group=0
        )
        processes = [self._guardian]
        try:
            with self.life:
                self._process = await trio.lowlevel.open_process(
                    self._words, stdout=PIPE, stderr=STDOUT, cwd=self._cwd, env=self._env,
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
            # A descendant may keep the output open: what comes soon is still part of it.
            nursery.cancel_scope.deadline = trio.current_time() + _MOMENT_S

    async def _collect(self, out: trio.abc.ReceiveStream) -> None:
        while chunk := await out.receive_some(CHUNK):
            self._output += chunk
            if (beyond := len(self._output) - self._limit) > 0:
                # The beginning is left out, at a boundary of characters.
                while beyond < len(self._output) and self._output[beyond] & 0xC0 == 0x80:
                    beyond += 1
                del self._output[:beyond]
                self._is_cut = True

    def output(self) -> dict[str, Any]:
        """Returns the output so far, and the exit status if the command has ended."""
        shown = {"output": self._output.decode(errors="replace"), "truncated": self._is_cut}
        return {**shown, "exitStatus": self.exit_status()} if self.ended.is_set() else shown

    def exit_status(self) -> dict[str, Any]:
        """Returns the exit code, or the name of the signal that ended the command."""
        code = self._process.returncode
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        return {"exitCode": None, "signal": signal.Signals(-code).name}

    def release(self) -> None:
        """Ends the command, since its output is not needed any more."""
        self.life.cancel()

    def kill(self) -> None:
        """Kills the command and the processes that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guardian.pid, signal.SIGKILL)


@define(eq=False)
class RunningCommands:
    """The commands of one conversation.

    Args:
        nursery: has a task for each command; when it is cancelled, the commands are killed.
    """

    _nursery: trio.Nursery
    _terminals: dict[str, RunningCommand] = field(init=False, factory=dict)

    @property
    def are_running(self) -> bool:
        """Whether a command is running."""
        return any(not terminal.ended.is_set() for terminal in self._terminals.values())

    async def create(self, params: dict[str, Any], cwd: Path) -> str:
        """Starts a command, and returns the id of its terminal.

        Args:
            params: the params of ``terminal/create``.
            cwd: the directory of the command.

        Raises:
            OSError, TypeError, ValueError: the command cannot be started.
        """
        limit, env = params.get("outputByteLimit"), {**os.environ}
        for item in params.get("env") or []:
            env[member(item, "name")] = member(item, "value")
        words: list[Any] = [params.get("command")] + (params.get("args") or [])
        most = limit if isinstance(limit, int) and limit >= 0 else _MOST_OUTPUT
        command = RunningCommand(words, env, cwd, most)
        await self._nursery.start(command.run)
        name = f"terminal-{len(self._terminals) + 1}"
        self._terminals[name] = command
        return name

    def named(self, name: object) -> RunningCommand:
        """Returns a terminal that was not released.

        Args:
            name: the id in the agent's request.

        Raises:
            ValueError: there is no such terminal.
        """
        terminal = self._terminals.get(name) if isinstance(name, str) else None
        if terminal is None or terminal.life.cancel_called:
            raise ValueError(f"there is no terminal {name}")
        return terminal
