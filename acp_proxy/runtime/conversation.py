"""Lets a scripted client talk to an agent: one task says, another hears."""

import contextlib
import math

import trio
from trio.abc import ReceiveStream, SendStream

from acp_proxy.capture.pumps import CHUNK
from acp_proxy.engine.client.scripted_client import ScriptedClient
from acp_proxy.runtime.line_cutter import LineCutter


def play(client: ScriptedClient, command: list[str]) -> int:
    """Plays a client against an agent's command; returns the agent's exit code."""
    return trio.run(_play, client, command)


async def _play(client: ScriptedClient, command: list[str]) -> int:
    process = await trio.lowlevel.open_process(command, stdin=-1, stdout=-1)
    assert process.stdin is not None
    assert process.stdout is not None
    async with process.stdin as into, process.stdout as out:
        await converse(client, into, out)
        await into.aclose()
        with contextlib.suppress(trio.BrokenResourceError):
            while await out.receive_some(CHUNK):
                pass
    return await process.wait()


async def converse(client: ScriptedClient, into: SendStream, out: ReceiveStream) -> None:
    """Says and hears until all is said and heard, the agent left, or it said something else.

    Two tasks do it, since neither side may wait with reading until it has written.
    """
    to_say, said = trio.open_memory_channel[bytes](math.inf)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_say, said, into)
        for line in client.begin():
            to_say.send_nowait(line)
        await _hear(client, out, to_say)
        if client.unexpected is not None or not client.is_done:
            nursery.cancel_scope.cancel()
        to_say.close()


async def _say(said: "trio.MemoryReceiveChannel[bytes]", into: SendStream) -> None:
    with contextlib.suppress(trio.BrokenResourceError):
        async for line in said:
            await into.send_all(line)


async def _hear(
    client: ScriptedClient, out: ReceiveStream, to_say: "trio.MemorySendChannel[bytes]"
) -> None:
    cutter = LineCutter()
    with contextlib.suppress(trio.BrokenResourceError):
        while not client.is_done and client.unexpected is None:
            chunk = bytes(await out.receive_some(CHUNK))
            cuts = cutter.feed(chunk)
            if not chunk and (rest := cutter.finish()) is not None:
                cuts = [rest]
            for answer in [said for cut in cuts for said in client.hear(cut.raw)]:
                to_say.send_nowait(answer)
            if not chunk:
                return
