"""Commands on many recordings, with real processes: every kind of failure, shards, and kills."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from tests.integration.processes import needs_proc
from tests.integration.verifying import PLAIN_AGENT, RECORDINGS, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fork_server import ForkServer

pytestmark = needs_proc


def test_a_directory_is_verified(tmp_path: Path, fork_server: ForkServer) -> None:
    """There is a line for each recording that is not clean, and a verdict for each in the file."""
    recs = tmp_path / "recs"
    recs.mkdir()
    for name in ("hello", "hang"):
        shutil.copy(RECORDINGS / f"{name}.db", recs)
    (recs / "bad.db").write_bytes(b"x")
    results = tmp_path / "results.jsonl"
    env = {"ACP_PROXY_RECORDINGS": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    words: list[str | Path] = ["verify", "recs", "--results", results, "--", *PLAIN_AGENT]
    done = fork_server.run(words, b"", env=env, cwd=tmp_path)
    *lines, summary = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (2, b"")
    assert sorted(line.split("  ")[0] for line in lines) == ["differs", "unreadable"]
    assert summary.startswith("3 recordings: 1 clean, 1 differ, 1 unreadable; ")
    header, *verdicts = map(json.loads, results.read_bytes().splitlines())
    assert header["recordings"] == 3
    kinds = {one["recording"]: one["kind"] for one in verdicts}
    assert kinds == {
        "recs/bad.db": "unreadable", "recs/hang.db": "differs", "recs/hello.db": "clean",
    }  # fmt: skip
    again = fork_server.run(words, b"", env=env, cwd=tmp_path)
    assert again.returncode == 2
    assert again.stdout.startswith(b"3 recordings (3 of them before): 1 clean, ")
