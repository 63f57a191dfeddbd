"""The report of a check has counts and a short form."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.check.catalogue import rules
from acp_proxy.check.check_report import counts_of, reported, short_text
from acp_proxy.check.judgement import check_whole
from acp_proxy.recording.log_format import TO_CLIENT
from tests.support.command_line import run
from tests.support.example_checker import before, reader_of, text_form_of
from tests.support.log_writer import LogWriter, record_conversation

if TYPE_CHECKING:
    from pathlib import Path

NO_RESULT = '<- {"jsonrpc": "2.0", "id": 1}'


def short(lines: list[str], most: int = 18) -> list[str]:
    """Checks a conversation, and returns the lines of the short report."""
    with reader_of(lines) as reader:
        return short_text(reported(reader, check_whole(reader), rules()), most)


def test_each_rule_is_a_line() -> None:
    """The short report of `check` has one line for each broken rule."""
    total, *lines = short([NO_RESULT, NO_RESULT, '-> m {"a": 1}'])
    assert total.startswith(f"{sum(line.startswith('✗') for line in lines) + 1} errors")
    assert "looked at 3 frames" in total
    assert any(
        line.startswith("✗ rpc.no-result-or-error by the agent, 2 times: #1: ") for line in lines
    )
    marks = [line[0] for line in lines]
    assert marks == sorted(marks, key="✗!-".index)


@pytest.mark.parametrize("most", [0, 1])
def test_only_the_first_rules_are_listed(most: int) -> None:
    """The short report of `check` lists the first broken rules and counts the rest."""
    _, *lines = short([NO_RESULT, '-> m {"a": 1}'], most)
    assert len(lines) == most + 1
    assert lines[-1].startswith("and ")


def test_a_clean_recording_is_one_line() -> None:
    """The short report of `check` on a clean recording is one line that counts rules and frames."""
    (line,) = short([*before("a v1 handshake"), "== client leaves"])
    assert line.startswith("nothing is wrong: ")
    assert line.endswith(" of v1 looked at 2 frames")


def test_findings_are_counted_by_severity(tmp_path: Path) -> None:
    """`list --check` counts the errors, warnings and hints in a recording, if it is readable."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"".join(text_form_of(["<- | a log line", "<- | another"])))
    assert counts_of(path) == {"error": 2, "warning": 0, "info": 0}
    assert counts_of(tmp_path / "none.db") is None


def test_a_list_has_broken_rules_only_if_asked(tmp_path: Path) -> None:
    """`list` has a column for broken rules only with `--check`."""
    path = record_conversation(tmp_path / "x.db")
    (tmp_path / "bad.db").write_bytes(b"nothing")
    result = run("list", "--check", tmp_path)
    assert "BROKEN RULES" in result.stdout
    assert "BROKEN RULES" not in run("list", tmp_path).stdout
    entries = [
        json.loads(line)
        for line in run("list", "--check", "--json", tmp_path).stdout_bytes.splitlines()
    ]
    assert [entry["broken_rules"] for entry in entries] == [counts_of(path), None]
    (entry, _) = map(json.loads, run("list", "--json", tmp_path).stdout.splitlines())
    assert entry["broken_rules"] is None


def test_a_row_that_was_checked_begins_with_what_a_check_found(tmp_path: Path) -> None:
    """`list --check` puts a cross before a recording that breaks a rule."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(TO_CLIENT, b"a log line\n")
        recorder.end()
    assert run("list", tmp_path).stdout.splitlines()[1].startswith(" ")
    assert run("list", "--check", tmp_path).stdout.splitlines()[1].startswith("✗ ")
