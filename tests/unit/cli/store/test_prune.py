"""``prune`` deletes old recordings, and reports their sizes."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.wording import byte_size
from acp_proxy.store.files.annotations import set_note
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86400.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with recordings of 10, 5 and 0 days, and another file of 20 days."""
    for name, days in (("old", 10), ("mid", 5), ("new", 0)):
        age(record_conversation(tmp_path / f"{name}.db", id=f"{name}1"), days)
    (tmp_path / "other.db").write_text("somebody's")
    age(tmp_path / "other.db", 20)
    return tmp_path


def age(path: Path, days: float) -> None:
    """Sets the modification times of a recording's files."""
    for entry in path.parent.glob(f"{path.name}*"):
        os.utime(entry, (time.time() - days * DAY, time.time() - days * DAY))


def names(directory: Path) -> list[str]:
    """Returns the names of the files in a directory."""
    return sorted(entry.name for entry in directory.iterdir())


def test_older_recordings_are_deleted(home: Path) -> None:
    """`prune --older-than 7d` deletes only older recordings, and prints their names and sizes."""
    size = (home / "old.db").stat().st_size
    result = run("inspect", "prune", "--older-than", "7d", home=home)
    line, total = result.stdout.splitlines()
    assert line.startswith(f"deleted old.db  {byte_size(size)}  last written ")
    assert total == f"1 recording, {byte_size(size)}, was deleted from {home}"
    assert names(home) == ["mid.db", "new.db", "other.db"]
    assert result.stderr == ""


def test_a_dry_run_deletes_nothing(home: Path) -> None:
    """`prune --dry-run` prints which recordings would be deleted, and deletes none."""
    before = names(home)
    result = run("inspect", "prune", "--older-than", "3d", "--dry-run", home=home)
    lines = result.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines[:2]] == [
        "would delete old.db",
        "would delete mid.db",
    ]
    assert lines[2].endswith(f"would be deleted from {home}")
    assert names(home) == before


def test_the_oldest_are_deleted_beyond_a_size(home: Path) -> None:
    """`prune --larger-than` deletes the oldest recordings until the others fit the given size."""
    size = sum((home / name).stat().st_size for name in ("new.db", "other.db"))
    run("inspect", "prune", "--larger-than", f"{size / 1000 + 1}kB", home=home)
    assert names(home) == ["new.db", "other.db"]


def test_age_and_size_may_be_combined(home: Path) -> None:
    """`prune` with an age and a size deletes recordings that exceed either limit."""
    result = run("inspect", "prune", "--older-than", "7d", "--larger-than", "1TB", home=home)
    assert result.exit_code == 0
    assert names(home) == ["mid.db", "new.db", "other.db"]


def test_a_file_whose_name_has_line_ends_is_one_line(home: Path) -> None:
    """If a file name contains line ends, `prune` prints the name on one line."""
    (home / "old.db").rename(home / "a\nb.db")
    result = run("inspect", "prune", "--older-than", "7d", home=home)
    assert result.stdout.startswith("deleted a\\nb.db  ")
    assert result.stdout.count("\n") == 2


def test_a_note_keeps_a_recording(home: Path) -> None:
    """`prune` deletes a recording that has a note only with `--noted`."""
    set_note(home / "old.db", "precious")
    run("inspect", "prune", "--older-than", "1d", home=home)
    assert names(home) == ["new.db", "old.db", "other.db"]
    run("inspect", "prune", "--older-than", "1d", "--noted", home=home)
    assert names(home) == ["new.db", "other.db"]


def test_a_running_recording_stays(tmp_path: Path) -> None:
    """`prune` does not delete a running recording, however old it is."""
    with LogWriter(tmp_path / "live.db") as recorder:
        handshake(recorder)
        recorder.index()
        age(recorder.path, 100)
        result = run("inspect", "prune", tmp_path, "--older-than", "1d", "--larger-than", "0kB")
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == f"acp-proxy: nothing to delete in {tmp_path}\n"
        assert "live.db.log" in names(tmp_path)


def test_json_has_an_object_for_each(home: Path) -> None:
    """`prune --json` prints for each deleted recording its path, size and age as a JSON object."""
    arguments = ("inspect", "prune", "--older-than", "7d", "--json")
    size = (home / "old.db").stat().st_size
    dry = json.loads(run(*arguments, "--dry-run", home=home).stdout)
    deleted = json.loads(run(*arguments, home=home).stdout)
    assert dry == {**deleted, "deleted": False}
    assert time.time() - 11 * DAY < _timestamp(deleted.pop("last_written")) < time.time() - 9 * DAY
    assert deleted == {
        "path": str(home / "old.db"),
        "recording": "old1",
        "size": size,
        "deleted": True,
    }


def _timestamp(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def test_a_recording_that_cannot_be_deleted_is_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If `prune` cannot delete a recording, it prints which one and exits with 1."""
    monkeypatch.setattr("acp_proxy.cli.store.prune.delete", lambda _: False)
    result = run("inspect", "prune", "--older-than", "7d", home=home)
    assert result.stderr.splitlines()[0] == f"acp-proxy: cannot delete {home}/old.db"
    assert (result.stdout, result.exit_code) == ("", 1)


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ([], "expected --older-than AGE, --larger-than SIZE or both"),
        (
            ["--older-than", "2GB"],
            "'2GB' is not an age: expected one such as 30s, 10m, 12h, 30d",
        ),
        (["--larger-than", "5m"], "'5m' is not a size: expected one such as 500kB, 2GB or 2GiB"),
        (["nowhere", "--older-than", "1d"], "nowhere is not a directory"),
    ],
)
def test_wrong_use_is_one_line(home: Path, arguments: list[str], answer: str) -> None:
    """`prune` without a limit, or with an invalid one, prints one line and deletes nothing."""
    before = names(home)
    assert answer in complaint("inspect", "prune", *arguments, home=home)
    assert names(home) == before
