"""Runs a client with all ready fault plans, and prints a Markdown table of the results.

``python -m tests.agents.sweep_table > table.md`` uses a client on the official Python SDK
with the recording ``recordings/tour.db``; ``--client COMMAND`` uses another client.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PLANS = ROOT / "acp_proxy" / "faults" / "ready"


def main() -> None:
    """Runs `faults sweep`, and prints the table."""
    parser = argparse.ArgumentParser(description="A table of what a client does.")
    parser.add_argument(
        "--client", default=f"{sys.executable} -m tests.agents.tour_client {{agent}}"
    )
    parser.add_argument("--recording", default=str(ROOT / "recordings" / "tour.db"))
    parser.add_argument("--timeout", default="20")
    options = parser.parse_args()
    sweep = [sys.executable, "-m", "acp_proxy", "faults", "sweep", options.recording, "--json"]
    sweep += ["--plans", "@all", "--timeout", options.timeout, "--client", options.client]
    result = subprocess.run(sweep, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    if result.returncode not in (0, 1):
        sys.exit(result.returncode)
    print("| plan | the client | exit code | rules that fired |")
    print("|---|---|---|---|")
    for line in result.stdout.splitlines():
        run = json.loads(line)
        code = "" if run["exit_code"] is None else run["exit_code"]
        plan = f"`{run['plan']}`" if run["plan"] else "no faults"
        fired = [f"{name} {count}" for name, count in (run["fired"] or {}).items() if count]
        told = "" if run["fired"] is None else ", ".join(fired)
        print(f"| {plan} | {run['outcome']} | {code} | {told} |")


if __name__ == "__main__":
    main()
