"""The damaged part of a log is kept in a file, and readers report it."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.record import indexing
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.recording.log_format import (
    BASE_SIZE,
    CLOSE,
    DATA,
    HEADER,
    HEADER_SIZE,
    MAGIC,
    START,
    TO_CLIENT,
)
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.files import directory
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.log_writer import LogWriter, line, notification, write_conversation

if TYPE_CHECKING:
    from pathlib import Path

JUNK = b"spoiled with a secret: Zq81xplKsecR7tv"


def dead(path: Path, junk: bytes = JUNK, *, at_end: bool = False) -> Path:
    """Makes the log of a killed recorder, with damaged bytes between records or at its end."""
    with LogWriter(path) as recorder:
        write_conversation(recorder)
        place = recorder.log_path.stat().st_size
        if not at_end:
            recorder.to_client(notification("late", text="x"))
        recorder.close()
    log = recorder.log_path.read_bytes()
    place = len(log) if at_end else place
    recorder.log_path.write_bytes(log[:place] + junk + log[place:])
    return path


def notes(reader: RecordingReader) -> list[dict[str, object]]:
    """Returns the events about damaged parts of the log."""
    rows = reader.query("SELECT data FROM events WHERE kind = 'note' ORDER BY seq")
    return [json.loads(row["data"]) for row in rows]


@pytest.mark.parametrize("at_end", [False, True])
def test_what_cannot_be_read_is_kept(tmp_path: Path, at_end: bool) -> None:
    """After a recorder was killed, a reader moves damaged bytes of `X.db.log` to `X.db.damaged`."""
    path = dead(tmp_path / "x.db", at_end=at_end)
    size = (tmp_path / "x.db.log").stat().st_size
    kept = tmp_path / "x.db.damaged"
    for _ in range(2):  # the one that finishes it, and any later one
        with RecordingReader(path) as reader:
            (note,) = notes(reader)
            assert note["action"] == "damaged"
            assert note["bytes"] == len(JUNK)
            at = note["at"]
            assert isinstance(at, int)
            assert (at == size - BASE_SIZE - len(JUNK)) == at_end
            assert f"{at:,}" in str(note["reason"])
            assert str(kept) in str(reader.warning)
            assert f"{len(JUNK)} bytes from byte {at:,}" in str(reader.warning)
            assert reader.recording.state == "complete"
            assert JUNK not in b"".join(write_text_form(reader))
    assert kept.read_bytes() == JUNK
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert not (tmp_path / "x.db.log").exists()
    assert JUNK not in path.read_bytes()


TORN = HEADER.pack(MAGIC, DATA, 1, 50, 9)


@pytest.mark.parametrize("torn", [b"", MAGIC[:3], TORN[:-1], TORN + b"x"])
def test_a_torn_end_is_no_damage(tmp_path: Path, torn: bytes) -> None:
    """If a killed recorder's log ends within a record, its reader reports and saves no damage."""
    path = dead(tmp_path / "x.db", torn, at_end=True)
    with RecordingReader(path) as reader:
        assert notes(reader) == []
        assert reader.warning is None
    assert [file.name for file in tmp_path.iterdir()] == ["x.db"]


def test_a_record_whose_length_is_wrong_is_damage(tmp_path: Path) -> None:
    """If a log record has a wrong length, the log reader saves all bytes from it on as damaged."""
    path = dead(tmp_path / "x.db", b"")
    log = tmp_path / "x.db.log"
    data = bytearray(log.read_bytes())
    place = data.rindex(b"late")
    place = data.rindex(MAGIC, 0, place)
    data[place : place + HEADER_SIZE] = HEADER.pack(MAGIC, DATA, 2, 1 << 20, 9)
    log.write_bytes(data)
    with RecordingReader(path) as reader:
        (note,) = notes(reader)
        assert note["at"] == place - BASE_SIZE
    assert (tmp_path / "x.db.damaged").read_bytes() == data[place:]


def test_damaged_bytes_replace_no_other_file(tmp_path: Path) -> None:
    """If `X.db.damaged` exists, commands save damaged bytes of a log under another name."""
    others = tmp_path / "elsewhere"
    (tmp_path / "x.db.damaged").write_bytes(b"mine")
    (tmp_path / "x.db.damaged-2").mkdir()
    (tmp_path / "x.db.damaged-3").symlink_to(others)
    path = dead(tmp_path / "x.db")
    with RecordingReader(path):
        pass
    assert (tmp_path / "x.db.damaged").read_bytes() == b"mine"
    assert (tmp_path / "x.db.damaged-4").read_bytes() == JUNK
    assert not others.exists()


