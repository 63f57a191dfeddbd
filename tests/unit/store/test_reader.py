"""A reader of a recording returns each logged frame once, at any time and after any crash."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import acp_proxy
from acp_proxy.base.errors import (
    DamagedRecording,
    NewerRecording,
    NotARecording,
    UnreadableRecording,
)
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import TO_CLIENT
from acp_proxy.store.files import database
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.log import log_recovery
from acp_proxy.store.log.log_reader import LogReader
from acp_proxy.store.reader import RecordingReader
from tests.support.indexed_rows import alter, stored_views
from tests.support.log_writer import (
    LogWriter,
    base_record,
    handshake,
    line,
    record_conversation,
    text,
    update,
    write_conversation,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

TABLES = ("recording", "frames", "events", "exchanges", "turns")


def everything(reader: RecordingReader) -> dict[str, list[dict[str, Any]]]:
    """Returns all rows of all tables that a reader can read."""
    assert reader.recording
    of_exchange = (
        "request_seq", "response_seq", "latency_ns", "answer_session", "answer_terminal",
    )  # fmt: skip
    frames = [{k: v for k, v in f.items() if k not in of_exchange} for f in reader.frames()]
    every = list(reader.query("SELECT * FROM frames ORDER BY seq"))
    assert frames == [{k: v for k, v in row.items() if k != "json"} for row in every]
    return {name: list(reader.query(f"SELECT * FROM {name} ORDER BY 1")) for name in TABLES}


def read(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Opens a recording, and returns all rows of all tables."""
    with RecordingReader(path) as reader:
        return everything(reader)


def texts(reader: RecordingReader, after: int = 0) -> list[bytes]:
    """Returns the lines of the frames after a frame number."""
    return [bytes(frame["raw"]) for frame in reader.frames(after=after)]


def chunk(number: int) -> bytes:
    """Returns a streamed chunk that contains a number."""
    return line(update("s-1", "agent_message_chunk", content=text(f"chunk {number}")))


# While it is being recorded


