"""Tests the path, the name and the size limit of a recording, and other files beside it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import stat
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.integration.processes import wait_until
from tests.integration.puppet_talk import PuppetTalk, inspect
from tests.support.log_writer import LogWriter, record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.fork_server import ForkServer


def names(directory: Path) -> list[str]:
    """Returns the names of the files in a directory."""
    return sorted(entry.name for entry in directory.iterdir())


def record_talk(program: Path | ForkServer, *options: str | Path, home: Path) -> list[str]:
    """Records a short conversation; returns the messages of acp-proxy on stderr."""
    with PuppetTalk(program, *options, home=home) as conversation:
        conversation.prompt("one")
        outcome = conversation.end()
    assert outcome.is_unharmed
    return outcome.complaints


def received(path: Path) -> bytes:
    """Returns all recorded bytes of the agent."""
    with RecordingReader(path) as reader:
        frames = [row for row in reader.frames() if row["stream"] == "to-client"]
    return b"".join(bytes(row["raw"]) + row["newline"].encode() for row in frames)


def events(path: Path, kind: str) -> list[dict[str, Any]]:
    """Returns the data of all events of a kind in a recording."""
    with RecordingReader(path) as reader:
        result = reader.query("SELECT data FROM events WHERE kind = ? ORDER BY seq", (kind,))
        return [json.loads(row["data"]) for row in result]


# Names


def test_an_existing_recording_is_never_touched(fork_server: ForkServer, tmp_path: Path) -> None:
    """If a recording x.db exists, `record -o x.db` keeps it unchanged and records into x-2.db."""
    first = record_conversation(tmp_path / "x.db")
    before = (first.read_bytes(), first.stat().st_mtime_ns)
    assert record_talk(fork_server, "-o", first, home=tmp_path) == [
        f"{first} exists; recording into {tmp_path}/x-2.db"
    ]
    assert record_talk(fork_server, "-o", first, home=tmp_path) == [
        f"{first} exists; recording into {tmp_path}/x-3.db"
    ]
    assert (first.read_bytes(), first.stat().st_mtime_ns) == before
    assert received(tmp_path / "x-2.db") == received(tmp_path / "x-3.db") != b""
    assert names(tmp_path) == ["x-2.db", "x-3.db", "x.db"]


@pytest.mark.parametrize("what", ["text", "directory", "dangling link", "empty file", "journal"])
def test_other_files_in_its_place_are_never_touched(
    fork_server: ForkServer, tmp_path: Path, what: str
) -> None:
    """If x.db is a directory, a link or a text file, `record -o x.db` records into x-2.db.

    Whatever was in its place stays unchanged.
    """
    path = tmp_path / "x.db"
    match what:
        case "text":
            path.write_text("hello")
        case "directory":
            path.mkdir()
        case "dangling link":
            path.symlink_to(tmp_path / "nowhere")
        case "empty file":
            path.touch()
        case _:
            path.with_name("x.db-journal").touch()
    place = next(tmp_path.iterdir())
    before = place.lstat()
    assert record_talk(fork_server, "-o", path, home=tmp_path) == [
        f"{path} exists; recording into {tmp_path}/x-2.db"
    ]
    assert place.lstat()[:9] == before[:9]
    assert not (tmp_path / "nowhere").exists()
    assert not (tmp_path / "x.db.log").exists()
    assert received(tmp_path / "x-2.db")


def test_a_log_alone_counts_as_a_recording(fork_server: ForkServer, tmp_path: Path) -> None:
    """If only `NAME.db.log` exists, `record -o NAME.db` records into NAME-2.db."""
    path = tmp_path / "x.db"
    with LogWriter(path) as recorder:
        before = recorder.log_path.read_bytes()
        complaint = f"{path} exists; recording into {tmp_path}/x-2.db"
        assert record_talk(fork_server, "-o", path, home=tmp_path) == [complaint]
        assert recorder.log_path.read_bytes() == before
    assert record_talk(fork_server, "-o", path, home=tmp_path) == [
        complaint.replace("x-2.db", "x-3.db")
    ]
    assert recorder.log_path.read_bytes() == before


def test_two_recorders_do_not_share_a_file(fork_server: ForkServer, tmp_path: Path) -> None:
    """Two recorders with the same `-o` write two files."""
    path = tmp_path / "x.db"
    with (
        PuppetTalk(fork_server, "-o", path, home=tmp_path) as first,
        PuppetTalk(fork_server, "-o", path, home=tmp_path) as second,
    ):
        first.prompt("first")
        second.prompt("second")
        outcomes = [first.end(), second.end()]
    assert all(outcome.is_unharmed for outcome in outcomes)
    recorded = {received(tmp_path / "x.db"), received(tmp_path / "x-2.db")}
    assert recorded == {outcome.received for outcome in outcomes}


def test_name_names_file_and_recording(acp_proxy: Path, tmp_path: Path) -> None:
    """`record --name NAME` gives the file and the recording this name.

    If the file exists, the new file is NAME-2.
    """
    directory = tmp_path / "recordings"
    assert record_talk(acp_proxy, "--name", "my run", home=tmp_path) == []
    assert received(directory / "my run.db")
    assert record_talk(acp_proxy, "--name", "my run", home=tmp_path) == [
        f"{directory}/my run.db exists; recording into {directory}/my run-2.db"
    ]
    shown = inspect(acp_proxy, "show", "my run", home=tmp_path)
    assert shown.stdout.startswith("my run  (")
    with RecordingReader(directory / "my run.db") as reader:
        assert reader.recording.name == "my run"


def test_a_default_name_has_time_and_agent(fork_server: ForkServer, tmp_path: Path) -> None:
    """The default name of a recording has the time and the agent's name."""
    assert record_talk(fork_server, home=tmp_path) == []
    (path,) = (tmp_path / "recordings").glob("*.db")
    name = path.stem
    result = re.fullmatch(r"(\d{8}-\d{6})-puppet-([0-9a-f]{4})", name)
    assert result
    with RecordingReader(path) as reader:
        assert reader.recording.name == name
        assert reader.recording.id.startswith(result[2])
        assert reader.recording.cwd == str(tmp_path)


