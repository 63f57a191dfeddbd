"""Tests the commands that `try` runs for an agent."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.try_.running_commands import RunningCommands

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def _commands() -> AsyncIterator[RunningCommands]:
    async with trio.open_nursery() as nursery:
        commands = RunningCommands(nursery)
        yield commands
        nursery.cancel_scope.cancel()


def _python(code: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", code], **more}


async def test_the_output_and_the_exit_code_are_returned(tmp_path: Path) -> None:
    """A command that `try` runs writes both streams into one output, with its variables."""
    code = (
        "import os, sys; print(os.environ['X'], flush=True);"
        " print('e', file=sys.stderr); sys.exit(3)"
    )
    async with _commands() as commands:
        name = await commands.create(_python(code, env=[{"name": "X", "value": "v"}]), tmp_path)
        command = commands.named(name)
        await command.ended.wait()
        assert command.output() == {
            "output": "v\ne\n",
            "truncated": False,
            "exitStatus": {"exitCode": 3, "signal": None},
        }
        assert not commands.are_running


async def test_the_beginning_of_long_output_is_left_out(tmp_path: Path) -> None:
    """The output limit of a command in `try` counts bytes and never cuts a character."""
    async with _commands() as commands:
        params = _python("print('é' * 10, end='')", outputByteLimit=5)
        command = commands.named(await commands.create(params, tmp_path))
        await command.ended.wait()
        assert command.output()["output"] == "éé"
        assert command.output()["truncated"] is True


async def test_a_killed_command_takes_its_children_along(tmp_path: Path) -> None:
    """A command killed by `try` has the signal in its exit status, and its children end, too."""
    code = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '1000']);"
        " print(child.pid, flush=True); child.wait()"
    )
    async with _commands() as commands:
        command = commands.named(await commands.create(_python(code), tmp_path))
        while not command.output()["output"].endswith("\n"):
            await trio.lowlevel.checkpoint()
        assert commands.are_running
        command.kill()
        await command.ended.wait()
        assert command.exit_status() == {"exitCode": None, "signal": "SIGKILL"}
        child = int(command.output()["output"])
        with trio.fail_after(10):
            while _is_running(child):
                await trio.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_released_command_is_forgotten(tmp_path: Path) -> None:
    """After its release, a terminal of `try` has no id, and its command does not run."""
    async with _commands() as commands:
        name = await commands.create(_python("input()"), tmp_path)
        command = commands.named(name)
        command.release()
        await command.ended.wait()
        with pytest.raises(ValueError, match="there is no terminal"):
            commands.named(name)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"command": ""},
        {"command": 3},
        {"command": "true", "args": [1]},
        {"command": "true", "args": "x"},
        {"command": "true", "env": [{"name": "X"}]},
        {"command": "true", "env": [3]},
        {"command": "true", "env": 3},
        {"command": "a\0b"},
        {"command": "/no/such/program"},
        {"command": "true", "env": [{"name": "X=Y", "value": "v"}]},
    ],
)
async def test_a_bad_request_is_refused(tmp_path: Path, params: dict[str, Any]) -> None:
    """For wrong values and programs that cannot be started, `try` starts no command."""
    async with _commands() as commands:
        with pytest.raises((OSError, TypeError, ValueError)):
            await commands.create(params, tmp_path)
        assert not commands.are_running