def test_a_running_recording_is_live(tmp_path: Path) -> None:
    """While its recorder runs, a recording is read as live, in the state `recording`."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        with RecordingReader(recorder.path) as reader:
            assert reader.live
            assert reader.recording.state == "recording"
            assert reader.recording.agent_name == "ag"
            assert reader.warning is None
        assert not recorder.path.exists()
        assert recorder.log_path.exists()


def test_the_newest_frame_is_seen_at_once(tmp_path: Path) -> None:
    """Commands read a frame of a running recording before the frame is in the database."""
    with LogWriter(tmp_path / "x.db") as recorder, RecordingReader(recorder.path) as reader:
        for number in range(5):
            recorder.to_client(chunk(number))
            reader.refresh()
            assert texts(reader)[-1] + b"\n" == chunk(number)
            assert len(texts(reader)) == number + 1


def test_a_follower_knows_how_far_it_has_seen(tmp_path: Path) -> None:
    """In a growing recording, `RecordingReader.newest` is the number of the last frame or event."""
    with LogWriter(tmp_path / "x.db") as recorder, RecordingReader(recorder.path) as reader:
        handshake(recorder)
        reader.refresh()
        assert reader.newest == 3
        recorder.index()
        recorder.end()
        reader.refresh()
        assert reader.newest == 7
        assert [row["seq"] for row in reader.frames()] == [2, 3]
    with RecordingReader(record_conversation(tmp_path / "done.db")) as reader:
        assert reader.newest == 0


def test_half_a_line_is_no_frame_yet(tmp_path: Path) -> None:
    """`log --follow` prints a line only after the agent has written it to its end."""
    with LogWriter(tmp_path / "x.db") as recorder, RecordingReader(recorder.path) as reader:
        recorder.chunk(TO_CLIENT, chunk(1)[:20])
        reader.refresh()
        assert texts(reader) == []
        recorder.chunk(TO_CLIENT, chunk(1)[20:] + chunk(2)[:5])
        reader.refresh()
        assert texts(reader) == [chunk(1)[:-1]]


def test_a_record_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    """Commands do not yet read a record of a capture log that is only half written."""
    with LogWriter(tmp_path / "x.db") as recorder, RecordingReader(recorder.path) as reader:
        before = recorder.log_path.read_bytes()
        recorder.to_client(chunk(1))
        whole = recorder.log_path.read_bytes()
        with recorder.log_path.open("r+b") as file:
            for size in (len(before) + 3, len(before) + 25, len(whole) - 1):
                file.truncate(size)
                reader.refresh()
                assert texts(reader) == []
                file.seek(size)
                file.write(whole[size:])
                file.flush()
        reader.refresh()
        assert texts(reader) == [chunk(1)[:-1]]


@pytest.mark.parametrize("seed", range(4))
def test_no_frame_is_doubled_or_lost_while_the_indexer_works(tmp_path: Path, seed: int) -> None:
    """`log --follow` reads each frame once while the recorder moves frames into the database."""
    chance = random.Random(seed)
    numbers: list[int] = []
    said = 0
    with LogWriter(tmp_path / "x.db") as recorder, RecordingReader(recorder.path) as reader:

        def say() -> None:
            nonlocal said
            for _ in range(chance.randrange(1, 4)):
                said += 1
                recorder.to_client(chunk(said))

        def look() -> None:
            reader.refresh()
            rows = [*reader.frames(after=numbers[-1] if numbers else 0)]
            numbers.extend(row["seq"] for row in rows)

        def trim() -> None:
            recorder.index()
            recorder.trim()

        for _ in range(60):
            some = partial(recorder.index, chance.choice([1, 300]))
            steps: list[Callable[[], None]] = [say, look, some, recorder.index, trim]
            chance.choices(steps, [2, 2, 2, 1, 1])[0]()
        recorder.close()
        recorder.finish()
        recorder.abandon()
        look()
        assert not reader.live
        assert numbers == list(range(2, 2 + said))
        assert texts(reader) == [chunk(n)[:-1] for n in range(1, said + 1)]


def test_a_reader_begins_again_only_if_its_tail_becomes_much_shorter(tmp_path: Path) -> None:
    """After a recorder has indexed a small part of its log, a reader keeps the tail that it has."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        with RecordingReader(recorder.path) as reader:
            for number in range(1, 101):
                recorder.to_client(chunk(number))
                reader.refresh()
            connection, before = reader.connection, texts(reader)
            for number in range(101, 111):
                recorder.index(100)
                recorder.to_client(chunk(number))
                reader.refresh()
                before.append(chunk(number)[:-1])
                assert (reader.connection, texts(reader)) == (connection, before)
            recorder.index()
            reader.refresh()
            assert reader.connection is not connection
            assert texts(reader) == before


def test_a_note_is_seen_while_a_recorder_lags_behind(tmp_path: Path) -> None:
    """A note that a user writes about a running recording is seen at the next refresh."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index(1)
        with RecordingReader(recorder.path) as reader:
            recorder.to_client(chunk(1))
            reader.refresh()
            alter(recorder.path, "UPDATE recording SET note = 'odd'")
            reader.refresh()
            assert reader.recording.note == "odd"
            assert texts(reader)[-1] == chunk(1)[:-1]


def test_a_reader_starts_a_new_tail_after_a_rollback(tmp_path: Path) -> None:
    """If SQLite rolls back the transaction of a reader, the reader still reads every frame."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index(1)
        with RecordingReader(recorder.path) as reader:
            recorder.to_client(chunk(1))
            reader.refresh()
            before = texts(reader)
            reader.connection.rollback()
            recorder.to_client(chunk(2))
            reader.refresh()
            assert texts(reader) == [*before, chunk(2)[:-1]]


