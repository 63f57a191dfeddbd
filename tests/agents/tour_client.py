"""The SDK's client on the tour of ``recordings/tour.db``, without arguments.

``python -m tests.agents.tour_client AGENT [ARGS...]`` works in a scratch directory with the file
that the agent asks for, and exits as `tests.agents.sdk_client` does.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from tests.agents.sdk_client import run

SCENARIOS = ["tour", "mode", "load", "extension"]


async def tour(agent: list[str]) -> tuple[bool, str]:
    """Tours with the agent that a command starts; says whether all went well, and what it saw."""
    with tempfile.TemporaryDirectory() as directory:
        cwd = Path(directory)
        (cwd / "greeting.txt").write_text("Hello, ACP!\nThis file is read by the agent.\n")
        options = Namespace(cwd=cwd, permission="allow", scenario=SCENARIOS, wire=None)
        return await run(agent, options)


def main() -> None:
    """Runs the client."""
    went_well, transcript = asyncio.run(tour(sys.argv[1:]))
    print(transcript)
    sys.exit(0 if went_well else 1)


if __name__ == "__main__":
    main()
