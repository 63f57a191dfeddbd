"""The SDK's client on the tour of ``recordings/tour.db``, which it does on its own.

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


def main() -> None:
    """Runs the client."""
    with tempfile.TemporaryDirectory() as directory:
        cwd = Path(directory)
        (cwd / "greeting.txt").write_text("Hello, ACP!\nThis file is read by the agent.\n")
        options = Namespace(cwd=cwd, permission="allow", scenario=SCENARIOS, wire=None)
        code = 0 if asyncio.run(run(sys.argv[1:], options)) else 1
    sys.exit(code)


if __name__ == "__main__":
    main()