def test_half_of_a_conversation_may_be_indexed(tmp_path: Path) -> None:
    """Wherever indexing has stopped, commands read the same frames and the same exchanges."""
    with LogWriter(tmp_path / "a.db") as recorder:
        write_conversation(recorder)
        whole = read(recorder.path)
        content = recorder.log_path.read_bytes()
    for cut in range(400, len(content), 97):
        path = tmp_path / f"{cut}.db"
        with LogWriter(path, name="a") as recorder:
            recorder.log_path.write_bytes(content[:cut])
            recorder.index()
            with recorder.log_path.open("ab") as file:
                file.write(content[cut:])
            assert read(path) == whole, cut


def test_the_end_is_noticed(tmp_path: Path) -> None:
    """`log --follow` treats a recording as running until its recorder has finished it."""
    with LogWriter(tmp_path / "x.db") as recorder, RecordingReader(recorder.path) as reader:
        handshake(recorder)
        recorder.close()
        reader.refresh()
        states = [(reader.live, reader.recording.state)]
        recorder.finish()
        recorder.abandon()
        reader.refresh()
        states.append((reader.live, reader.recording.state))
        assert states == [(True, "complete"), (False, "complete")]
        assert len(texts(reader)) == 2


def test_the_last_reader_leaves_one_plain_file(tmp_path: Path) -> None:
    """If a recorder has ended, the last reader leaves one file: the database."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        with RecordingReader(recorder.path) as reader:
            recorder.close()
            recorder.finish()
            assert Path(f"{recorder.path}-wal").exists()
            recorder.abandon()
            reader.refresh()
            assert reader.recording.state == "complete"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]


def test_refreshing_a_finished_recording_changes_nothing(tmp_path: Path) -> None:
    """If a recording has ended, `RecordingReader.refresh` changes nothing that is read of it."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        before = everything(reader)
        reader.refresh()
        assert everything(reader) == before


# After a crash


@pytest.mark.parametrize("indexed", [0, 4, 12])
@pytest.mark.parametrize("closed", [True, False])
def test_the_next_reader_finishes_a_dead_recording(
    tmp_path: Path, indexed: int, closed: bool
) -> None:
    """If a recorder was killed, the next command moves all frames of its log into the database."""
    with LogWriter(tmp_path / "x.db") as recorder:
        tell_in_two_halves(recorder, indexed)
        if closed:
            recorder.close()
    with RecordingReader(recorder.path) as reader:
        assert not reader.live
        assert reader.recording.state == ("complete" if closed else "incomplete")
        assert reader.recording.exit_code == 3
        tables = everything(reader)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]
    reference = read(record_conversation(tmp_path / "reference.db", name="x"))
    assert tables["frames"] == reference["frames"]
    assert tables["exchanges"] == reference["exchanges"]
    assert read(recorder.path) == tables


def test_an_incomplete_recording_has_a_reason_and_an_end(tmp_path: Path) -> None:
    """If a recorder was killed, the recording ends at the time of the last record in its log."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    with RecordingReader(recorder.path) as reader:
        recording = reader.recording
    assert recording.end_reason == "the recorder was killed, or could not write any more"
    assert recording.ended_at == "2025-06-15T15:06:40.002000+00:00"


@pytest.mark.parametrize("indexed", [0, 4, 12])
@pytest.mark.parametrize("closed", [True, False])
def test_a_reader_that_may_not_write_reads_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indexed: int, closed: bool
) -> None:
    """A command that cannot write files reads also the frames that only the capture log has."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with LogWriter(tmp_path / "x.db") as recorder:
        tell_in_two_halves(recorder, indexed)
        if closed:
            recorder.close()
    with monkeypatch.context() as patch:
        patch.setattr(log_recovery, "finish", refuse)
        before = recorder.log_path.read_bytes()
        with RecordingReader(recorder.path) as reader:
            assert not reader.live
            tables = everything(reader)
            assert reader.recording.state == ("complete" if closed else "incomplete")
        assert recorder.log_path.read_bytes() == before
        assert recorder.path.exists() == bool(indexed)
    assert read(recorder.path) == tables