def test_a_finisher_was_killed_before_it_removed_the_log(tmp_path: Path) -> None:
    """If a command was killed after it saved a log's damaged bytes, they are not saved twice."""
    path = dead(tmp_path / "x.db")
    log = (tmp_path / "x.db.log").read_bytes()
    for _ in range(3):
        with RecordingReader(path) as reader:
            assert len(notes(reader)) == 1
        (tmp_path / "x.db.log").write_bytes(log)
    with RecordingReader(path):
        pass
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x.db", "x.db.damaged"]


def test_a_log_stays_if_nothing_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the disk is too full to save a log's damaged bytes, commands leave the log."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = dead(tmp_path / "x.db")
    monkeypatch.setattr("acp_proxy.store.log.damaged_log.keep", fail)
    with RecordingReader(path) as reader:
        assert len(notes(reader)) == 1
        assert "x.db.log" in str(reader.warning)
    assert (tmp_path / "x.db.log").exists()


def test_the_reader_of_a_log_that_may_not_write_says_it(tmp_path: Path) -> None:
    """If a command may not save the damaged bytes of a log, it prints a warning about them."""
    path = dead(tmp_path / "x.db")
    whole = (tmp_path / "x.db.log").read_bytes()
    (tmp_path / "x.db-journal").write_bytes(b"foreign")  # so nothing may be written here
    with RecordingReader(path) as reader:
        assert len(notes(reader)) == 1
        assert f"{len(JUNK)} bytes from byte" in str(reader.warning)
    assert (tmp_path / "x.db.log").read_bytes() == whole


@pytest.mark.parametrize(
    ("place", "words"), [(0, "at byte 0"), (BASE_SIZE, f"damaged at byte {BASE_SIZE}")]
)
def test_a_log_that_cannot_be_read_is_refused(tmp_path: Path, place: int, words: str) -> None:
    """If a capture log's start is damaged, commands refuse the log and name the damaged byte."""
    path = dead(tmp_path / "x.db")
    log = tmp_path / "x.db.log"
    data = log.read_bytes()
    data = data[:place] + b"\0" * 8 + data[place + 8 :]
    log.write_bytes(data)
    with pytest.raises(UnreadableRecording, match=words):
        RecordingReader(path)
    assert log.read_bytes() == data
    assert [*tmp_path.iterdir()] == [log]


def test_damaged_bytes_are_pruned_with_their_recording(tmp_path: Path) -> None:
    """`prune` deletes the file with damaged bytes together with its recording."""
    path = dead(tmp_path / "x.db")
    entry = directory.read_listed(path)
    assert entry.damaged == (tmp_path / "x.db.damaged",)
    assert entry.size == path.stat().st_size + len(JUNK)
    assert str(tmp_path / "x.db.damaged") in str(entry.problem)
    assert directory.delete(path)
    assert not list(tmp_path.iterdir())


def test_list_and_show_name_the_damaged_bytes(tmp_path: Path) -> None:
    """`list` and `show` name the file with the damaged bytes of a capture log."""
    path = dead(tmp_path / "x.db")
    listed = run("inspect", "list", "--json", str(tmp_path))
    assert json.loads(listed.stdout)["damaged"] == [str(tmp_path / "x.db.damaged")]
    shown = run("inspect", "show", str(path))
    assert "x.db.damaged" in shown.stderr
    assert "the log was damaged" in shown.stdout
    assert "Zq81" not in shown.output + listed.output


def test_a_recorder_keeps_what_it_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorder saves damaged bytes of its capture log in a new file before it empties the log."""
    monkeypatch.setattr("trio.from_thread.check_cancelled", lambda: None)
    monkeypatch.setattr(indexing, "TRIM", 1)
    path = tmp_path / "x.db"
    log = CaptureLog.create(f"{path}.log")
    log.event(START, {"id": "1", "name": "x", "wall": 1, "origin": 1, "arg": ["a"]})
    recorder = indexing.Indexing(log)
    for junk in (b"first", b"second"):
        log.append(TO_CLIENT, 2, line(notification("m")))
        os.write(log.fd, junk)
        log.size += len(junk)
        log.append(TO_CLIENT, 3, line(notification("m")))
        if junk == b"first":
            recorder._work()
            assert log.physical_size == BASE_SIZE
    log.event(CLOSE, {"reason": "over"})
    recorder.finish()
    os.close(log.fd)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "x.db", "x.db.damaged", "x.db.damaged-2"
    ]  # fmt: skip
    assert (tmp_path / "x.db.damaged").read_bytes() == b"first"
    assert (tmp_path / "x.db.damaged-2").read_bytes() == b"second"
    with RecordingReader(path) as reader:
        assert len(notes(reader)) == 2
        assert reader.count() == 4
        assert "1 more place" in str(reader.warning)