def test_everything_is_private_to_its_owner(acp_proxy: Path, tmp_path: Path) -> None:
    """A recorder creates files that only their owner can read."""
    directory = tmp_path / "recordings"
    modes = set()

    def look() -> bool:
        for entry in directory.iterdir():
            with contextlib.suppress(OSError):
                modes.add((entry.suffix, stat.S_IMODE(entry.stat().st_mode)))
        return {(".db-wal", 0o600), (".db-shm", 0o600)} <= modes

    before = os.umask(0)
    try:
        conversation = PuppetTalk(acp_proxy, "--name", "x", home=tmp_path)
    finally:
        os.umask(before)
    with conversation:
        wait_until(directory.exists, "the directory")
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        conversation.prompt("one")
        wait_until(look, "a write-ahead log and its index")
        conversation.end()
    assert {suffix for suffix, _ in modes} >= {".log", ".db", ".db-wal", ".db-shm"}
    assert {mode for _, mode in modes} == {0o600}
    assert stat.S_IMODE((directory / "x.db").stat().st_mode) == 0o600


# Sizes


@contextlib.contextmanager
def watched(directory: Path) -> Iterator[list[int]]:
    """Measures the size of the files in a directory again and again, and notes each maximum."""
    peaks = [0]
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            used = 0
            for entry in directory.iterdir():
                if not entry.name.endswith("-shm"):  # shared memory in all but name
                    with contextlib.suppress(OSError):
                        used += entry.stat().st_size
            if used > peaks[-1]:
                peaks.append(used)
            time.sleep(0.001)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("size", [60_000, 1_900, pytest.param(200, marks=pytest.mark.soak)])