def test_a_reader_without_permission_to_write_opens_the_log_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command reads a capture log even if it has no permission to write the log."""
    plain_open = os.open

    def readonly(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if str(path).startswith(str(tmp_path)) and flags & os.O_ACCMODE != os.O_RDONLY:
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain_open(path, flags, *rest, **more)

    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
    monkeypatch.setattr(os, "open", readonly)
    assert len(read(recorder.path)["frames"]) == 18
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db.log"]


def test_an_unindexed_recording_becomes_complete(tmp_path: Path) -> None:
    """If a recorder did not index its last frames, the next command indexes them."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        recorder.end()
        recorder.close()
        alter(recorder.path, "UPDATE recording SET state = 'unindexed'")
    with RecordingReader(recorder.path) as reader:
        assert reader.recording.state == "complete"
    assert not recorder.log_path.exists()


def test_two_readers_may_finish_at_once(tmp_path: Path) -> None:
    """While a command moves a dead recorder's log into the database, another can read all of it."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
    with recorder.log_path.open("r+b") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        tables = read(recorder.path)
        assert recorder.log_path.exists()
    assert read(recorder.path)["frames"] == tables["frames"]
    assert not recorder.log_path.exists()


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("indexed", [0, 4])
def test_a_finishing_reader_is_not_taken_for_the_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indexed: int, closed: bool
) -> None:
    """While a command finishes a killed recording, other commands do not call it running."""
    states: list[tuple[bool, str, object]] = []
    finish = log_recovery.finish

    def look() -> None:
        with RecordingReader(recorder.path) as second:
            states.append((second.live, second.recording.state, everything(second)["frames"]))
        assert recorder.log_path.exists()

    def finish_slowly(*arguments: Any) -> None:
        look()
        finish(*arguments)
        look()

    with LogWriter(tmp_path / "x.db") as recorder:
        tell_in_two_halves(recorder, indexed)
        if closed:
            recorder.close()
    monkeypatch.setattr(log_recovery, "finish", finish_slowly)
    with RecordingReader(recorder.path) as first:
        state, frames = first.recording.state, everything(first)["frames"]
    assert states == [(False, state, frames)] * 2
    assert state == ("complete" if closed else "incomplete")


@pytest.mark.parametrize("indexed", ["nothing", "a part", "everything"])
@pytest.mark.parametrize("moment", ["while it opens", "while it is open"])
def test_frames_that_another_reader_indexes_are_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, indexed: str
) -> None:
    """If a second command indexes a log, the first command reads no frame twice."""
    settle = Indexer.settle

    def finish() -> None:
        monkeypatch.setattr(Indexer, "settle", settle)
        log_recovery.finish(recorder.path, LogReader(log.fileno()))

    def settle_and_finish(tail: Indexer) -> None:
        settle(tail)
        finish()

    with LogWriter(tmp_path / "x.db") as recorder:
        tell_in_two_halves(recorder, 4 if indexed == "a part" else 0)
        database.create(recorder.path).close()
        if indexed == "everything":
            recorder.index()
    with recorder.log_path.open("rb") as log:
        recorder.log_path.chmod(0o400)
        fcntl.flock(log, fcntl.LOCK_EX)
        if moment == "while it opens":
            monkeypatch.setattr(Indexer, "settle", settle_and_finish)
        with RecordingReader(recorder.path) as second:
            assert not second.live
            if moment == "while it is open":
                finish()
            tables = everything(second)
    assert read(recorder.path) == tables


def test_a_follower_learns_that_its_recorder_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recorder is killed, `log --follow` no longer treats its recording as running."""
    finish = log_recovery.finish

    def finish_slowly(*arguments: Any) -> None:
        following.refresh()
        assert not following.live
        finish(*arguments)

    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
        following = RecordingReader(recorder.path)
        assert following.live
    monkeypatch.setattr(log_recovery, "finish", finish_slowly)
    with following:
        assert not RecordingReader(recorder.path).live
    assert not recorder.log_path.exists()


