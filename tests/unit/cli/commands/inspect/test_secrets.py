"""``inspect secrets`` lists what is masked, and is a gate for CI."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.commands import complaint, run
from tests.log_writer import record_conversation
from tests.planted import SECRETS, record_planted

if TYPE_CHECKING:
    from pathlib import Path


def test_values_are_listed_with_their_places(tmp_path: Path) -> None:
    """Each has its marker and the numbers of its frames; no secret is printed."""
    path = record_planted(tmp_path / "x.db")
    shown = run("inspect", "secrets", path)
    assert shown.exit_code == 0
    assert "in the file itself" in shown.stdout
    assert "#4 to-agent /params/mcpServers/*/env/*/value" in shown.stdout
    lines = [
        json.loads(line)
        for line in run("inspect", "secrets", "--json", path).stdout.split("\n")
        if line
    ]
    assert {line["kind"] for line in lines} >= {"env", "key"}
    assert not any(secret in shown.output + json.dumps(lines) for secret in SECRETS)


def test_the_gate_fails_for_a_file_with_secrets(tmp_path: Path) -> None:
    """It names the file and what to do; files without secrets pass, in either form."""
    bad, good = record_planted(tmp_path / "bad.db"), record_conversation(tmp_path / "good.db")
    masked = tmp_path / "masked.jsonl"
    assert run("inspect", "redact", bad, "-o", masked).exit_code == 0
    found = run("inspect", "secrets", "--check", bad, good, masked)
    assert found.exit_code == 1
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert f"inspect redact {bad} -o FILE" in found.stderr
    assert run("inspect", "secrets", "--check", good, masked).exit_code == 0
    assert run("inspect", "secrets", good).stdout == "nothing is masked\n"


def test_what_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    """A file that is no recording makes the gate fail with 2."""
    (tmp_path / "x.db").write_bytes(b"nothing of ours")
    assert "x.db" in complaint("inspect", "secrets", "--check", tmp_path / "x.db")
