"""Files that ``record --keep`` deletes are listed in the new recording, and on a terminal."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
import trio

from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.record import pruning
from acp_proxy.record.pruning import make_room
from acp_proxy.recording.log_format import NOTE, Log
from acp_proxy.store.files.directory import delete
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86400.0


class NotedLog(Log):
    """Stands for a log that keeps events for the test."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[dict[str, str | int | list[str]]] = []

    def event(self, kind: int, fields: dict[str, str | int | list[str]], stream: int = 0) -> bool:
        """Keeps an event."""
        assert (kind, stream) == (NOTE, 0)
        self.notes.append(fields)
        return True


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory with recordings of 7, 6, 5, 4, 3, 2 and 0 days."""
    monkeypatch.setenv("ACP_PROXY_RECORDINGS", str(tmp_path))
    for days in (7, 6, 5, 4, 3, 2, 0):
        path = record_conversation(tmp_path / f"d{days}.db")
        os.utime(path, (time.time() - days * DAY, time.time() - days * DAY))
    return tmp_path


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the lines on stderr."""
    lines: list[str] = []
    monkeypatch.setattr(pruning, "warn", lines.append)
    return lines


async def test_what_was_deleted_is_an_event(home: Path, told: list[str]) -> None:
    """If `record --keep` deletes recordings, their names and sizes are recorded."""
    log = NotedLog()
    total = sum((home / f"d{days}.db").stat().st_size for days in (7, 6))
    await make_room(log, ("age", 5.5 * DAY), home / "new.db")
    (note,) = log.notes
    assert note["action"] == "deleted"
    assert note["file"] == ["d7.db", "d6.db"]
    assert note["size"] == total
    words = f"deleted 2 old recordings ({total / 1000:.0f} kB), as --keep asks: d7.db, d6.db"
    assert describe_event("note", note) == words
    assert told == []


async def test_deleted_files_are_named_on_a_terminal(
    home: Path, told: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, `record --keep` names at most five deleted files."""
    monkeypatch.setattr("os.isatty", lambda fd: fd == 2)
    log = NotedLog()
    await make_room(log, ("size", 0.0), home / "d0.db")
    (line,) = told
    assert line.startswith("deleted 6 old recordings (")
    assert line.endswith(", as --keep asks: d7.db, d6.db, d5.db, d4.db, d3.db and 1 more")
    assert log.notes[0]["file"] == [f"d{days}.db" for days in (7, 6, 5, 4, 3, 2)]


async def test_nothing_is_reported_if_nothing_was_deleted(home: Path, told: list[str]) -> None:
    """If `record --keep` deletes nothing, it records no event and prints nothing."""
    log = NotedLog()
    await make_room(log, ("age", 30 * DAY), home / "new.db")
    assert log.notes == []
    assert told == []


async def test_pruning_stops_when_the_session_ends(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the recorded session ends while `record --keep` deletes files, the deletion stops."""
    log = NotedLog()
    with trio.CancelScope() as session:

        def delete_and_end(path: Path) -> bool:
            trio.from_thread.run_sync(session.cancel)
            return delete(path)

        monkeypatch.setattr(pruning, "delete", delete_and_end)
        await make_room(log, ("age", DAY), home / "new.db")
    assert [note["file"] for note in log.notes] == [["d7.db"]]
    assert (home / "d6.db").exists()
