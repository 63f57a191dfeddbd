"""Checks the scripts of the report: ``python -m tests.tools.front_end_checks types`` or ``style``.

The programs for both checks come from npm. Without Node, nothing is checked, and a message says so.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.npm_packages import NODE, ROOT, MissingPackages, installed_packages

if TYPE_CHECKING:
    from pathlib import Path

CHECKED = ROOT / "tests/front_end"
FRONT_END = ROOT / "acp_proxy/report/front_end"


def node(packages: Path) -> str:
    """Returns Node's program from the npm packages; ``node`` on systems without this package."""
    program = packages / NODE / "bin/node"
    return str(program) if program.exists() else "node"


def types_command(packages: Path, project: Path = CHECKED / "tsconfig.json") -> list[str | Path]:
    """Returns the command that checks the types in the comments of all scripts."""
    script = packages / "typescript/bin/tsc"
    return [node(packages), script, "--project", project, "--pretty", "false"]


def style_command(packages: Path, *words: str) -> list[str | Path]:
    """Returns the command that checks the rules for scripts; it must run in `ROOT`."""
    script = packages / "eslint/bin/eslint.js"
    config = ["--config", CHECKED / "eslint.config.mjs", "--max-warnings", "0"]
    return [node(packages), script, *config, *(words or (FRONT_END, CHECKED))]


def _main(what: str) -> int:
    try:
        packages = installed_packages()
    except MissingPackages as e:
        sys.stderr.write(f"the scripts of the report are not checked: {e}\n")
        return 0
    command = types_command(packages) if what == "types" else style_command(packages)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1]))
