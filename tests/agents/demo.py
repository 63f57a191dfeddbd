"""Shows acp-proxy with a real agent and a real client, as in a shell session.

Run it with ``python -m tests.agents.demo PATH_TO_ACP_PROXY``. The recording stays in the recordings
directory.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from acp_proxy.recording.file_names import recordings_directory
from tests.agents.plain_agent import SAMPLE_NAME, SAMPLE_TEXT

ROOT = Path(__file__).parents[2]
AGENT = ["python", "-m", "tests.agents.sdk_agent"]
CLIENT = ["python", "-m", "tests.agents.sdk_client"]


def main() -> None:
    """Runs the demo; exits with 1 as soon as a step fails."""
    proxy = Path(sys.argv[1]).absolute()
    recordings = Path(recordings_directory(os.environ))
    name = free_name(recordings)
    with tempfile.TemporaryDirectory(prefix="acp-proxy-demo-") as directory:
        work = Path(directory, "project")
        work.mkdir()
        (work / SAMPLE_NAME).write_text(SAMPLE_TEXT, encoding="utf-8")
        places = {"ACP_PROXY_RECORDINGS": str(recordings), "ACP_PROXY_PAGER": "cat"}
        play(Shell(work, environment_for(proxy, **places)), proxy.name, name)
    say_what_next(typed(proxy), name, recordings)


def free_name(recordings: Path) -> str:
    """Returns the first of ``demo``, ``demo-2`` and so on that no recording in a directory has.

    Args:
        recordings: the directory.
    """
    names = ("demo", *(f"demo-{number}" for number in range(2, 10_000)))
    return next(name for name in names if not any(recordings.glob(f"{name}.db*")))


def typed(proxy: Path) -> str:
    """Returns the shortest command that starts an acp-proxy from the current directory.

    Args:
        proxy: the path of the start script of acp-proxy.
    """
    result = shutil.which("acp-proxy")
    if result and Path(result).resolve() == proxy.resolve():
        return "acp-proxy"
    return os.path.relpath(proxy) if proxy.is_relative_to(Path.cwd()) else str(proxy)


def play(shell: Shell, proxy: str, name: str) -> None:
    """Runs the steps of the demo, one command after the other."""
    shell.comment("talk to an agent, without an editor")
    shell.run(proxy, "try", "--prompt", "hello", "--", *AGENT)
    shell.comment("a client takes the agent's tour and cancels a slow turn, through the proxy")
    record = [proxy, "record", "--name", name, "--", *AGENT]
    events = shell.run(
        *CLIENT, "--scenario", "tour", "--scenario", "slow", "--", *record, quiet=True
    )
    print(summary(events))
    shell.comment("what is there?")
    shell.run(proxy, "list", "--newest", "1")
    shell.comment("what did they say to each other?")
    shell.run(proxy, "show", name)
    shell.comment("and frame by frame?")
    shell.run(proxy, "log", name)


def say_what_next(proxy: str, name: str, recordings: Path) -> None:
    """Prints commands to try, and the purpose of each."""
    print(f"\n# the recording is kept: {recordings / name}.db; what to type next")
    for words, purpose in next_commands(name):
        print(f"{shlex.join([proxy, *words]):<50}  # {purpose}")
    print("docs/walkthrough.md goes through what can go wrong.", flush=True)


def next_commands(name: str) -> list[tuple[list[str], str]]:
    """Returns the arguments of commands to try, and the purpose of each command."""
    return [
        (["log", name, "--seq", "17"], "one message in full"),
        (["transcript", name], "the conversation, as Markdown"),
        (["stats", name, "--turn", "1"], "where the time of a turn went"),
        (["show", "recordings/hang.db"], "what a hang looks like"),
        (["setup"], "record your own agent"),
    ]


def summary(transcript: str) -> str:
    """Returns in one line what the client received."""
    events = json.loads(transcript)
    updates = sum("update" in event for event in events)
    stops = ", ".join(event["stop"] for event in events if "stop" in event)
    code = events[-1]["exited"]
    return f"The client saw {updates} updates; its turns: {stops}; the agent's exit code: {code}."


class Shell:
    """Runs commands, and prints each command as a user would type it."""

    def __init__(self, cwd: Path, environment: dict[str, str]) -> None:
        self._cwd = cwd
        self._environment = environment

    def comment(self, text: str) -> None:
        """Prints a line as a comment of a shell."""
        print(f"\n# {text}", flush=True)

    def run(self, *command: str, quiet: bool = False) -> str:
        """Prints and runs a command; returns its output if `quiet`, and prints it otherwise.

        Raises:
            SystemExit: the command fails.
        """
        print(f"$ {shlex.join(command)}", flush=True)
        stdout = subprocess.PIPE if quiet else None
        result = subprocess.run(
            command, cwd=self._cwd, env=self._environment, stdout=stdout, encoding="utf-8"
        )
        if result.returncode:
            sys.exit(f"demo: expected exit code 0, got {result.returncode} from: {command}")
        return result.stdout or ""


def environment_for(proxy: Path, **more: str) -> dict[str, str]:
    """Returns an environment in which a shell finds Python, acp-proxy and the package ``tests``."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")}
    path = [str(proxy.parent), str(Path(sys.executable).parent), ours.get("PATH", os.defpath)]
    return {**ours, "PATH": os.pathsep.join(path), "PYTHONPATH": str(ROOT), **more}


if __name__ == "__main__":
    main()
