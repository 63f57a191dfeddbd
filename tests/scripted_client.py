"""Plays the client of a recording against a live agent or a replay, and compares byte by byte.

``python -m tests.scripted_client RECORDING AGENT [ARGS...]`` ends with 0 if the agent sent exactly
what was recorded, else with 1.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING, cast

import trio

from acp_proxy.capture.pumps import CHUNK
from acp_proxy.engine.client.scripted_client import ScriptedClient
from acp_proxy.runtime.verifier import Verifier
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.recorded_steps import RecordedSteps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trio.abc import ReceiveStream, SendStream

    from acp_proxy.engine.client.verification import Verification


class PlayedClient(ScriptedClient):
    """A scripted client with what a driver asks of a verification: it has no limit for silence."""

    stall_ns = None
    last_activity = 0
    awaited = "the agent"


async def talk(client: PlayedClient, source: ReceiveStream, sink: SendStream) -> None:
    """Plays a client on two streams until it has finished."""
    await Verifier(cast("Verification", client), source, sink).run()


async def play(client: PlayedClient, command: Sequence[str]) -> int:
    """Plays a client against an agent; returns the agent's exit code."""
    process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    async with process.stdin as sink, process.stdout as source:
        await talk(client, source, sink)
        await sink.aclose()
        # An agent that cannot write might never end.
        with contextlib.suppress(trio.BrokenResourceError):
            while await source.receive_some(CHUNK):
                pass
    return await process.wait()


def main(recording: str, *command: str) -> int:
    """Plays the client of a recording; returns the exit code."""
    with RecordingReader(Path(recording), unredacted=True) as reader:
        client = PlayedClient(RecordedSteps(reader))
        code = trio.run(play, client, command)
    return code if client.unexpected is None and client.is_done else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
