"""Commands print the same about a masked and an unmasked recording, except for markers."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.redaction.markers import MARKER
from tests.support.command_line import run
from tests.support.planted_secrets import ENV, SECRETS, record_planted
from tests.support.shipped_recordings import HEALTHY

ROOT = Path(__file__).parents[2]
RECORDINGS = [*HEALTHY, *sorted((ROOT / "tests" / "data" / "pairs").glob("*.jsonl"))[:4]]
COMMANDS = ("show", "log", "stats", "audit")
_ABOUT_THE_FILE = {"path", "redaction", "masked", "note", "name", "parent", "id"}
_SIZES = {"size", "bytes", "to_agent_bytes", "to_client_bytes", "stderr_bytes"}


def lines(command: str, path: Path, *options: str) -> list[Any]:
    """Returns the JSON that a command prints, without facts about the file of the recording."""
    result = run("inspect", command, path, "--json", *options)
    assert result.exit_code in (0, 1), result.stderr
    return [without(json.loads(line), _ABOUT_THE_FILE) for line in result.stdout.splitlines()]


def without(value: Any, names: set[str]) -> Any:
    """Returns a JSON object without some members; also in its member `recording`."""
    if not isinstance(value, dict):
        return value
    kept = {name: inner for name, inner in value.items() if name not in names}
    return {
        name: without(inner, names) if name == "recording" else inner
        for name, inner in kept.items()
    }


def assert_same(plain: Any, masked: Any, pairs: dict[str, str]) -> None:
    """Asserts that two values differ only in markers, and each marker stands for one text."""
    if isinstance(plain, dict) and isinstance(masked, dict):
        assert [*plain] == [*masked]
        for name, inner in plain.items():
            if name in _SIZES and plain != masked:
                continue
            assert_same(inner, masked[name], pairs)
    elif isinstance(plain, list) and isinstance(masked, list):
        assert len(plain) == len(masked)
        for both in zip(plain, masked, strict=True):
            assert_same(*both, pairs)
    elif isinstance(masked, str) and (markers := MARKER.findall(masked)):
        words = map(re.escape, re.split(r"\[redacted:[a-z]+:[0-9a-f]{8}\]", masked))
        result = re.fullmatch("(.+?)".join(words), plain, re.DOTALL)
        assert result is not None, (plain, masked)
        for marker, value in zip(markers, result.groups(), strict=True):
            assert pairs.setdefault(value, marker[1]) == marker[1]
    elif plain != masked:  # of a secret in pieces, the marker is in the first piece
        assert isinstance(plain, str)
        assert any(plain.removesuffix(masked) in secret for secret in SECRETS), (plain, masked)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_a_conversation_reads_as_before(tmp_path: Path, path: Path) -> None:
    """`show`, `log`, `stats` and `audit` print the same about a recording and its masked copy.

    Only secrets are replaced by markers.
    """
    copy = tmp_path / "masked.db"
    assert run("inspect", "export", path, "-o", copy).exit_code == 0
    pairs: dict[str, str] = {}
    for command in COMMANDS:
        plain, masked = lines(command, path, "--unredacted"), lines(command, copy)
        assert_same(plain, masked, pairs)


def test_planted_secrets_are_all_that_differs(tmp_path: Path) -> None:
    """A masked copy that `export` writes equals the recording, but has markers for secrets."""
    path, copy = record_planted(tmp_path / "x.db"), tmp_path / "masked.db"
    assert run("inspect", "export", path, "-o", copy).exit_code == 0
    pairs: dict[str, str] = {}
    for command in COMMANDS:
        plain, masked = lines(command, path, "--unredacted"), lines(command, copy)
        assert_same(plain, masked, pairs)
    assert ENV in pairs


def test_markers_survive_the_text_form(tmp_path: Path) -> None:
    """A masked recording keeps its markers through `export` to the text form and `import`."""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    text, again = tmp_path / "x.jsonl", tmp_path / "again.db"
    text.write_bytes(run("inspect", "export", path).stdout_bytes)
    assert run("inspect", "import", text, "-o", again).exit_code == 0
    listed = [
        [without(json.loads(line), {"path", "file", "recording"}) for line in result.splitlines()]
        for result in (
            run("inspect", "secrets", item, "--json").stdout for item in (path, text, again)
        )
    ]
    assert listed[0]
    assert listed[0] == listed[1] == listed[2]
    flags = []
    for item in (path, again):
        with sqlite3.connect(item) as connection:
            flags.append(connection.execute("SELECT seq, masked FROM frames").fetchall())
        connection.close()
    assert flags[0] == flags[1]
    assert {masked for _, masked in flags[0]} == {0, 1}
    assert run("inspect", "secrets", again, "--check").exit_code == 0
