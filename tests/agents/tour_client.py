"""A client on the official SDK that behaves as in ``recordings/tour.db``.

``python -m tests.agents.tour_client AGENT [ARGS...]`` runs in a temporary directory that has the
file for the agent. Its exit codes are those of `tests.agents.sdk_client`.
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
    """Plays the tour with an agent; returns whether all succeeded, and what the client received."""
    with tempfile.TemporaryDirectory() as directory:
        cwd = Path(directory)
        (cwd / "greeting.txt").write_text("Hello, ACP!\nThis file is read by the agent.\n")
        options = Namespace(cwd=cwd, permission="allow", scenario=SCENARIOS, wire=None)
        return await run(agent, options)


def main() -> None:
    """Plays the tour, and prints what the client received."""
    went_well, transcript = asyncio.run(tour(sys.argv[1:]))
    print(transcript)
    sys.exit(0 if went_well else 1)


if __name__ == "__main__":
    main()