def test_max_size_is_never_exceeded(acp_proxy: Path, tmp_path: Path, size: int) -> None:
    """The files of a recording are never larger than `record --max-size`, here 8 MB."""
    limit = 8_000_000
    directory = tmp_path / "recordings"
    directory.mkdir()
    path = directory / "x.db"
    with (
        watched(directory) as peaks,
        PuppetTalk(acp_proxy, "-o", path, "--max-size", "8MB", home=tmp_path) as conversation,
    ):
        conversation.stream("x" * size, times=6_000_000 // size)
        assert conversation.complaint() == (
            f"acp-proxy: cannot record into {path}.log: the recording has reached --max-size; "
            "the conversation goes on unrecorded\n"
        )
        wait_until(lambda: path.exists() and path.stat().st_size > 1_000_000, "an index")
        conversation.stream("y" * size, times=6_000_000 // size)
        conversation.prompt("the end")
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert len(outcome.complaints) == 1
    assert limit / 3 < peaks[-1] <= limit
    assert names(directory) == ["x.db"]
    lost = sum(gap["to-client"] for gap in gaps(path))
    assert lost
    assert lost + len(received(path)) == len(outcome.received)
    assert outcome.received.startswith(received(path)[:1_000_000])


def gaps(path: Path) -> list[dict[str, Any]]:
    """Returns the data of each gap in a recording."""
    with RecordingReader(path) as reader:
        result = list(reader.query("SELECT data FROM events WHERE kind = 'gap' ORDER BY seq"))
    return [json.loads(row["data"]) for row in result]


# Keeping


def age(path: Path, days: float) -> None:
    """Sets the times of a recording's files to some days ago."""
    then = time.time() - days * 86400
    for entry in path.parent.glob(f"{path.name}*"):
        os.utime(entry, (then, then))


@pytest.mark.parametrize("keep", ["5d", "size"])
def test_keep_deletes_old_recordings_at_the_start(
    fork_server: ForkServer, tmp_path: Path, keep: str
) -> None:
    """When it starts, `record --keep` deletes recordings beyond the given age or total size."""
    directory = tmp_path / "recordings"
    directory.mkdir()
    old, young = (
        record_conversation(directory / "old.db"),
        record_conversation(directory / "young.db"),
    )
    (directory / "notes.db").write_text("not a recording")
    age(old, 10)
    age(directory / "notes.db", 20)
    with LogWriter(directory / "running.db") as running:
        age(running.path, 30)
        size = sum(entry.stat().st_size for entry in directory.iterdir())
        limit = keep if keep == "5d" else f"{(size - 50_000) / 1000}kB"
        options = ["--keep", limit, "--name", "new"]
        with PuppetTalk(fork_server, *options, home=tmp_path) as conversation:
            conversation.prompt("one")
            wait_until(lambda: not old.exists(), "the old recording to be deleted")
            outcome = conversation.end()
    assert outcome.is_unharmed
    assert outcome.stderr == ""
    assert {"running.db.log", "young.db", "notes.db"} <= set(names(directory))
    assert young.exists()
    assert received(directory / "new.db") == outcome.received
    (note,) = events(directory / "new.db", "note")
    assert (note["action"], note["files"]) == ("deleted", ["old.db"])
    assert note["reason"].startswith("deleted 1 old recording (")
    assert note["reason"].endswith("), as --keep asks: old.db")


def test_a_bad_keep_does_not_stop_the_agent(fork_server: ForkServer, tmp_path: Path) -> None:
    """If `record --keep` has a wrong value, the agent still starts, and nothing is deleted."""
    directory = tmp_path / "recordings"
    directory.mkdir()
    age(record_conversation(directory / "old.db"), 10)
    with PuppetTalk(fork_server, "--keep", "30", "--name", "new", home=tmp_path) as conversation:
        conversation.prompt("one")
        outcome = conversation.end()
    assert received(directory / "new.db") == outcome.received
    assert (directory / "old.db").exists()
    (note,) = events(directory / "new.db", "note")
    assert note["action"] == "ignored"
    assert note["reason"].startswith("--keep: '30' is neither an age (30s, 10m, 8h, 30d, 4w) nor")
    assert note["reason"].endswith("; nothing is deleted")
    assert outcome.stderr == f"acp-proxy: {note['reason']}\n"


def test_a_finished_recording_is_one_plain_file(fork_server: ForkServer, tmp_path: Path) -> None:
    """When a recorder has ended, the finished recording is one file, without a capture log."""
    with PuppetTalk(fork_server, "-o", "x.db", home=tmp_path) as conversation:
        conversation.prompt("one")
        wait_until(lambda: (tmp_path / "x.db").stat().st_size, "the database")
        outcome = conversation.end()
    assert outcome.stderr == ""
    assert names(tmp_path) == ["x.db"]
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("SELECT state, exit_code FROM recording").fetchall() == [
            ("complete", 7)
        ]