def test_a_recording_whose_finisher_was_killed_is_finished(tmp_path: Path) -> None:
    """If a command is killed while it moves a log into a database, the next one completes this."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
    recorder.log_path.chmod(0o400)
    with RecordingReader(recorder.path) as reader:
        assert (reader.live, reader.recording.state) == (False, "incomplete")
    assert not recorder.log_path.exists()


def test_a_recording_that_cannot_be_finished_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is too full to finish a killed recording, its capture log stays as it was."""

    def have_no_room(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
    monkeypatch.setattr(log_recovery, "finish", have_no_room)
    with RecordingReader(recorder.path) as reader:
        assert not reader.live
        assert recorder.log_path.stat().st_mode & 0o777 == 0o600
        with recorder.log_path.open("rb") as log:
            assert log_recovery.is_free(log.fileno())


def test_nobody_finishes_a_recording_while_its_tail_is_read(tmp_path: Path) -> None:
    """While a command reads the capture log of a killed recording, no other command finishes it."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
    with recorder.log_path.open("rb") as log:
        fcntl.flock(log, fcntl.LOCK_SH)
        first = RecordingReader(recorder.path)
    with first:
        assert not first.live
        before = everything(first)
        with RecordingReader(recorder.path) as second:
            assert everything(second) == before
        assert recorder.log_path.exists()
    assert read(recorder.path)["frames"] == before["frames"]
    assert not recorder.log_path.exists()


def test_a_damaged_copy_of_a_tail_is_not_read_again(tmp_path: Path) -> None:
    """If the lines of a text form are damaged, `RecordingReader` fails without a second try."""

    def lines() -> Iterator[bytes]:
        yield b"# a remark\n"
        (tmp_path / "x.db").touch()
        raise DamagedRecording(tmp_path / "x.db", "first")

    with pytest.raises(DamagedRecording, match="first"):
        RecordingReader(tmp_path / "x.db", lines())


@pytest.mark.parametrize(("how", "mode"), [(fcntl.LOCK_SH, 0o600), (fcntl.LOCK_EX, 0o400)])
def test_a_reader_too_late_to_finish_a_recording_leaves_no_mark(
    tmp_path: Path, how: int, mode: int
) -> None:
    """If a command cannot lock a capture log, it does not change the log or its permissions."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
    with recorder.log_path.open("rb") as late, recorder.log_path.open("rb") as early:
        fcntl.flock(early, how)
        assert not log_recovery.finish_dead(recorder.path, late.fileno(), recorder.log_path)
        assert recorder.log_path.stat().st_mode & 0o777 == mode
        assert not log_recovery.is_live(late.fileno())
        fcntl.flock(early, fcntl.LOCK_UN)
        assert log_recovery.is_free(early.fileno())
        assert log_recovery.finish_dead(recorder.path, early.fileno(), recorder.log_path)


def test_a_recorder_is_recognized_after_its_log_was_locked(tmp_path: Path) -> None:
    """If a command has read a running recording, the next command still finds it running."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(2):
            with RecordingReader(recorder.path) as reader:
                assert reader.live
        assert recorder.log_path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("state", ["recording", "unindexed"])
def test_a_lost_log_is_reported(tmp_path: Path, state: str) -> None:
    """If an unfinished recording lacks its capture log, commands read it with a warning."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
    alter(recorder.path, f"UPDATE recording SET state = '{state}'")
    recorder.log_path.unlink()
    with RecordingReader(recorder.path) as reader:
        assert reader.warning == f"{recorder.log_path} is missing: frames not yet indexed are lost"
        assert len(texts(reader)) == 2


def test_a_log_that_died_while_it_was_emptied_is_no_loss(tmp_path: Path) -> None:
    """If a recorder was killed while it emptied its indexed capture log, no frame is lost."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
        recorder.index()
        os.truncate(recorder.log_path, 0)
    with RecordingReader(recorder.path) as reader:
        assert reader.recording.state == "incomplete"
        assert len(texts(reader)) == 18
    assert not recorder.log_path.exists()


def test_an_empty_database_is_filled_from_its_log(tmp_path: Path) -> None:
    """If the database of a recording is empty, commands read the frames in the capture log."""
    path = tmp_path / "x.db"
    with LogWriter(path) as recorder:
        path.touch(0o600)
        write_conversation(recorder)
        with RecordingReader(path) as reader:
            assert reader.live
            frames = texts(reader)
        assert path.stat().st_size == 0
    with RecordingReader(path) as reader:
        assert not reader.live
        assert texts(reader) == frames
        assert reader.recording.state == "incomplete"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_log_without_its_first_record_is_awaited(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If a new capture log has no record yet, commands wait for the first one."""
    whole = record_conversation_log(tmp_path / "whole.db")
    log = tmp_path / "x.db.log"
    log.touch(0o600)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 10:
            log.write_bytes(whole)

    monkeypatch.setattr("acp_proxy.store.reader.time.sleep", pause)
    with RecordingReader(tmp_path / "x.db") as reader:
        assert len(texts(reader)) == 18
    assert sum(pauses) > 0.1


def record_conversation_log(path: Path) -> bytes:
    """Returns the log of a recorder that was killed."""
    with LogWriter(path) as recorder:
        write_conversation(recorder)
    return recorder.log_path.read_bytes()


# What cannot be read


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """If no file is at the path of a recording, the error says that there is no such file."""
    with pytest.raises(NotARecording, match="no such file"):
        RecordingReader(tmp_path / "x.db")


def test_an_empty_database(tmp_path: Path) -> None:
    """Commands refuse an empty file as a recording, and say that it is empty."""
    (tmp_path / "x.db").touch()
    with pytest.raises(NotARecording, match="it is empty"):
        RecordingReader(tmp_path / "x.db")


@pytest.mark.parametrize("content", [b"", base_record(0)], ids=["empty", "base"])
def test_an_empty_log_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    """Commands refuse a capture log without records, and do not change the log."""
    monkeypatch.setattr("acp_proxy.store.reader.time.sleep", lambda _: None)
    log = tmp_path / "x.db.log"
    log.write_bytes(content)
    with pytest.raises(UnreadableRecording, match="its log is empty"):
        RecordingReader(tmp_path / "x.db")
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db.log"]
    assert log.read_bytes() == content


def test_somebody_elses_log_is_left_alone(tmp_path: Path) -> None:
    """Commands refuse a foreign file in the place of a capture log, and do not change the file."""
    (tmp_path / "server.log").write_text("2025-01-01 00:00:00 GET / 200\n" * 3)
    with pytest.raises(NotARecording, match="it has no header of a capture log"):
        RecordingReader(tmp_path / "server")
    assert [entry.name for entry in tmp_path.iterdir()] == ["server.log"]


def test_a_directory_for_a_log(tmp_path: Path) -> None:
    """If a directory is in the place of a capture log, the error says so."""
    record_conversation(tmp_path / "x.db")
    (tmp_path / "x.db.log").mkdir()
    with pytest.raises(NotARecording, match=r"x\.db\.log as a recording: .*directory"):
        RecordingReader(tmp_path / "x.db")


def test_a_log_without_its_beginning(tmp_path: Path) -> None:
    """Commands refuse a capture log that lacks its beginning, and do not change the log."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        recorder.trim()
        recorder.to_client(chunk(1))
        recorder.path.unlink()
        with pytest.raises(
            UnreadableRecording, match=r"the log's beginning was in .*x\.db, which is missing"
        ):
            RecordingReader(recorder.path)
    with pytest.raises(UnreadableRecording, match="the log's beginning was in"):
        RecordingReader(recorder.path)
    assert recorder.log_path.exists()


def test_a_log_without_a_start_record_is_refused(tmp_path: Path) -> None:
    """Commands refuse a capture log that does not begin with a start record."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(chunk(1))
        content = recorder.log_path.read_bytes()
        start = content.index(capture_log.MAGIC, 29)
    recorder.log_path.write_bytes(base_record(0) + content[start:])
    with pytest.raises(UnreadableRecording, match="it does not say what was recorded"):
        RecordingReader(recorder.path)
    assert recorder.log_path.exists()


def test_a_database_and_a_log_of_two_recordings(tmp_path: Path) -> None:
    """Commands refuse a database if the capture log of another recording is beside it."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        recorder.log_path.write_bytes(base_record(10**6))
        recorder.to_client(chunk(1))
    with pytest.raises(DamagedRecording, match="its log begins at byte 1000000, but its rows end"):
        RecordingReader(recorder.path)
    assert recorder.log_path.exists()


def test_a_newer_recording_is_not_finished_by_an_older_program(tmp_path: Path) -> None:
    """Commands refuse a recording of a newer format, and keep its capture log."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
    alter(recorder.path, "PRAGMA user_version = 99")
    with pytest.raises(NewerRecording, match="upgrade acp-proxy"):
        RecordingReader(recorder.path)
    assert recorder.log_path.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        "DELETE FROM recording",
        "DROP TABLE recording",
        "DROP TABLE turns",
        "ALTER TABLE recording DROP COLUMN started_at",
        "UPDATE recording SET started_at = 'yesterday'",
        "UPDATE recording SET ended_at = 'x'",
        "UPDATE recording SET command = '7'",
        "UPDATE recording SET command = 'x'",
        "UPDATE frame_rows SET raw = NULL",
        "UPDATE frame_rows SET raw = 'text'",
        "UPDATE frame_rows SET t_ns = 'soon'",
        "UPDATE frame_rows SET kind = 99",
        "UPDATE frame_rows SET flags = 0",
        "UPDATE frame_rows SET turn = 'x'",
        "UPDATE turns SET tool_calls = NULL",
        "UPDATE turns SET updates = 'x'",
        "UPDATE events SET data = 'x'",
        "UPDATE events SET data = '[]'",
        "UPDATE events SET data = NULL",
        "UPDATE labels SET text = CAST(x'ff' AS TEXT) WHERE id = 1",
    ],
)
def test_values_that_no_recorder_writes_are_damage(tmp_path: Path, spoil: str) -> None:
    """If a database has a value that no recorder writes, the error calls the recording damaged."""
    path = alter(record_conversation(tmp_path / "x.db"), spoil)
    with pytest.raises(DamagedRecording):
        read(path)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    """If a recording's database lacks a table, the error names the table."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        alter(recorder.path, "DROP TABLE turns")
        with pytest.raises(DamagedRecording, match=r"damaged \(it has no table turns\)"):
            RecordingReader(recorder.path)
        assert recorder.log_path.exists()


@pytest.mark.usefixtures("impatient")
def test_a_damaged_state_of_the_indexer_keeps_the_log(tmp_path: Path) -> None:
    """If the indexer's state in a database is invalid, reading it fails, and its log is kept."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        recorder.end()
    for state in ("x", "{}", '{"offset": "far"}', '{"offset": 1000000000000000000000}'):
        alter(recorder.path, f"UPDATE indexing SET state = '{state}'")
        with pytest.raises(UnreadableRecording):
            RecordingReader(recorder.path)
        assert recorder.log_path.exists()


