"""Reading or changing a recording runs no code that its database contains."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import DamagedRecording
from acp_proxy.store.files import database
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.files.directory import read_id_and_note
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.schema import TABLES, check_tables
from tests.support.command_line import complaint
from tests.support.indexed_rows import alter
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
TRIGGERS = {
    "one that deletes": "BEFORE UPDATE ON recording BEGIN DELETE FROM frame_rows; END",
    "one without an end": f"AFTER UPDATE ON recording WHEN ({ENDLESS}) > 0 BEGIN SELECT 1; END",
    "one of another table": "BEFORE INSERT ON indexing BEGIN DELETE FROM frame_rows; END",
}


@pytest.fixture
def press_ctrl_c() -> Iterator[Callable[[], object]]:
    """Sends one Ctrl-C after a twentieth of a second of this process's CPU time."""
    sqlite3.enable_callback_tracebacks(False)  # Datasette, in another test, reports exceptions
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    yield lambda: signal.setitimer(signal.ITIMER_VIRTUAL, 0.05)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("table", TABLES)
def test_a_view_in_a_tables_place_is_not_read(tmp_path: Path, table: str) -> None:
    """A command refuses a recording in which an SQL view has the name of a table."""
    path = record_conversation(tmp_path / "x.db")
    alter(path, f"DROP TABLE {table}", f"CREATE VIEW {table.upper()} AS {ENDLESS}")
    said = complaint("inspect", "show", path)
    assert f"no recorder writes this ({table.upper()} is a view" in said
    assert "recover" not in said
    assert read_id_and_note(path) is None


def test_a_virtual_table_is_not_read(tmp_path: Path) -> None:
    """A command refuses a recording with a virtual table."""
    path = record_conversation(tmp_path / "x.db")
    alter(
        path, "DROP TABLE events", "CREATE VIRTUAL TABLE events USING fts5(seq, t_ns, kind, data)"
    )
    with pytest.raises(DamagedRecording, match="events is a virtual table"):
        RecordingReader(path)


def test_a_column_that_is_computed_is_not_read(tmp_path: Path) -> None:
    """A command refuses a recording with a computed column."""
    path = record_conversation(tmp_path / "x.db")
    alter(path, "ALTER TABLE recording ADD COLUMN much AS (zeroblob(1000000000))")
    with pytest.raises(DamagedRecording, match="recording is a table with computed columns"):
        RecordingReader(path)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_no_trigger_fires(tmp_path: Path, trigger: str) -> None:
    """If a trigger in the database would run when `note` writes, `note` refuses."""
    path = record_conversation(tmp_path / "x.db")
    alter(path, f"CREATE TRIGGER t {TRIGGERS[trigger]}")
    before = path.read_bytes()
    with pytest.raises(DamagedRecording, match="t is a trigger"):
        set_note(path, "mine")
    assert path.read_bytes() == before


def test_no_trigger_fires_when_a_dead_recording_is_finished(tmp_path: Path) -> None:
    """A command does not finish a killed recording if that would fire a trigger in its database."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        recorder.end()
    alter(recorder.path, "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM labels; END")
    before = (
        recorder.path.read_bytes(),
        recorder.log_path.read_bytes(),
        recorder.log_path.stat().st_mode,
    )
    with pytest.raises(DamagedRecording, match="t is a trigger"):
        RecordingReader(recorder.path)
    after = (
        recorder.path.read_bytes(),
        recorder.log_path.read_bytes(),
        recorder.log_path.stat().st_mode,
    )
    assert after == before


def test_tables_that_a_user_has_added_are_accepted(tmp_path: Path) -> None:
    """Commands accept a recording to which a user has added tables, indexes and views."""
    path = record_conversation(tmp_path / "x.db")
    alter(path, "CREATE TABLE mine (x)", "CREATE INDEX faster ON frame_rows (rpc_id)",
          "CREATE VIEW shorter AS SELECT seq FROM frames")  # fmt: skip
    with contextlib.closing(database.open_readonly(path)) as connection:
        check_tables(connection)


def test_ctrl_c_ends_a_query(tmp_path: Path, press_ctrl_c: Callable[[], object]) -> None:
    """Ctrl-C interrupts an SQL query on a recording, even if the query would never end."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        press_ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            list(reader.query(ENDLESS))


def test_ctrl_c_ends_a_change(tmp_path: Path, press_ctrl_c: Callable[[], object]) -> None:
    """Ctrl-C interrupts the writing of a note, even if the SQL statement would never end."""
    path = record_conversation(tmp_path / "x.db")
    with contextlib.closing(database.open_for_writing(path, timeout=0)) as connection:
        database.allow_interrupts(connection)
        press_ctrl_c()
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute(f"UPDATE recording SET note = ({ENDLESS})")
    with pytest.raises(KeyboardInterrupt):
        database.raise_if_interrupted(caught.value)
