"""Installs the npm packages that the tests need, in the versions that ``integration/npm`` locks.

`make test` runs this module while it sets up Python.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
INSTALL_TIMEOUT_S = 300

_CPU = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
NODE = f"node-{sys.platform}-{_CPU.get(platform.machine().lower(), 'x64')}"
"""The npm package of Node itself: acpx needs a newer Node than most systems have."""
_NPM = Path(__file__).parents[1] / "integration/npm"
_NPM_FILES = ("package.json", "package-lock.json")


class MissingPackages(Exception):
    """Raised when the packages cannot be installed; the message says why."""


def installed_packages() -> Path:
    """Returns the ``node_modules`` of the lock, from a cache or newly installed.

    Raises:
        MissingPackages: there is no Node, or npm fails.
    """
    pinned = b"".join((_NPM / name).read_bytes() for name in _NPM_FILES)
    target = ROOT / ".cache" / f"npm-{hashlib.sha256(pinned).hexdigest()[:12]}"
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise MissingPackages("expected node and npm on the PATH")
    if not target.exists():
        _install(target)
    return target / "node_modules"


def _install(target: Path) -> None:
    """Installs the packages in a temporary directory, and moves them to `target` when complete."""
    target.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="npm-", dir=target.parent) as directory:
        fresh = Path(directory, "fresh")
        fresh.mkdir()
        for name in _NPM_FILES:
            shutil.copy(_NPM / name, fresh)
        # Not `npm ci`, which asks for packages that were never published, for other systems.
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        try:
            subprocess.run(
                command, cwd=fresh, check=True, capture_output=True, timeout=INSTALL_TIMEOUT_S
            )
        except subprocess.CalledProcessError as e:
            reason = f"npm install failed: {e.stderr.decode(errors='replace')[:300]}"
            raise MissingPackages(reason) from None
        except subprocess.TimeoutExpired:
            reason = f"npm install took longer than {INSTALL_TIMEOUT_S} seconds"
            raise MissingPackages(reason) from None
        _check_installed(fresh)
        try:
            fresh.rename(target)
        except OSError:
            if not target.exists():  # otherwise another run was quicker, which is as good
                raise


def _check_installed(directory: Path) -> None:
    """Asserts that npm has installed only packages of the lock, with the same hashes."""
    installed = json.loads((directory / "node_modules/.package-lock.json").read_text())["packages"]
    locked = json.loads((_NPM / "package-lock.json").read_text())["packages"]
    hashes = {place: package["integrity"] for place, package in installed.items()}
    assert hashes.items() <= {p: results.get("integrity") for p, results in locked.items()}.items()


if __name__ == "__main__":  # a test that needs the packages says why they are missing
    with contextlib.suppress(MissingPackages):
        installed_packages()
