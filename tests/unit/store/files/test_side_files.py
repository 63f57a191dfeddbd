"""Reading a recording never changes other files, whatever is beside the recording."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.errors import AcpProxyError, UnreadableRecording
from acp_proxy.recording.log_format import TO_CLIENT
from acp_proxy.store.files import database, directory, side_files
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.files.directory import paths, read_id_and_note
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.log_writer import (
    LogWriter,
    line,
    notification,
    record_conversation,
    write_conversation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
Tree = dict[str, tuple[Any, ...]]


def super_journal(database_size: int, victim: Path) -> bytes:
    """A rollback journal that changes nothing and makes SQLite delete ``victim`` when it is done.

    The layout is that of SQLite's file format: a header, no page, and the super-journal's name.
    """
    name = str(victim).encode()
    header = JOURNAL_MAGIC + struct.pack(">5I", 0, 1, database_size // 4096, 512, 4096)
    locking_page = struct.pack(">I", 2**30 // 4096 + 1)
    end = name + struct.pack(">2I", len(name), sum(name)) + JOURNAL_MAGIC
    return header.ljust(512, b"\0") + locking_page + end


def make_whole(path: Path) -> None:
    """Makes a recording that is a single file."""
    record_conversation(path)


def make_dead(path: Path) -> None:
    """Makes a recording whose recorder was killed before the last frames were indexed."""
    with LogWriter(path) as recorder:
        write_conversation(recorder)
        recorder.index()
        recorder.chunk(TO_CLIENT, line(notification("session/update", sessionId="s-1")))


def make_log(path: Path) -> None:
    """Makes a recording whose recorder was killed before it indexed anything."""
    with LogWriter(path) as recorder:
        write_conversation(recorder)


RECORDINGS: dict[str, Callable[[Path], None]] = {
    "whole": make_whole,
    "dead": make_dead,
    "log": make_log,
}


def plant_pipe(place: Path, _victim: Path) -> None:
    """Makes a pipe without a writer."""
    os.mkfifo(place)


def plant_directory(place: Path, _victim: Path) -> None:
    """Makes a directory with a file in it."""
    place.mkdir()
    (place / "inside").write_text("inside")


def plant_link(place: Path, victim: Path) -> None:
    """Makes a symbolic link to a file of the user."""
    place.symlink_to(victim)


def plant_link_to_nothing(place: Path, victim: Path) -> None:
    """Makes a symbolic link to a missing file in the user's home."""
    place.symlink_to(victim.with_name("not there"))


def plant_second_name(place: Path, victim: Path) -> None:
    """Makes a hard link to a file of the user."""
    os.link(victim, place)


def plant_text(place: Path, _victim: Path) -> None:
    """Makes a text file that happens to have the name of a side file."""
    place.write_text("notes of mine\n" * 300)


NEIGHBOURS: dict[str, Callable[[Path, Path], None]] = {
    "pipe": plant_pipe,
    "directory": plant_directory,
    "link": plant_link,
    "link-to-nothing": plant_link_to_nothing,
    "second-name": plant_second_name,
    "text": plant_text,
}
SLOTS = ("", "-wal", "-shm", "-journal", ".log")
OWN = tuple(f"report/x.db{suffix}" for suffix in SLOTS)


def look(root: Path) -> Tree:
    """Returns the state of all files below a directory; links are not followed."""
    return {str(path.relative_to(root)): _look_at(path) for path in sorted(root.rglob("*"))}


def _look_at(path: Path) -> tuple[Any, ...]:
    status = path.lstat()
    content: object = None
    if stat.S_ISLNK(status.st_mode):
        content = path.readlink()
    elif stat.S_ISREG(status.st_mode):
        content = path.read_bytes()
    is_directory = stat.S_ISDIR(status.st_mode)
    return (status.st_mode, content, None if is_directory else status.st_mtime_ns)


