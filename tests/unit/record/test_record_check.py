"""``record --check`` checks a recording at its end, if there is time for that."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.check import judgement
from acp_proxy.record.record_check import report_findings
from tests.support.example_checker import text_form_of
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_wrong_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`record --check` prints a line for each broken rule."""
    path = tmp_path / "it's one.jsonl"
    path.write_bytes(b"".join(text_form_of(['-> {"jsonrpc": "2.0", "id": 1}'])))
    report_findings(path, time.monotonic() + 60)
    lines = capfd.readouterr().err.splitlines()
    assert any(line.startswith("acp-proxy: ✗ rpc.no-result-or-error by the") for line in lines)
    assert lines[-1].startswith("acp-proxy: `acp-proxy check '")
    assert lines[-1].endswith("one.jsonl'` shows everything")


def test_a_check_that_takes_too_long_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """If `record --check` takes too long, it stops and prints the command that checks later."""
    path, release = record_conversation(tmp_path / "x.db"), threading.Event()
    monkeypatch.setattr(judgement, "check_whole", lambda _: release.wait(60))
    report_findings(path, time.monotonic() + 0.05)
    release.set()
    assert capfd.readouterr().err == (
        f"acp-proxy: there was no time to check the recording; `acp-proxy check {path}` does\n"
    )


@pytest.mark.parametrize("suffix", ["", ".log"])
def test_what_cannot_be_checked_names_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], suffix: str
) -> None:
    """If `record --check` cannot read the recording, it prints the command that checks it."""
    path = tmp_path / "a b.db"
    path.with_name(f"a b.db{suffix}").write_bytes(b"nothing")
    report_findings(path, time.monotonic() + 60)
    assert capfd.readouterr().err == (
        f"acp-proxy: there was no time to check the recording; `acp-proxy check '{path}'` does\n"
    )
