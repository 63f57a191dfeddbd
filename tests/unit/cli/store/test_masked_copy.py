"""``export`` makes copies of recordings, in which secrets can be masked."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.schema import VERSION
from tests.support.command_line import complaint, run
from tests.support.indexed_rows import stored_views
from tests.support.log_writer import LogWriter, handshake, notification, record_conversation
from tests.support.planted_secrets import KEY, SECRETS, record_planted
from tests.support.text_recordings import rows_of_recording, text_of

OLD = Path(__file__).parents[3] / "data/format-1.db"


@pytest.mark.parametrize("name", ["copy.db", "copy.jsonl"])
@pytest.mark.parametrize("level", ["secrets", "private"])
def test_the_copy_holds_no_secret(tmp_path: Path, name: str, level: str) -> None:
    """A copy that `export --level` made contains no secret."""
    path, copy = record_planted(tmp_path / "x.db", large=3 << 20), tmp_path / name
    result = run("inspect", "export", path, "-o", copy, "--level", level)
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
    """A second `export` keeps the markers of a masked copy, and can mask more texts."""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    first, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    run("inspect", "export", path, "-o", first)
    markers = {word for word in first.read_text().split('"') if word.startswith("[redacted:env")}
    run("inspect", "export", first, "-o", two, "--path", "/params/cwd", "--pattern", "as (you) see")
    text = two.read_text()
    assert all(marker in text for marker in markers)
    assert "/srv/app" not in text
    assert "as [redacted:secret:" in text


def test_the_secrets_are_counted_if_masking_was_asked_for(tmp_path: Path) -> None:
    """`export --level` prints how many secrets it has masked."""
    path = record_planted(tmp_path / "x.db")
    asked = run("inspect", "export", path, "-o", tmp_path / "a.db", "--level", "secrets")
    assert " secrets are masked in " in asked.stdout
    plain = run("inspect", "export", path, "-o", tmp_path / "b.db")
    assert plain.stdout == ""
    assert "--unredacted shows them" in plain.stderr
    for copy in ("a.db", "b.db"):
        assert not any(secret.encode() in (tmp_path / copy).read_bytes() for secret in SECRETS)
    run("inspect", "export", path, "-o", tmp_path / "c.db", "--unredacted")
    assert rows_of_recording(tmp_path / "c.db") == rows_of_recording(path)


def test_a_part_can_be_a_database(tmp_path: Path) -> None:
    """If `export` makes a database of some frames, the frames keep their numbers."""
    path = record_conversation(tmp_path / "x.db")
    run("inspect", "export", path, "kind:request", "-o", tmp_path / "y.db")
    with RecordingReader(path) as whole, RecordingReader(tmp_path / "y.db") as part:
        wanted = [row["seq"] for row in whole.frames() if row["kind"] == "request"]
        assert [row["seq"] for row in part.frames()] == wanted


def test_a_recording_of_format_1_is_read_and_exported(tmp_path: Path) -> None:
    """`show` and `export` still accept a recording of the first version of acp-proxy."""
    copy = tmp_path / "y.db"
    assert run("inspect", "show", OLD).exit_code == 0
    assert run("inspect", "export", OLD, "-o", copy).exit_code == 0
    assert text_of(copy) == text_of(OLD)
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        views = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        assert {name for (name,) in views} >= stored_views()
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (3,)


def test_nothing_is_replaced_unless_it_is_asked_for(tmp_path: Path) -> None:
    """`export -o` replaces a file only with `--force`, and never one that is not a plain file."""
    path, copy = record_planted(tmp_path / "x.db"), tmp_path / "y.db"
    before = path.read_bytes()
    export = ("inspect", "export", path, "-o")
    exists = f"{path} exists; expected the path of a new file, or --force to replace it"
    assert complaint(*export, path) == exists
    (tmp_path / "d.db").mkdir()
    assert "not a plain file" in complaint(*export, tmp_path / "d.db", "--force")
    (tmp_path / "d.db").rmdir()
    (tmp_path / "y.db-wal").touch()
    for more in ([], ["--force"]):
        assert "y.db-wal exists" in complaint(*export, copy, *more)
    (tmp_path / "y.db-wal").unlink()
    assert "cannot write" in complaint(*export, tmp_path / "no" / "y.db", "--level=secrets")
    assert "not a JSON pointer" in complaint(*export, copy, "--path", "params")
    assert "bad pattern" in complaint(*export, copy, "--pattern", "(")
    assert "cannot be combined with --level" in complaint(
        *export, copy, "--level", "private", "--unredacted"
    )
    assert "got --format raw" in complaint(*export, copy, "--level", "private", "--format", "raw")
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
    copy.write_text("old")
    assert run(*export, copy, "--force").exit_code == 0
    assert sorted(tmp_path.iterdir()) == [path, copy]
    assert text_of(copy)


def test_a_running_recording_is_no_copy_to_share(tmp_path: Path) -> None:
    """`export` refuses to copy a running recording."""
    with LogWriter(tmp_path / "live.db") as recorder:
        handshake(recorder)
        recorder.index()
        for name, *more in (("y.db",), ("y.jsonl", "--level", "private")):
            words = complaint("inspect", "export", recorder.path, "-o", tmp_path / name, *more)
            assert "still being recorded" in words
    assert not [*tmp_path.glob("y.*")]


def test_a_pattern_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a pattern of `export --pattern` takes too long, `export` fails and leaves no copy."""
    monkeypatch.setattr("acp_proxy.cli.explain.time_limit._TICK_S", 0.02)
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(notification("x", y="a" * 40 + "!"))
        recorder.finish()
    words = complaint(
        "inspect", "export", tmp_path / "x.db", "-o", tmp_path / "y.db", "--pattern", "(a+)+$"
    )
    assert "given up at #2" in words
    assert not (tmp_path / "y.db").exists()
