"""If Ctrl-C interrupts a command at any moment, it exits with 130 and prints nothing."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.processes import DEADLINE_S, plain_signals

ROOT = Path(__file__).parents[2]
HELLO = str(ROOT / "recordings" / "hello.db")
INTERRUPTED = """
import os, runpy, signal, sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == moment:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
moment, entry, *sys.argv = sys.argv[1:]
sys.meta_path.insert(0, Interrupt())
if entry == "module":
    runpy.run_module("acp_proxy", run_name="__main__")
else:
    from acp_proxy.entry import main
    main()
"""
"""A script that runs ``acp-proxy`` and sends SIGINT before a given module is imported."""
VERIFY = ("verify", HELLO, "--", "true")


def run(moment: str, *arguments: str, entry: str, home: Path) -> tuple[int, str]:
    """Runs a command that is interrupted at a moment; returns its exit code and output."""
    script = [sys.executable, "-P", "-c", INTERRUPTED, moment, entry, "acp-proxy", *arguments]
    environment = {"PYTHONPATH": str(ROOT), "ACP_PROXY_RECORDINGS": str(home), "TMPDIR": str(home)}
    with plain_signals():
        result = subprocess.run(
            script,
            check=False,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )
    return result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("moment", "arguments"),
    [
        ("acp_proxy.cli.main", VERIFY),
        ("click", VERIFY),
        ("acp_proxy.store.reader", VERIFY),
        ("acp_proxy.playback.drivers.verifier", VERIFY),
        ("trio", VERIFY),
        ("acp_proxy.cli.store.list_", ()),
        ("acp_proxy.cli.explain.log", ("inspect", "log", HELLO)),
        ("acp_proxy.cli.record", ("record", "--no-such", "--", "true")),
    ],
)
def test_an_interrupt_prints_no_traceback(
    tmp_path: Path, moment: str, arguments: tuple[str, ...]
) -> None:
    """If Ctrl-C interrupts the start of a command such as `verify`, no traceback is printed.

    The exit code is 130.
    """
    assert run(moment, *arguments, entry="script", home=tmp_path) == (130, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("moment", ["acp_proxy.entry", "click"])
def test_python_m_is_interrupted_silently_as_well(tmp_path: Path, moment: str) -> None:
    """Ctrl-C ends `python -m acp_proxy` silently."""
    assert run(moment, *VERIFY, entry="module", home=tmp_path) == (130, "")


def test_importing_does_not_change_ctrl_c() -> None:
    """A program that imports `acp_proxy` keeps its own handler for Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        importlib.reload(importlib.import_module("acp_proxy.__main__"))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_ignored_interrupt_stays_ignored(tmp_path: Path) -> None:
    """If SIGINT is ignored when `acp-proxy` starts, Ctrl-C does not end `acp-proxy`."""
    script = [sys.executable, "-P", "-c", INTERRUPTED, "click", "script", "acp-proxy", "--version"]
    result = subprocess.run(
        script,
        check=False,
        env={"PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) and None,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("acp-proxy")
