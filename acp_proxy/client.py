"""Plays the client of a recording against a live agent or a replay.

``python -m acp_proxy.client RECORDING -- AGENT [ARGS...]`` runs the agent and sends the client's
recorded messages. A message of the client is sent as soon as the agent has sent all messages that
come before it in the recording.

The exit code is 0 if the agent sends exactly the recorded lines. Otherwise the first different line
is printed, and the exit code is 1.
"""

import os
import sys
from pathlib import Path

from acp_proxy.base.errors import AcpProxyError
from acp_proxy.playback.drivers.verifier import play
from acp_proxy.playback.verify.scripted_client import ScriptedClient
from acp_proxy.recording.file_names import recordings_directory
from acp_proxy.store.files.lookup import resolve
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader


def main(arguments: list[str]) -> int:
    """Runs the command line; returns the exit code."""
    if len(arguments) < 3 or arguments[1] != "--":
        _print("usage: python -m acp_proxy.client RECORDING -- AGENT [ARGS...]")
        return 2
    directory = Path(recordings_directory(os.environ))
    try:
        with RecordingReader(
            resolve(arguments[0], directory, Path.cwd()), unredacted=True
        ) as reader:
            client = ScriptedClient(RecordedSteps(reader))
            code = play(client, arguments[2:])
    except AcpProxyError as e:
        _print(f"acp-proxy: {e}")
        return 2
    if client.unexpected is not None:
        line = client.unexpected[:500].decode(errors="replace")
        _print(f"acp-proxy: the agent sent a line that was not recorded at this point: {line}")
        return 1
    if not client.is_done:
        _print("acp-proxy: the agent left before it had sent everything")
        return 1
    return code


def _print(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
