"""Makes the recordings in `recordings/` with a client and an agent of the tests.

Run it with ``python -m tests.agents.make_recordings PATH_TO_ACP_PROXY DIR [NAME...]``. acp-proxy
runs in a directory with an invented name, and the agent's command is relative. So a recording
reveals nothing about the machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.agents.demo import AGENT, CLIENT, ROOT, environment_for
from tests.agents.plain_agent import SAMPLE_NAME, SAMPLE_TEXT

PROJECT = Path("/tmp/acp-proxy-demo")
"""The directory of the session, whose path is in the recording."""

SICK_AGENT = ["python", "-m", "tests.agents.sick_agent"]
SICK_CLIENT = ["python", "-m", "tests.agents.sick_client"]

RECORDINGS = {
    "hello": ["--scenario", "hello"],
    "edit-allowed": ["--scenario", "edit"],
    "edit-rejected": ["--scenario", "edit", "--permission", "reject"],
    "terminal": ["--scenario", "run"],
    "cancelled": ["--scenario", "slow"],
    "tour": [f"--scenario={name}" for name in ("tour", "mode", "load", "extension")],
}
"""The arguments of the client, by the name of the recording."""

SICK = {
    "hang": ("tests", "hang"),
    "lost-permission": ("edit", "edit"),
    "crash": ("tests", "crash"),
    "late-updates": ("tests", "late"),
    "wrong-params": ("wrong-params", "hello"),
}
"""The arguments of the client and of the agent for recordings with a failure."""


def main() -> None:
    """Makes all recordings or the named ones; exits with 1 if one cannot be made."""
    proxy, directory = (Path(argument).absolute() for argument in sys.argv[1:3])
    directory.mkdir(parents=True, exist_ok=True)
    for name, (client, agent) in conversations().items():
        if name in (sys.argv[3:] or [name]):
            recording = directory / f"{name}.db"
            make(recording, proxy, client, agent)
            refuse_paths_of_this_machine(recording)
            recording.chmod(0o644)
            print(f"made {recording.name}")


def conversations() -> dict[str, tuple[list[str], list[str]]]:
    """Returns the commands of client and agent for each recording, by its name."""
    healthy = {name: ([*CLIENT, *options, "--"], AGENT) for name, options in RECORDINGS.items()}
    sick = {
        name: ([*SICK_CLIENT, script], [*SICK_AGENT, scenario])
        for name, (script, scenario) in SICK.items()
    }
    return healthy | sick


def make(recording: Path, proxy: Path, client: list[str], agent: list[str]) -> None:
    """Records one conversation in an empty project, and replaces the older recording."""
    for old in recording.parent.glob(f"{recording.name}*"):
        old.unlink()
    shutil.rmtree(PROJECT, ignore_errors=True)
    PROJECT.mkdir(mode=0o700)
    try:
        (PROJECT / SAMPLE_NAME).write_text(SAMPLE_TEXT, encoding="utf-8")
        run([*client, proxy.name, "record", "-o", str(recording), "--", *agent], proxy)
        if Path(f"{recording}.log").exists():  # the conversation was over before the indexer was up
            run([proxy.name, "inspect", "show", str(recording)], proxy)
    finally:
        shutil.rmtree(PROJECT)


def run(command: list[str], proxy: Path) -> None:
    """Runs a command in the project, which must succeed.

    Raises:
        SystemExit: the command fails.
    """
    result = subprocess.run(
        command, cwd=PROJECT, env=environment_for(proxy), stdout=subprocess.PIPE, encoding="utf-8"
    )
    if result.returncode:
        sys.exit(f"expected exit code 0, got {result.returncode} from: {command}\n{result.stdout}")


def refuse_paths_of_this_machine(recording: Path) -> None:
    """Checks that a recording has no paths of this machine, so that it can be published.

    Raises:
        SystemExit: the recording has the path of this checkout or of the home directory.
    """
    content = recording.read_bytes()
    for private in (ROOT, Path.home()):
        if private != Path("/") and f"{private}/".encode() in content:
            sys.exit(f"expected no path of this machine in {recording.name}, got {private}")


if __name__ == "__main__":
    main()
