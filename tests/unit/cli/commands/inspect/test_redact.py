"""``inspect redact`` makes a copy that holds no secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.commands import complaint, run
from tests.log_writer import LogWriter, notification
from tests.planted import KEY, SECRETS, record_planted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["copy.db", "copy.jsonl"])
@pytest.mark.parametrize("level", ["secrets", "private"])
def test_the_copy_holds_no_secret(tmp_path: Path, name: str, level: str) -> None:
    """The copy says that it is masked, and only its owner can read it."""
    path, copy = record_planted(tmp_path / "x.db", large=3 << 20), tmp_path / name
    result = run("inspect", "redact", path, "-o", copy, "--level", level)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{copy}: ")
    data = copy.read_bytes()
    assert not any(secret.encode() in data for secret in (*SECRETS, KEY[14:]))
    assert copy.stat().st_mode & 0o777 == 0o600
    with RecordingReader(copy) as reader:
        assert reader.is_masked
        assert reader.recording.redaction == level
        assert any(row["masked"] for row in reader.frames())
    assert (b"as you see" in data) == (level == "secrets")


def test_markers_stay_and_more_can_be_masked(tmp_path: Path) -> None:
    """A copy of a masked recording keeps its markers; pointers and patterns add to them."""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    run("inspect", "redact", path, "-o", one)
    markers = {word for word in one.read_text().split('"') if word.startswith("[redacted:env")}
    run("inspect", "redact", one, "-o", two, "--path", "/params/cwd", "--pattern", "as (you) see")
    text = two.read_text()
    assert all(marker in text for marker in markers)
    assert "/srv/app" not in text
    assert "as [redacted:secret:" in text


def test_a_copy_is_always_masked(tmp_path: Path) -> None:
    """The option `--unredacted` of the group applies only to output."""
    path, copy = record_planted(tmp_path / "x.db"), tmp_path / "copy.db"
    made = run("inspect", "--unredacted", "redact", path, "-o", copy)
    assert made.exit_code == 0
    assert " secrets are masked in " in made.stdout
    assert not any(secret.encode() in copy.read_bytes() for secret in (*SECRETS, KEY[14:]))


def test_nothing_is_replaced(tmp_path: Path) -> None:
    """A file that is there stays, and names of other forms are refused."""
    path = record_planted(tmp_path / "x.db")
    before = path.read_bytes()
    assert "exists" in complaint("inspect", "redact", path, "-o", path)
    for name in ("copy", "copy.txt", ".db"):
        words = complaint("inspect", "redact", path, "-o", tmp_path / name)
        assert "expected a name that ends in .db or .jsonl" in words
    assert "not a JSON pointer" in complaint(
        "inspect", "redact", path, "-o", tmp_path / "y.db", "--path", "params"
    )
    assert "bad pattern" in complaint(
        "inspect", "redact", path, "-o", tmp_path / "y.db", "--pattern", "("
    )
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_pattern_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is bad use, and no copy is left."""
    monkeypatch.setattr("acp_proxy.cli.time_limit._TICK_S", 0.02)
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(notification("x", y="a" * 40 + "!"))
        recorder.finish()
    words = complaint(
        "inspect", "redact", tmp_path / "x.db", "-o", tmp_path / "y.db", "--pattern", "(a+)+$"
    )
    assert "given up at #2" in words
    assert not (tmp_path / "y.db").exists()