def test_views_in_a_file_are_not_believed(tmp_path: Path) -> None:
    """If somebody replaced the SQL views of a recording, commands still read the right rows."""
    path = record_conversation(tmp_path / "x.db")
    before = read(path)
    for name in ("frames", "timeline", "unanswered", "latency"):
        alter(path, f"DROP VIEW {name}", f"CREATE VIEW {name} AS SELECT 'lies' AS seq")
    assert read(path) == before


def test_no_query_reads_another_view_of_the_file() -> None:
    """acp-proxy itself reads no SQL view of a recording, except the view `frames`."""
    others = "|".join(stored_views() - {"frames"})
    reads_one = re.compile(rf"\b(FROM|JOIN) ({others})\b")
    for module in (Path(acp_proxy.__file__).parent / "store").glob("*.py"):
        assert not reads_one.search(module.read_text()), module


def every_kind_of_damage(content: bytes, chance: random.Random) -> list[Callable[[], bytes]]:
    """Returns functions that damage the content of a file, each in its own way."""

    def truncate() -> bytes:
        return content[: chance.randrange(len(content))]

    def flip() -> bytes:
        spoiled = bytearray(content)
        for _ in range(chance.choice((1, 1, 20))):
            spoiled[chance.randrange(len(spoiled))] ^= 1 << chance.randrange(8)
        return bytes(spoiled)

    def cut_out() -> bytes:
        start = chance.randrange(len(content))
        return content[:start] + content[start + chance.randrange(5000) :]

    def blank() -> bytes:
        start = chance.randrange(len(content))
        size = min(chance.randrange(2000), len(content) - start)
        return content[:start] + bytes(size) + content[start + size :]

    return [truncate, flip, cut_out, blank]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (1, 2, 3))]
)
@pytest.mark.parametrize("what", ["database", "log", "rest of a log"])
def test_damage_is_reported_as_such(tmp_path: Path, what: str, seed: int) -> None:
    """If any bytes of a database or log are damaged, commands read it or call it unreadable."""
    with LogWriter(tmp_path / "x.db") as recorder:
        tell_in_two_halves(recorder, {"database": 12, "log": 0, "rest of a log": 4}[what])
        recorder.close()
    if what == "database":
        RecordingReader(recorder.path).close()
    path = recorder.path if what == "database" else recorder.log_path
    originals = {entry: entry.read_bytes() for entry in tmp_path.iterdir()}
    chance = random.Random(seed)
    damage = every_kind_of_damage(originals[path], chance)
    for _ in range(60):
        for entry in tmp_path.iterdir():
            entry.unlink()
        for entry, content in originals.items():
            entry.write_bytes(content)
        path.write_bytes(chance.choice(damage)())
        with contextlib.suppress(UnreadableRecording):
            read(recorder.path)


