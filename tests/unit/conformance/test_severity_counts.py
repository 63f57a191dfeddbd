"""A list of recordings says how many rules each breaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from acp_proxy.capture.log_format import TO_CLIENT
from acp_proxy.conformance.severity_counts import counts_of
from tests.commands import run
from tests.judged import text_form_of
from tests.log_writer import LogWriter, record_conversation

if TYPE_CHECKING:
    from pathlib import Path


def test_findings_are_counted_by_severity(tmp_path: Path) -> None:
    """What cannot be read has none."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(text_form_of(["<- | a log line", "<- | another"])))
    assert counts_of(path) == {"error": 2, "warning": 0, "info": 0}
    assert counts_of(tmp_path / "none.db") is None


def test_a_list_has_them_if_it_is_asked_to(tmp_path: Path) -> None:
    """In a column of its own; else nothing is checked."""
    path = record_conversation(tmp_path / "x.db")
    (tmp_path / "bad.db").write_bytes(b"nothing")
    found = run("list", "--check", tmp_path)
    assert "BROKEN RULES" in found.stdout
    assert "BROKEN RULES" not in run("list", tmp_path).stdout
    entries = [
        json.loads(line)
        for line in run("list", "--check", "--json", tmp_path).stdout_bytes.splitlines()
    ]
    assert [entry["broken_rules"] for entry in entries] == [counts_of(path), None]
    (entry, _) = map(json.loads, run("list", "--json", tmp_path).stdout.splitlines())
    assert entry["broken_rules"] is None


def test_a_row_that_was_checked_begins_with_what_a_check_found(tmp_path: Path) -> None:
    """A broken rule marks it as `show` does, though nothing is wrong with the conversation."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(TO_CLIENT, b"a log line\n")
        recorder.end()
    assert run("list", tmp_path).stdout.splitlines()[1].startswith(" ")
    assert run("list", "--check", tmp_path).stdout.splitlines()[1].startswith("✗ ")
