"""Answers that are sent piece by piece, for as long as the page wants them."""

import sys
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from http import HTTPStatus
from subprocess import DEVNULL, PIPE

import trio
from attrs import frozen
from starlette.types import Receive, Scope, Send

HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "content-security-policy": "frame-ancestors 'none'",
}
"""Headers of all answers. The other parts of the content security policy are in the page itself."""
BYTES = "application/octet-stream"
_PIECE = 1 << 16
_LAST_WORDS = 4_000
"""How many bytes from the end of a command's stderr are kept, in case the command fails."""


class BrokenOff(Exception):
    """An answer that has begun cannot be completed, so the connection is closed."""


async def begin(send: Send, status: int = 200, more: Mapping[str, str] | None = None) -> None:
    """Sends the head of an answer.

    Args:
        send: sends a part of the answer.
        status: the status of HTTP.
        more: further headers, by their names.
    """
    every = {"content-type": BYTES, **HEADERS, **(more or {})}
    headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in every.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def piece(send: Send, body: bytes, *, is_last: bool = False) -> None:
    """Sends a piece of the body.

    Args:
        send: sends a part of the answer.
        body: the bytes.
        is_last: whether the answer is complete.
    """
    await send({"type": "http.response.body", "body": body, "more_body": not is_last})


async def while_open(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Runs a function until it returns, or until the page has closed the connection.

    Args:
        receive: returns the next message about the request.
        work: the function.
    """
    async with trio.open_nursery() as nursery:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            nursery.cancel_scope.cancel()

        nursery.start_soon(watch)
        await work()
        nursery.cancel_scope.cancel()


@frozen
class CommandOutput:
    """The output of an ``acp-proxy`` command as an answer; the answer's end kills the command."""

    words: Sequence[str]
    """The command and its arguments."""
    headers: Mapping[str, str]
    complete: Collection[int] = (0,)
    """The exit codes with which the output is complete."""

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the output. If the command fails without output, sends the last line of stderr."""
        arguments = [sys.executable, "-P", "-m", "acp_proxy", *self.words]
        process = await trio.lowlevel.open_process(
            arguments, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )

        async def work() -> None:
            await self._send(process, send)

        try:
            await while_open(receive, work)
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()

    async def _send(self, process: trio.Process, send: Send) -> None:
        assert process.stdout is not None
        errors = b""

        async def read_errors() -> None:
            nonlocal errors
            assert process.stderr is not None
            async for some in process.stderr:
                errors = (errors + some)[-_LAST_WORDS:]

        has_begun = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read_errors)
            while some := await process.stdout.receive_some(_PIECE):
                if not has_begun:
                    await begin(send, 200, self.headers)
                has_begun = True
                await piece(send, bytes(some))
        code = await process.wait()
        if code in self.complete and not has_begun:
            await begin(send, 200, self.headers)
        elif code not in self.complete and has_begun:
            raise BrokenOff
        elif code not in self.complete:
            text = {"content-type": "text/plain; charset=utf-8"}
            await begin(send, HTTPStatus.INTERNAL_SERVER_ERROR, text)
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            await piece(send, f"{last}\n".encode(), is_last=True)
            return
        await piece(send, b"", is_last=True)
