"""Tests an installed acp-proxy with recordings, without starting agents.

``python tests/tools/try_installed.py REC...`` inspects each recording, and replays the first one to
its recorded client. It uses the start script of the Python that runs it, and imports only the
standard library and acp-proxy.
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
    """Runs the installed acp-proxy on recordings.

    Args:
        program: the start script of acp-proxy.
        directory: the directory for files of the commands.
    """

    def __init__(self, program: str, directory: Path) -> None:
        self._program, self._directory = program, directory
        self._environ = {**os.environ, "ACP_PROXY_RECORDINGS": str(directory)}

    def run(self, *words: str | Path, said: bytes = b"", code: int = 0) -> bytes:
        """Runs a command, which must exit with `code`, and returns its output."""
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
        """Runs commands of `inspect`, and compares the recording with its exported text."""
        for words in INSPECTIONS:
            self.run(*words.split(), recording)
        text = self._directory / f"{recording.stem}.jsonl"
        self.run("export", recording, "-o", text)
        self.run("diff", recording, text)

    def replay(self, recording: Path) -> None:
        """Replays a recording to its client, which sends all messages at once."""
        lines = {"to-agent": b"", "to-client": b"", "stderr": b""}
        with acp_proxy.open(recording) as opened:
            for frame in opened.frames():
                lines[frame.stream] += frame.raw + b"\n"
        client, agent = lines["to-agent"], lines["to-client"]
        if self.run("replay", recording, said=client) != agent:
            raise SystemExit(f"{recording}: the replay sent something else than was recorded")


def main() -> None:
    """Tests the recordings that the arguments name."""
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