@pytest.mark.usefixtures("impatient")
def test_an_unreadable_recording_is_closed(tmp_path: Path) -> None:
    """If a recording cannot be opened, all of its files are closed again."""
    if not Path("/dev/fd").exists():
        pytest.skip("expected /dev/fd, to count open files")
    (tmp_path / "a.db").touch()
    (tmp_path / "b.db.log").touch()
    record_conversation(tmp_path / "c.db").write_bytes(
        record_conversation(tmp_path / "d.db").read_bytes()[:5000]
    )
    (tmp_path / "e.db.log").write_text("no log" * 10)
    before = len(list(Path("/dev/fd").iterdir()))
    for name in "abce":
        with pytest.raises(UnreadableRecording):
            RecordingReader(tmp_path / f"{name}.db")
    assert len(list(Path("/dev/fd").iterdir())) == before


def tell_in_two_halves(recorder: LogWriter, indexed: int) -> None:
    """Writes a conversation. Its first frames are indexed, and the others stay in the log."""
    write_conversation(recorder)
    content = recorder.log_path.read_bytes()
    if not indexed:
        return
    place = 0
    for _ in range(indexed + 1):
        place = content.index(capture_log.MAGIC, place + 1)
    os.truncate(recorder.log_path, place)
    recorder.index()
    with recorder.log_path.open("ab") as file:
        file.write(content[place:])


@pytest.mark.parametrize("changes", [True, False])
def test_damage_is_reported_at_once_if_the_files_did_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: bool
) -> None:
    """If opening a recording fails, it is opened again only if its files changed meanwhile."""
    path = record_conversation(tmp_path / "x.db")
    open_readonly = database.open_readonly
    failed: list[Path] = []

    def fail_once(place: Path, **options: bool) -> sqlite3.Connection:
        if failed:
            return open_readonly(place, **options)
        failed.append(place)
        if changes:
            place.rename(tmp_path / "y.db")
            (tmp_path / "x.db").write_bytes((tmp_path / "y.db").read_bytes())
        raise DamagedRecording(place, "disk I/O error")

    monkeypatch.setattr(database, "open_readonly", fail_once)
    if changes:
        with RecordingReader(path) as reader:
            assert reader.recording.state == "complete"
    else:
        with pytest.raises(DamagedRecording, match="disk I/O error"):
            RecordingReader(path)
    assert failed == [path]