def assert_untouched(before: Tree, after: Tree, *planted: str) -> None:
    """Asserts that no file has changed, except the recording's own files that were not planted."""
    own = set(OWN) - set(planted)
    assert {k: v for k, v in after.items() if k not in own} == {
        k: v for k, v in before.items() if k not in own
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The home of a user, with a directory in which a bug report was unpacked."""
    for name in ("report", "home"):
        (tmp_path / name).mkdir()
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "victim").chmod(0o644)
    return tmp_path


def read_all(path: Path) -> None:
    """Reads everything that commands read from a recording, through the reader and the steps."""
    with RecordingReader(path) as reader:
        assert reader.recording
        list(reader.rows())
        list(reader.heads())
        list(reader.heads(with_lines=True))
        script = RecordedSteps(reader)
        while script.read():
            pass


ENTRIES: dict[str, Callable[[Path], object]] = {
    "quick look": read_id_and_note,
    "directory": lambda path: directory.list_recordings(paths(path.parent)),
    "read": read_all,
    "note": lambda path: set_note(path, "mine"),
}


@pytest.mark.parametrize("kind", NEIGHBOURS)
@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_neighbour_that_is_no_side_file_is_left_alone(
    root: Path, recording: str, slot: str, kind: str
) -> None:
    """If a side file of SQLite is a symbolic link, no command follows or changes the link."""
    path = root / "report" / "x.db"
    RECORDINGS[recording](path)
    place = Path(f"{path}{slot}")
    if os.path.lexists(place):  # the recording has a file of its own there: it was replaced
        place.unlink()
    NEIGHBOURS[kind](place, root / "victim")
    before = look(root)
    for entry in ENTRIES.values():
        with contextlib.suppress(AcpProxyError):
            entry(path)
        assert_untouched(before, look(root), f"report/x.db{slot}")


COMMANDS: dict[str, tuple[str, ...]] = {
    "overview": (),
    "list": ("inspect", "list", "{directory}"),
    "show": ("inspect", "show", "{path}"),
    "log": ("inspect", "log", "{path}"),
    "search": ("inspect", "search", "hello", "{path}"),
    "search in all": ("inspect", "search", "hello"),
    "stats": ("inspect", "stats", "{path}"),
    "export": ("inspect", "export", "{path}"),
    "export as a test": ("inspect", "export", "{path}", "--format", "pytest", "-o", "{out}"),
    "diff": ("inspect", "diff", "{path}", "{other}"),
    "note": ("inspect", "note", "{path}", "mine"),
    "read the note": ("inspect", "note", "{path}"),
    "prune": ("inspect", "prune", "--older-than", "1s", "--dry-run", "{directory}"),
}


def plant_super_journal(path: Path, victim: Path) -> None:
    """Plants a journal that would make SQLite delete the victim when it opens the database."""
    size = path.stat().st_size if path.exists() else 0
    Path(f"{path}-journal").write_bytes(super_journal(size, victim))
    wal = Path(f"{path}-wal")
    if not wal.exists():
        wal.touch()


def command(root: Path, name: str) -> tuple[str, ...]:
    """Returns the arguments of a command that reads the recording."""
    path = root / "report" / "x.db"
    words = {"path": path, "directory": path.parent, "other": root / "home" / "other.db",
             "out": root / "home" / "out"}  # fmt: skip
    return tuple(word.format_map(words) for word in COMMANDS[name])


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_journal_deletes_no_file_of_the_users(root: Path, recording: str, name: str) -> None:
    """A planted journal that names a user's file does not make any command delete the file."""
    record_conversation(root / "home" / "other.db")
    path = root / "report" / "x.db"
    RECORDINGS[recording](path)
    plant_super_journal(path, root / "victim")
    before = look(root)
    result = run(*command(root, name), home=path.parent)
    assert_untouched(before, look(root), *OWN)
    assert "Traceback" not in result.stderr
    if "{path}" in COMMANDS[name]:
        assert result.exit_code == 2
        assert "x.db-journal names another file" in result.stderr


def test_a_recorder_deletes_no_file_of_the_users(root: Path) -> None:
    """A planted journal that names a user's file does not make a recorder delete the file."""
    path = root / "report" / "x.db"
    connection = database.create(path)
    journal = Path(f"{path}-journal")
    journal.write_bytes(super_journal(path.stat().st_size, root / "victim"))
    before = look(root)
    connection.execute("INSERT INTO events VALUES (1, 0, 'note', '{}')")
    connection.commit()
    database.close(connection)
    assert_untouched(before, look(root), "report/x.db-journal")
    journal.unlink()
    with contextlib.closing(database.open_readonly(path)) as reader:
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_journal_of_a_killed_writer_is_rolled_back(root: Path, recording: str) -> None:
    """If a recorder was killed while it wrote, commands undo the write with SQLite's journal."""
    path = root / "report" / "x.db"
    RECORDINGS[recording](path)
    if recording != "log":
        kill_while_it_writes(path)
        assert Path(f"{path}-journal").read_bytes().startswith(JOURNAL_MAGIC)
    with RecordingReader(path) as reader:
        assert reader.recording.name == "x"
        assert len(list(reader.frames())) >= 16
    assert set(look(root / "report")) == {"x.db"}


def kill_while_it_writes(path: Path) -> None:
    """Leaves the database and the journal of a writer that was killed before its commit."""
    log = Path(f"{path}.log")
    before = log.read_bytes() if log.exists() else b""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("PRAGMA cache_spill=1")
        connection.execute("UPDATE recording SET name = 'half done'")
        connection.execute("UPDATE frame_rows SET raw = zeroblob(20000)")
        files = [path, Path(f"{path}-journal")]
        left = {file: file.read_bytes() for file in files}
        connection.rollback()
    for file, content in left.items():
        file.write_bytes(content)
    if before:
        assert log.read_bytes() == before


def test_a_journal_beside_a_foreign_database_is_not_rolled_back(root: Path) -> None:
    """No command changes another program's database, even with a journal beside it."""
    path = root / "report" / "x.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recording (name)")
        connection.executemany("INSERT INTO recording VALUES (?)", [("x" * 900,)] * 50)
        connection.execute("CREATE TABLE frame_rows (raw)")
        connection.executemany("INSERT INTO frame_rows VALUES (?)", [("x" * 900,)] * 50)
        connection.commit()
    kill_while_it_writes(path)
    before = look(root)
    for entry in ENTRIES.values():
        with contextlib.suppress(AcpProxyError):
            entry(path)
    assert look(root) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_in_wal_mode_is_read_as_it_lies(root: Path, name: str) -> None:
    """If a recording is in SQLite's WAL mode, reading it creates no write-ahead log."""
    record_conversation(root / "home" / "other.db")
    path = root / "report" / "x.db"
    record_conversation(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
    before = look(root)
    run(*command(root, name), home=path.parent)
    after = look(root)
    if name == "note":
        after.pop("report/x.db")
        before.pop("report/x.db")
    after = {k: v for k, v in after.items() if not k.startswith("home/out")}
    assert after == before


def test_an_index_that_is_rebuilt_is_no_foreign_file(root: Path) -> None:
    """`check_side_files` accepts a cut-off `-shm` index, but refuses one that has other bytes."""
    path = root / "report" / "x.db"
    record_conversation(path)
    index = Path(f"{path}-shm")
    index.write_bytes(struct.pack("=I", 3007000)[:3])
    side_files.check_side_files(path, to_write=True)
    index.write_bytes(b"abc")
    with pytest.raises(side_files.UnsafeSideFile, match="not an index"):
        side_files.check_side_files(path, to_write=True)


def test_the_write_ahead_log_of_another_database_is_part_of_the_recording(root: Path) -> None:
    """If the write-ahead log of a foreign database is beside a recording, commands refuse both."""
    path = root / "report" / "x.db"
    record_conversation(path)
    foreign = root / "home" / "foreign.db"
    with contextlib.closing(sqlite3.connect(foreign)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE songs (title)")
        connection.commit()
        wal = Path(f"{foreign}-wal").read_bytes()
    Path(f"{path}-wal").write_bytes(wal)
    before = look(root)
    with pytest.raises(UnreadableRecording, match="another program"):
        RecordingReader(path)
    assert_untouched(before, look(root), "report/x.db", "report/x.db-wal")


def test_a_link_to_a_recording_is_read_where_the_recording_is(root: Path) -> None:
    """If a recording is a symbolic link, its side files are beside the target of the link."""
    record_conversation(root / "home" / "real.db")
    path = root / "report" / "x.db"
    path.symlink_to(root / "home" / "real.db")
    make_log(root / "report" / "y.db")
    (root / "report" / "y.db.log").rename(f"{path}.log")
    before = look(root)
    read_all(path)
    assert look(root) == before
