"""What tests with real processes share: the installed program and packages from npm."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fork_server import ForkServer
from tests.integration.processes import Recorder, plain_signals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
INSTALL_TIMEOUT_S = 300

_CPU = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}
NODE = f"node-{sys.platform}-{_CPU.get(platform.machine().lower(), 'x64')}"
"""Node itself, from the same registry: acpx asks for a newer one than most systems have."""
_NPM = Path(__file__).parent / "npm"
_NPM_FILES = ("package.json", "package-lock.json")


@pytest.fixture(scope="session")
def acp_proxy() -> Path:
    """The console script, next to the interpreter that runs the tests."""
    script = Path(sys.executable).with_name("acp-proxy")
    assert script.exists(), f"expected {script}: install the package first"
    return script


@pytest.fixture
def record(acp_proxy: Path, tmp_path: Path) -> Iterator[Recorder]:
    """Starts proxies whose client is the test; fails if one leaves a process behind."""
    with Recorder(acp_proxy, tmp_path) as recorder:
        yield recorder


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Starts ``acp-proxy`` without importing it each time."""
    with plain_signals():
        server = ForkServer()
    with server:
        yield server


@pytest.fixture
def forked(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> Iterator[Recorder]:
    """Starts proxies as `record` does, that have nothing to import."""
    with Recorder(acp_proxy, tmp_path, fork_server) as recorder:
        yield recorder


@pytest.fixture
def lock_away() -> Iterator[Callable[[Path], None]]:
    """Makes a directory and what is in it unwritable until the test is over, for root as well."""
    locked: list[Path] = []

    def lock(directory: Path) -> None:
        if os.geteuid() == 0:  # whom no permission holds
            if shutil.which("chattr") is None:
                pytest.skip("chattr failed: it is not there")
            done = subprocess.run(["chattr", "-R", "+i", directory], capture_output=True)
            if done.returncode != 0:
                pytest.skip(f"chattr failed: {done.stderr.decode(errors='replace')}")
        else:
            for entry in directory.iterdir():
                entry.chmod(0o400)
            directory.chmod(0o500)
        locked.append(directory)

    yield lock
    for directory in locked:
        if os.geteuid() == 0:
            subprocess.run(["chattr", "-R", "-i", directory], check=True)
        else:
            directory.chmod(0o700)


@pytest.fixture(scope="session")
def npm_packages() -> Path:
    """The ``node_modules`` that the lock in ``npm`` names, installed once and kept in the cache."""
    pinned = b"".join((_NPM / name).read_bytes() for name in _NPM_FILES)
    target = ROOT / ".cache" / f"npm-{hashlib.sha256(pinned).hexdigest()[:12]}"
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("expected node and npm on the PATH")
    if not target.exists():
        _install(target)
    return target / "node_modules"


def _install(target: Path) -> None:
    """Installs beside `target` and moves the result there, so that it is never half there."""
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
            pytest.skip(f"npm install failed: {e.stderr.decode(errors='replace')[:300]}")
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm install took longer than {INSTALL_TIMEOUT_S} seconds")
        _check_installed(fresh)
        try:
            fresh.rename(target)
        except OSError:
            if not target.exists():  # otherwise another run was quicker, which is as good
                raise


def _check_installed(directory: Path) -> None:
    """Makes sure that npm has installed what the lock names, and nothing else."""
    installed = json.loads((directory / "node_modules/.package-lock.json").read_text())["packages"]
    locked = json.loads((_NPM / "package-lock.json").read_text())["packages"]
    hashes = {place: package["integrity"] for place, package in installed.items()}
    assert hashes.items() <= {p: found.get("integrity") for p, found in locked.items()}.items()
