"""A recorded client, played against a live agent or a replayed one.

``python -m acp_proxy.client RECORDING -- AGENT [ARGS...]`` runs the agent, says what the recorded
client said, each message once the agent has said all that came before it, and ends with 0 if the
agent said exactly what was recorded, else with 1 and the first line that was not.
"""

import os
import sys
from pathlib import Path

from acp_proxy.capture.files import recordings_directory
from acp_proxy.engine.client.scripted_client import ScriptedClient
from acp_proxy.errors import AcpProxyError
from acp_proxy.runtime.conversation import play
from acp_proxy.store.lookup import resolve
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.recorded_steps import RecordedSteps


def main(arguments: list[str]) -> int:
    """Runs the command line."""
    if len(arguments) < 3 or arguments[1] != "--":
        print("usage: python -m acp_proxy.client RECORDING -- AGENT [ARGS...]", file=sys.stderr)  # noqa: T201
        return 2
    directory = Path(recordings_directory(os.environ))
    try:
        with RecordingReader(resolve(arguments[0], directory, Path.cwd())) as reader:
            client = ScriptedClient(RecordedSteps(reader))
            code = play(client, arguments[2:])
    except AcpProxyError as e:
        print(f"acp-proxy: {e}", file=sys.stderr)  # noqa: T201
        return 2
    if client.unexpected is not None:
        line = client.unexpected[:500].decode(errors="replace")
        print(f"acp-proxy: the agent said what was not recorded there: {line}", file=sys.stderr)  # noqa: T201
        return 1
    if not client.is_done:
        print("acp-proxy: the agent left before it had said all", file=sys.stderr)  # noqa: T201
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
