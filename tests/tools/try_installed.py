"""Tries an installed acp-proxy without starting agents.

``python tests/tools/try_installed.py REC...`` is its command.
Each recording is inspected, and the first one is replayed to its recorded client, with the start
script of the Python that runs this. The standard library and acp-proxy are all that it needs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import acp_proxy

INSPECTIONS = (
    "show", "log", "stats", "transcript", "audit", "check --fail-on never", "report", "bundle",
    "search e",
)  # fmt: skip


class Trial:
    """Runs the installed program on recordings.

    Args:
        program: the start script.
        directory: what is written goes there.
    """

    def __init__(self, program: str, directory: Path) -> None:
        self._program, self._directory = program, directory
        self._environ = {**os.environ, "ACP_PROXY_RECORDINGS": str(directory)}

    def run(self, *words: str | Path, said: bytes = b"", code: int = 0) -> bytes:
        """Runs a command, which has to end with `code`, and returns its output."""
        result = subprocess.run(
            [self._program, *map(str, words)],
            input=said,
            capture_output=True,
            cwd=self._directory,
            env=self._environ,
            check=False,
            timeout=120,
        )
        if result.returncode != code or b"Traceback" in result.stderr:
            raise SystemExit(f"{words}: exit code {result.returncode}\n{result.stderr.decode()}")
        return result.stdout

    def inspect(self, recording: Path) -> None:
        """Runs commands of `inspect`; the text form has to be equal."""
        for words in INSPECTIONS:
            self.run(*words.split(), recording)
        text = self._directory / f"{recording.stem}.jsonl"
        self.run("export", recording, "-o", text)
        self.run("diff", recording, text)

    def replay(self, recording: Path) -> None:
        """Plays the recorded client, all of whose messages are there at once."""
        lines = {"to-agent": b"", "to-client": b"", "stderr": b""}
        with acp_proxy.open(recording) as opened:
            for frame in opened.frames():
                lines[frame.stream] += frame.raw + b"\n"
        client, agent = lines["to-agent"], lines["to-client"]
        if self.run("replay", recording, said=client) != agent:
            raise SystemExit(f"{recording}: the replay sent something else than was recorded")


def main() -> None:
    """Tries the recordings that the command line names."""
    program = shutil.which("acp-proxy", path=sysconfig.get_path("scripts"))
    assert program is not None
    recordings = [Path(word).resolve() for word in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(program, Path(directory))
        sys.stdout.buffer.write(trial.run("--version"))
        trial.replay(recordings[0])
        for recording in recordings:
            trial.inspect(recording)
    sys.stdout.write(f"inspected {len(recordings)}, replayed 1\n")


if __name__ == "__main__":
    main()
