"""Runs the commands that an agent asks for, each in a process group that ends with us.

A guardian process, as of a recorded agent, leads the group: when our process ends, even by SIGKILL,
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
from acp_proxy.base.plain_files import reason
from acp_proxy.protocol.json_text import member
from acp_proxy.record.capture.process_groups import GUARDIAN, SHELL
from acp_proxy.try_.agent_connection import INVALID_PARAMS, RequestError

_MOMENT_S = 0.5
"""Seconds until the output counts as complete after the command has ended."""
_MOST_OUTPUT = 1_000_000
"""The number of bytes of output that are kept if the agent names no limit."""


@define(eq=False)
class RunningCommand:
    """A command that runs or has ended."""

    _guardian: trio.Process
    _process: trio.Process | None
    """The command; None if it could not be started."""
    _limit: int = 0
    ended: trio.Event = field(init=False, factory=trio.Event)
    _released: trio.Event = field(init=False, factory=trio.Event)
    _output: bytearray = field(init=False, factory=bytearray)
    _is_cut: bool = field(init=False, default=False)

    async def run(self) -> None:
        """Collects the output until the command has ended and is released, then ends the group."""
        try:
            await self._collect_all()
            self.ended.set()
            await self._released.wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Kills the group, and closes what belongs to it."""
        self.kill()
        with trio.CancelScope(shield=True):
            for process in (self._process, self._guardian):
                if process is None:
                    continue
                await process.wait()
                for stream in (process.stdin, process.stdout):
                    if stream is not None:
                        await stream.aclose()
        self.ended.set()

    async def _collect_all(self) -> None:
        assert self._process is not None
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
        code = None if self._process is None else self._process.returncode
        if code is None or code >= 0:
            return {"exitCode": code, "signal": None}
        return {"exitCode": None, "signal": signal.Signals(-code).name}

    def release(self) -> None:
        """Ends the command, since its output is not needed any more."""
        self._released.set()
        self.kill()

    def kill(self) -> None:
        """Kills the command and the processes that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guardian.pid, signal.SIGKILL)


@define(eq=False)
class RunningCommands:
    """The commands of one conversation.

    Args:
        nursery: has a task for each command; when it is cancelled, the commands are killed.
        root: the directory in which commands start.
    """

    _nursery: trio.Nursery
    _root: Path
    _terminals: dict[str, RunningCommand] = field(init=False, factory=dict)
    _count: int = field(init=False, default=0)

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
            RequestError: the command cannot be started.
        """
        args = params.get("args") or []
        words = [params.get("command"), *(args if isinstance(args, list) else [None])]
        if not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0]:
            raise RequestError(INVALID_PARAMS, "expected a command and its arguments as strings")
        limit = params.get("outputByteLimit")
        env = params.get("env") or []
        pairs = env if isinstance(env, list) else [None]
        given = [(member(item, "name"), member(item, "value")) for item in pairs]
        if not all(isinstance(text, str) for pair in given for text in pair):
            raise RequestError(INVALID_PARAMS, "expected names and values in env as strings")
        guardian = await trio.lowlevel.open_process(
            [SHELL, "-c", GUARDIAN], stdin=PIPE, process_group=0
        )
        try:
            process = await trio.lowlevel.open_process(
                words, stdin=None, stdout=PIPE, stderr=STDOUT, cwd=cwd,
                env={**os.environ, **dict(given)}, process_group=guardian.pid,
            )  # fmt: skip
        except (OSError, ValueError) as e:
            await RunningCommand(guardian, None).close()
            why = reason(e) if isinstance(e, OSError) else str(e)
            raise RequestError(INVALID_PARAMS, f"cannot start {words[0]}: {why}") from None
        self._count += 1
        name = f"terminal-{self._count}"
        most = limit if isinstance(limit, int) and limit >= 0 else _MOST_OUTPUT
        terminal = self._terminals[name] = RunningCommand(guardian, process, most)
        self._nursery.start_soon(terminal.run)
        return name

    def named(self, name: object) -> RunningCommand:
        """Returns a terminal that was not released.

        Args:
            name: the id in the agent's request.

        Raises:
            RequestError: there is no such terminal.
        """
        terminal = self._terminals.get(name) if isinstance(name, str) else None
        if terminal is None:
            raise RequestError(INVALID_PARAMS, f"there is no terminal {name}")
        return terminal

    def release(self, name: object) -> None:
        """Kills the command of a terminal, and forgets the terminal.

        Raises:
            RequestError: there is no such terminal.
        """
        self.named(name).release()
        del self._terminals[str(name)]
