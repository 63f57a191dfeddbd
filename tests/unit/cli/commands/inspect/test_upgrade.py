"""``inspect upgrade`` gives the copy of an older recording the views of today."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from acp_proxy.store.schema import VERSION
from acp_proxy.store.stored_views import STORED_VIEWS
from tests.commands import complaint, run
from tests.log_writer import LogWriter, handshake, record_conversation
from tests.texts import rows_of_recording, text_of
from tests.unit.store.test_annotations import make_old

OLD = Path(__file__).parents[4] / "data/format-1.db"


def views(path: Path) -> dict[str, int]:
    """The views of a recording, and how many rows each has."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        return {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for (name,) in names
        }


def without_views(path: Path) -> Path:
    """Takes the views of a recording away that were added later, and changes one."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for name in ("messages", "tool_calls", "sessions", "permissions", "latency"):
            connection.execute(f"DROP VIEW {name}")
        connection.execute("CREATE VIEW latency AS SELECT 1 AS old")
        connection.execute("CREATE VIEW my_own AS SELECT seq FROM frames")
        connection.commit()
    return path


def test_a_copy_has_all_views_and_the_same_rows(tmp_path: Path) -> None:
    """The recording is not changed, and a view that a person has added is kept."""
    path, copy = without_views(record_conversation(tmp_path / "x.db")), tmp_path / "y.db"
    before = path.read_bytes()
    made = run("inspect", "upgrade", path, "-o", copy)
    assert made.stdout == (
        f"{copy}: new views: latency, messages, permissions, tool_calls, sessions\n"
    )
    assert path.read_bytes() == before
    found = views(copy)
    assert found.keys() == {*STORED_VIEWS, "my_own"}
    assert found["messages"] == 2
    assert rows_of_recording(copy) == rows_of_recording(path)
    assert text_of(copy) == text_of(path)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db", "y.db"]


def test_an_older_format_becomes_this_one(tmp_path: Path) -> None:
    """The columns that were added later are in the copy."""
    path, copy = make_old(record_conversation(tmp_path / "x.db")), tmp_path / "y.db"
    made = run("inspect", "upgrade", path, "-o", copy)
    assert made.stdout == f"{copy}: format {VERSION} in place of 1\n"
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("SELECT note FROM recording").fetchone() == (None,)
    again = run("inspect", "upgrade", copy, "-o", tmp_path / "z.db")
    assert again.stdout.endswith("z.db: a copy, since nothing is missing in the recording\n")


def test_a_recording_of_format_1_is_read_and_upgraded(tmp_path: Path) -> None:
    """A recording that acp-proxy made when there was no note, and no view of messages."""
    copy = tmp_path / "y.db"
    assert run("inspect", "show", OLD).exit_code == 0
    made = run("inspect", "upgrade", OLD, "-o", copy)
    assert made.stdout == (
        f"{copy}: format {VERSION} in place of 1; new views: frames, messages, permissions,"
        " tool_calls, sessions\n"
    )
    assert text_of(copy) == text_of(OLD)
    assert views(copy)["messages"] == 3


def test_what_a_dead_recorder_left_is_in_the_copy(tmp_path: Path) -> None:
    """What is only in a log becomes rows first, as for every command."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    run("inspect", "upgrade", recorder.path, "-o", tmp_path / "y.db")
    assert rows_of_recording(tmp_path / "y.db")["frames"]


def test_what_is_refused(tmp_path: Path) -> None:
    """Nothing is replaced, and nothing is left."""
    path = record_conversation(tmp_path / "x.db")
    assert "exists" in complaint("inspect", "upgrade", path, "-o", path)
    assert ".db" in complaint("inspect", "upgrade", path, "-o", tmp_path / "y.jsonl")
    assert "cannot write" in complaint("inspect", "upgrade", path, "-o", tmp_path / "no" / "y.db")
    text = tmp_path / "t.jsonl"
    text.write_bytes(text_of(path))
    assert "inspect import" in complaint("inspect", "upgrade", text, "-o", tmp_path / "y.db")
    (tmp_path / "y.db-wal").touch()
    assert "y.db-wal exists" in complaint("inspect", "upgrade", path, "-o", tmp_path / "y.db")
    with LogWriter(tmp_path / "live.db") as recorder:
        handshake(recorder)
        recorder.index()
        words = complaint("inspect", "upgrade", recorder.path, "-o", tmp_path / "z.db")
        assert "still being recorded" in words
    names = [entry.name for entry in tmp_path.iterdir()]
    assert not [name for name in names if name.startswith((".", "y.db.", "z"))]


def test_a_table_in_the_place_of_a_view_is_refused(tmp_path: Path) -> None:
    """What is not ours is not replaced, and no half a copy is left."""
    path = without_views(record_conversation(tmp_path / "x.db"))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE messages (x)")
        connection.commit()
    assert "messages" in complaint("inspect", "upgrade", path, "-o", tmp_path / "y.db")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db"]
