"""Tests the commands that `try` runs for an agent."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.try_.running_command import RunningCommand

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def _run(params: dict[str, Any], cwd: Path) -> AsyncIterator[RunningCommand]:
    async with trio.open_nursery() as nursery:
        await nursery.start((command := RunningCommand(params, cwd)).run)
        yield command
        nursery.cancel_scope.cancel()


def _python(code: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-c", code], **more}


async def test_the_output_and_the_exit_code_are_returned(tmp_path: Path) -> None:
    """In `try`, an agent gets the joined stdout and stderr of its command, and the exit code."""
    code = (
        "import os, sys; print(os.environ['X'], flush=True);"
        " print('e', file=sys.stderr); sys.exit(3)"
    )
    params = _python(code, env=[{"name": "X", "value": "v"}])
    async with _run(params, tmp_path) as command:
        await command.ended.wait()
        assert command.output() == {
            "output": "v\ne\n",
            "truncated": False,
            "exitStatus": {"exitCode": 3, "signal": None},
        }


async def test_the_beginning_of_long_output_is_left_out(tmp_path: Path) -> None:
    """If `try` leaves out the beginning of long output, it cuts between two characters."""
    params = _python("print('é' * 10, end='')", outputByteLimit=5)
    async with _run(params, tmp_path) as command:
        await command.ended.wait()
        assert command.output()["output"] == "éé"
        assert command.output()["truncated"] is True


async def test_a_killed_command_takes_its_children_along(tmp_path: Path) -> None:
    """If `try` kills a command, the command's children end too."""
    code = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '1000']);"
        " print(child.pid, flush=True); child.wait()"
    )
    async with _run(_python(code), tmp_path) as command:
        while not command.output()["output"].endswith("\n"):
            await trio.lowlevel.checkpoint()
        assert not command.ended.is_set()
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


async def test_a_released_command_ends(tmp_path: Path) -> None:
    """If an agent releases its terminal in `try`, the terminal's command is ended."""
    async with _run(_python("input()"), tmp_path) as command:
        command.release()
        await command.ended.wait()
        assert command.life.cancel_called


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
    """If a program cannot start, `try` refuses the agent's request to start the program."""
    async with trio.open_nursery() as nursery:
        with pytest.raises((OSError, TypeError, ValueError)):
            await nursery.start(RunningCommand(params, tmp_path).run)
