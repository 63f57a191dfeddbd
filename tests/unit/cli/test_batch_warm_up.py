"""What a worker of a batch would do first is done before it is forked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acp_proxy.cli.batch_warm_up import warm_up

ROOT = Path(__file__).parents[3]


def test_the_conversation_is_read_and_checked() -> None:
    """In the dialect that it names; it is no empty one."""
    found = warm_up()
    assert (found.dialect, found.recording.state, found.frames) == ("v1", "complete", 7)


@pytest.mark.parametrize("command", ["verify", "check"])
def test_a_job_imports_nothing(command: str, tmp_path: Path) -> None:
    """Each import would take its time for every recording."""
    script = (
        "import sys; from acp_proxy.batches.job import Job; from acp_proxy.cli import batch_jobs\n"
        "command, recording, agent, new = sys.argv[1:]\n"
        "perform = batch_jobs.prepare(command); before = set(sys.modules)\n"
        "words = (sys.executable, '-S', '-m', agent) if command == 'verify' else ()\n"
        "job = Job('x', recording, command, (), words, 'd', new)\n"
        "print(perform(job).kind, *sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, command, ROOT / "recordings" / "hello.db",
         "tests.agents.plain_agent", tmp_path / "new.db"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    kind, *late = done.stdout.split()
    assert kind == "clean"
    assert not [name for name in late if not name.startswith("encodings.")]
