"""Records a real client talking to a real agent, then shows the recording, as in a shell session.

Run it with ``python -m tests.agents.demo PATH_TO_ACP_PROXY``.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.agents.plain_agent import SAMPLE_NAME, SAMPLE_TEXT

ROOT = Path(__file__).parents[2]
AGENT = ["python", "-m", "tests.agents.sdk_agent"]
CLIENT = ["python", "-m", "tests.agents.sdk_client"]


def main() -> None:
    """Plays the demo; exits with 1 as soon as a step fails."""
    proxy = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory(prefix="acp-proxy-demo-") as directory:
        work, recordings = Path(directory, "project"), Path(directory, "recordings")
        work.mkdir()
        (work / SAMPLE_NAME).write_text(SAMPLE_TEXT, encoding="utf-8")
        environment = environment_for(proxy, ACP_PROXY_RECORDINGS=str(recordings))
        shell = Shell(work, environment)
        shell.comment("recordings go to a directory of their own")
        print(f"$ export ACP_PROXY_RECORDINGS={recordings}")
        play(shell, proxy.name)


def play(shell: Shell, proxy: str) -> None:
    """Goes through the steps."""
    shell.comment("a client takes the agent's tour and cancels a slow turn, through the proxy")
    record = [proxy, "record", "--name", "demo", "--", *AGENT]
    seen = shell.run(*CLIENT, "--scenario", "tour", "--scenario", "slow", "--", *record, quiet=True)
    print(summary(seen))
    shell.comment("what is there?")
    shell.run(proxy, "inspect", "list")
    shell.comment("what did they say to each other?")
    shell.run(proxy, "inspect", "show", "demo")
    shell.comment("and frame by frame?")
    shell.run(proxy, "inspect", "log", "demo")


def summary(transcript: str) -> str:
    """Says in one line what the client saw."""
    seen = json.loads(transcript)
    updates = sum("update" in event for event in seen)
    stops = ", ".join(event["stop"] for event in seen if "stop" in event)
    code = seen[-1]["exited"]
    return f"The client saw {updates} updates; its turns: {stops}; the agent's exit code: {code}."


class Shell:
    """A place to run commands in, each shown as it would be typed."""

    def __init__(self, cwd: Path, environment: dict[str, str]) -> None:
        self._cwd = cwd
        self._environment = environment

    def comment(self, text: str) -> None:
        """Prints a headline."""
        print(f"\n# {text}", flush=True)

    def run(self, *command: str, quiet: bool = False) -> str:
        """Shows and runs a command; returns its output if `quiet`, else that goes to the terminal.

        Raises:
            SystemExit: the command fails.
        """
        print(f"$ {shlex.join(command)}", flush=True)
        stdout = subprocess.PIPE if quiet else None
        done = subprocess.run(
            command, cwd=self._cwd, env=self._environment, stdout=stdout, encoding="utf-8"
        )
        if done.returncode:
            sys.exit(f"demo: expected exit code 0, got {done.returncode} from: {command}")
        return done.stdout or ""


def environment_for(proxy: Path, **more: str) -> dict[str, str]:
    """Makes an environment in which ``python``, the proxy and the package ``tests`` are found."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")}
    path = [str(proxy.parent), str(Path(sys.executable).parent), ours.get("PATH", os.defpath)]
    return {**ours, "PATH": os.pathsep.join(path), "PYTHONPATH": str(ROOT), **more}


if __name__ == "__main__":
    main()
