"""In CI a skipped test fails, except for a few reasons."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest, sys

@pytest.mark.skipif(True, reason="expected jq")
def test_good(): ...

@pytest.mark.skipif(True, reason="expected make")
def test_bad(): ...

def test_inside():
    pytest.skip("expected /proc")

@pytest.fixture
def missing():
    pytest.skip("npm install failed: no network")

def test_fixture(missing): ...

@pytest.mark.xfail(reason="known")
def test_known(): assert False

def test_runs(): ...
"""
MODULE = 'import pytest; pytest.importorskip("no_such_module")'


@pytest.mark.parametrize("is_ci", [True, False], ids=["in CI", "at home"])
def test_a_skipped_test_fails_in_ci(tmp_path: Path, is_ci: bool) -> None:
    """In CI, a test that is skipped for no accepted reason fails; elsewhere it is skipped."""
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text(MODULE)
    environment = {k: v for k, v in os.environ.items() if k != "CI"}
    environment |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | (
        {"CI": "true"} if is_ci else {}
    )
    words = ["-p", "tests.conftest", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, *words, tmp_path],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    counts = result.stdout.splitlines()[-1].partition(" in ")[0]
    if not is_ci:
        assert counts == "1 passed, 5 skipped, 1 xfailed"
    elif sys.platform == "linux":
        assert counts == "1 failed, 1 passed, 1 skipped, 1 xfailed, 3 errors"
    else:
        assert counts == "1 passed, 2 skipped, 1 xfailed, 3 errors"
    assert ("skipped in CI, where everything should run: expected make" in result.stdout) == is_ci
    install = "1 test was skipped for what this machine lacks: apt-get install jq"
    if not is_ci:
        install = "2 tests were skipped for what this machine lacks: apt-get install jq make"
    assert install in result.stdout.splitlines()
