"""Fixtures of tests with real processes: the installed program and packages from npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import Recorder, plain_signals
from tests.support.fork_server import ForkServer
from tests.support.npm_packages import MissingPackages, installed_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def acp_proxy() -> Path:
    """The console script, next to the interpreter that runs the tests."""
    script = Path(sys.executable).with_name("acp-proxy")
    assert script.exists(), f"expected {script}: install the package first"
    return script


@pytest.fixture
def record(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> Iterator[Recorder]:
    """Starts proxies whose client is the test; fails if one leaves a process behind.

    A proxy is a fork of a process that has imported everything, unless it needs a wrapper.
    """
    with Recorder(acp_proxy, tmp_path, fork_server) as recorder:
        yield recorder


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Starts ``acp-proxy`` without importing it each time."""
    with plain_signals():
        server = ForkServer()
    with server:
        yield server


@pytest.fixture
def installed(acp_proxy: Path, tmp_path: Path) -> Iterator[Recorder]:
    """Starts proxies as `record` does, by the installed program."""
    with Recorder(acp_proxy, tmp_path) as recorder:
        yield recorder


@pytest.fixture
def lock_away() -> Iterator[Callable[[Path], None]]:
    """Makes a directory and its files unwritable until the test is over, also for root."""
    locked: list[Path] = []

    def lock(directory: Path) -> None:
        if os.geteuid() == 0:  # whom no permission holds
            if shutil.which("chattr") is None:
                pytest.skip("chattr failed: it is not there")
            result = subprocess.run(["chattr", "-R", "+i", directory], capture_output=True)
            if result.returncode != 0:
                pytest.skip(f"chattr failed: {result.stderr.decode(errors='replace')}")
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
    """The ``node_modules`` that the lock in ``npm`` names."""
    try:
        return installed_packages()
    except MissingPackages as e:
        pytest.skip(str(e))
