"""Answers come piece by piece, and a command ends with its request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.web.streaming import HEADERS, BrokenOff, CommandOutput
from tests.support.window import DEADLINE_S

if TYPE_CHECKING:
    from pathlib import Path


class Connection:
    """A request whose answer is kept.

    Attributes:
        sent: the messages of the answer.
    """

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.has_begun, self.closing = trio.Event(), trio.Event()

    async def receive(self) -> dict[str, Any]:
        """Returns when the page is closed."""
        await self.closing.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Keeps a message."""
        self.sent.append(message)
        self.has_begun.set()

    async def run(self, answer: Any) -> None:
        """Sends an answer."""
        with trio.fail_after(DEADLINE_S):
            await answer({}, self.receive, self.send)

    @property
    def body(self) -> bytes:
        """The body so far."""
        return b"".join(message["body"] for message in self.sent[1:])


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Lets a script take the place of the interpreter, and returns the script."""
    path = tmp_path / "program"
    monkeypatch.setattr("acp_proxy.web.streaming.sys.executable", str(path))
    return path


def write(program: Path, script: str) -> None:
    """Writes a script, which finds its words after ``-P -m acp_proxy``."""
    program.write_text(f"#!/bin/sh\nshift 3\n{script}\n")
    program.chmod(0o700)


async def test_the_output_of_a_command_is_the_body(program: Path) -> None:
    """`web` sends the output of a command, with its security headers and the content type."""
    write(program, 'echo "$@"; echo warned >&2')
    connection = Connection()
    await connection.run(CommandOutput(["a b", "c"], {"content-type": "text/html"}))
    start = connection.sent[0]
    assert start["status"] == 200
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    assert headers == {**HEADERS, "content-type": "text/html"}
    assert connection.body == b"a b c\n"
    assert [message["more_body"] for message in connection.sent[1:]][-1] is False


@pytest.mark.parametrize(("code", "complete"), [(0, (0,)), (1, (0, 1))])
async def test_a_command_may_print_nothing(
    program: Path, code: int, complete: tuple[int, ...]
) -> None:
    """If a command that `web` runs succeeds without output, the page gets an empty answer."""
    write(program, f"exit {code}")
    connection = Connection()
    await connection.run(CommandOutput([], {}, complete))
    assert (connection.sent[0]["status"], connection.body) == (200, b"")


async def test_a_command_that_fails_says_why(program: Path) -> None:
    """If a command that `web` runs fails before any output, the page gets its last error line."""
    write(program, "echo first >&2; echo 'acp-proxy: no such thing' >&2; exit 2")
    connection = Connection()
    await connection.run(CommandOutput([], {"acp-file": "x"}))
    assert (connection.sent[0]["status"], connection.body) == (500, b"acp-proxy: no such thing\n")


async def test_a_command_that_fails_late_breaks_the_answer(program: Path) -> None:
    """If a command that `web` runs fails after some output, the page sees that it is incomplete."""
    write(program, "echo some; exit 2")
    connection = Connection()
    with pytest.raises(BaseExceptionGroup) as caught:
        await connection.run(CommandOutput([], {}))
    assert caught.group_contains(BrokenOff)
    assert all(message["more_body"] for message in connection.sent[1:])


async def test_a_closed_page_ends_the_command(program: Path) -> None:
    """If a page of `web` is closed, a command that runs for the page is killed at once."""
    write(program, "echo $$; exec sleep 1000")
    connection = Connection()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run, CommandOutput([], {}))
        with trio.fail_after(DEADLINE_S):
            while not connection.body:
                await trio.sleep(0.005)
        connection.closing.set()
    with pytest.raises(ProcessLookupError):
        os.kill(int(connection.body), 0)
