"""Compiles the C programs of the benchmark, again only after their sources have changed."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from attrs import frozen

SOURCES = Path(__file__).parent / "c"
CACHE = Path(__file__).parents[1] / ".cache" / "bench"
FLAGS = ("-O2", "-Wall", "-pthread")


class BenchError(Exception):
    """Raised if a measurement failed; the message has the reason."""


@frozen
class Programs:
    """The paths of the compiled programs."""

    folder: Path

    @property
    def driver(self) -> Path:
        """Return the client: it starts a command, talks to its agent, and prints figures."""
        return self.folder / "driver"

    @property
    def agent(self) -> Path:
        """Return the path of the agent; the driver recognizes the agent by this name."""
        return self.folder / "bench-agent"

    @property
    def copier(self) -> Path:
        """Return the fastest possible proxy, which copies bytes and does nothing else."""
        return self.folder / "copier"


def build() -> Programs:
    """Compile the changed programs, and return the paths of all programs.

    Raises:
        BenchError: the C compiler is missing or reports an error.
    """
    sources = sorted(SOURCES.iterdir())
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    programs = Programs(CACHE / state)
    if programs.folder.exists():
        return programs
    compiler = shlex.split(os.environ.get("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        raise BenchError(
            f"the bench needs a C compiler and {compiler[0]} was not found: "
            "install one, such as gcc, or set CC"
        )
    CACHE.mkdir(parents=True, exist_ok=True)
    # Compiled aside, so that a folder that exists is always complete.
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        aside = Programs(Path(folder) / "programs")
        aside.folder.mkdir()
        for program in aside.driver, aside.agent, aside.copier:
            source = SOURCES / f"{program.name.removeprefix('bench-')}.c"
            _compile([*compiler, *FLAGS, "-o", str(program), str(source)])
        aside.folder.rename(programs.folder)
    return programs


def _compile(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise BenchError(f"{shlex.join(command)} failed:\n{result.stderr.strip()}")
