"""``secrets`` lists masked values, and ``--check`` is a check for CI."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from tests.support.command_line import complaint, run
from tests.support.log_writer import record_conversation
from tests.support.planted_secrets import SECRETS, record_planted

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_values_are_listed_with_their_places(tmp_path: Path) -> None:
    """`secrets` lists each secret of a recording with its marker and its frames."""
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
    """`secrets --check` exits with 1 if a recording has a secret, and with 0 if all are masked."""
    bad, good = record_planted(tmp_path / "bad.db"), record_conversation(tmp_path / "good.db")
    masked = tmp_path / "masked.jsonl"
    assert run("inspect", "export", bad, "-o", masked).exit_code == 0
    result = run("inspect", "secrets", "--check", bad, good, masked)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert f"export {bad} -o FILE --level secrets" in result.stderr
    assert run("inspect", "secrets", "--check", good, masked).exit_code == 0
    assert run("inspect", "secrets", good).stdout == "no secret was found, and none is masked\n"
    assert run("inspect", "secrets", masked).stdout.endswith("the file itself holds no secret\n")


def test_the_gate_finds_what_others_may_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`secrets --check` fails because of an unmasked secret even if `--unredacted` is given."""
    bad = record_planted(tmp_path / "bad.db")
    assert run("inspect", "--unredacted", "secrets", "--check", bad).exit_code == 1
    text = run("inspect", "export", "--unredacted", bad).stdout_bytes
    monkeypatch.setattr("acp_proxy.cli.opening.read_stdin", lambda: io.BytesIO(text))
    result = run("inspect", "secrets", "--check", "-")
    assert result.exit_code == 1
    assert "export - -o FILE" in result.stderr


def test_what_cannot_be_read_is_no_pass(tmp_path: Path) -> None:
    """If `secrets --check` cannot read a recording, it exits with 2 in place of a success."""
    (tmp_path / "x.db").write_bytes(b"nothing of ours")
    assert "x.db" in complaint("inspect", "secrets", "--check", tmp_path / "x.db")
    bad = record_planted(tmp_path / "bad.db")
    result = run("inspect", "secrets", "--check", tmp_path / "no.db", tmp_path / "x.db", bad)
    assert result.exit_code == 2
    missing, unreadable, bad_line = result.stderr.splitlines()
    assert "no.db" in missing
    assert "x.db" in unreadable
    assert "bad.db holds" in bad_line


def test_a_private_recording_says_so(tmp_path: Path) -> None:
    """For a copy by `export --level private`, `secrets` says that file contents are masked, too."""
    path, copy = record_planted(tmp_path / "x.db"), tmp_path / "copy.db"
    run("inspect", "export", path, "-o", copy, "--level", "private")
    assert run("inspect", "secrets", copy).stdout.endswith("files are masked as well\n")
