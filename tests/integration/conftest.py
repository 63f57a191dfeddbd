"""Fixtures of tests with real processes: the installed program, and packages from npm."""

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
    """Returns the console script `acp-proxy` beside the interpreter of the tests."""
    script = Path(sys.executable).with_name("acp-proxy")
    assert script.exists(), f"expected {script}: install the package first"
    return script


@pytest.fixture
def record(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> Iterator[Recorder]:
    """Starts recorders, to which the test is the client; fails if a process remains.

    A recorder without a wrapper is forked from a process that has already imported everything.
    """
    with Recorder(acp_proxy, tmp_path, fork_server) as recorder:
        yield recorder


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Starts ``acp-proxy`` by a fork of a process that has already imported it."""
    with plain_signals():
        server = ForkServer()
    with server:
        yield server


@pytest.fixture
def installed(acp_proxy: Path, tmp_path: Path) -> Iterator[Recorder]:
    """Starts recorders as the fixture `record` does, but with the installed program."""
    with Recorder(acp_proxy, tmp_path) as recorder:
        yield recorder


@pytest.fixture
def lock_away() -> Iterator[Callable[[Path], None]]:
    """Makes a directory and its files unwritable until the test ends, even for root."""
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
    """Returns the ``node_modules`` with the packages of the lock in ``npm``."""
    try:
        return installed_packages()
    except MissingPackages as e:
        pytest.skip(str(e))
