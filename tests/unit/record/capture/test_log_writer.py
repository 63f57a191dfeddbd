"""The capture log keeps every chunk, and counts the bytes that it could not write."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.record.capture.log_writer import GROWTH, RESERVE, CaptureLog
from acp_proxy.recording.log_format import (
    BASE_SIZE,
    CLOSE,
    DATA,
    EFFECT,
    END,
    FAULT,
    GAP,
    HEADER_SIZE,
    NOTE,
    PART,
    SIGNAL,
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    Log,
    pack_fields,
    unpack_fields,
)
from tests.support.capture_logs import new_log, read_all

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def log() -> Iterator[CaptureLog]:
    """A new capture log."""
    with new_log() as fresh:
        yield fresh


def chunks(log: CaptureLog) -> list[bytes]:
    """Returns the chunks that a reader finds in the capture log."""
    return [record.payload for record in read_all(log.path) if record.kind == DATA]


def fields(log: CaptureLog, kind: int) -> list[dict[str, list[str]]]:
    """Returns the fields of all events of one kind."""
    return [unpack_fields(r.payload) for r in read_all(log.path) if r.kind == kind]


def test_what_is_appended_is_read(log: CaptureLog) -> None:
    """The chunks and events that a recorder appends to its capture log can be read back."""
    log.append(TO_AGENT, 5, b"one\n")
    log.append(TO_CLIENT, 6, b"\xf5acp\0\n")
    log.event(SIGNAL, {"signal": 15, "action": "sent"})
    log.append(STDERR, 7, b"")
    log.event(END, {"reason": "end of file"}, STDERR)
    records = read_all(log.path)
    assert [(r.kind, r.stream, r.payload) for r in records] == [
        (DATA, TO_AGENT, b"one\n"),
        (DATA, TO_CLIENT, b"\xf5acp\0\n"),
        (SIGNAL, 0, b"signal=15\0action=sent"),
        (DATA, STDERR, b""),
        (END, STDERR, b"reason=end of file"),
    ]
    assert [r.t_ns for r in records if r.kind == DATA] == [5, 6, 7]
    assert records[0].offset == HEADER_SIZE
    assert records[-1].end == log.size
    assert log.physical_size == os.fstat(log.fd).st_size == log.size + BASE_SIZE


def test_a_log_is_private_and_locked(tmp_path: Path) -> None:
    """A recorder locks its capture log, and only the owner can read the log."""
    log = CaptureLog.create(f"{tmp_path}/x.log")
    assert stat.S_IMODE(os.fstat(log.fd).st_mode) == 0o600
    with Path(log.path).open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.close(log.fd)
    with Path(log.path).open() as other:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_an_existing_file_is_never_touched(tmp_path: Path) -> None:
    """A recorder never creates its capture log over an existing file."""
    (tmp_path / "x.log").write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        CaptureLog.create(f"{tmp_path}/x.log")
    assert (tmp_path / "x.log").read_bytes() == b"precious"


def test_a_log_can_be_removed(log: CaptureLog) -> None:
    """A recorder can remove its capture log while the log is still open."""
    log.remove()
    assert not Path(log.path).exists()


def test_a_null_log_keeps_nothing() -> None:
    """If no capture log can be created, the recorder discards what it would log."""
    log = Log()
    log.append(TO_AGENT, 1, b"x")
    log.event(CLOSE, {"reason": "x"})
    assert (log.size, log.path) == (0, "")


def test_threads_do_not_mix_their_records(log: CaptureLog) -> None:
    """If several threads write to a capture log at the same time, each record stays whole."""
    per_stream = {stream: [b"%d" % stream * n for n in range(200)] for stream in (1, 2, 3)}

    def write(stream: int) -> None:
        for chunk in per_stream[stream]:
            log.append(stream, 1, chunk)

    threads = [threading.Thread(target=write, args=(stream,)) for stream in per_stream]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = read_all(log.path)
    for stream, sent in per_stream.items():
        assert [r.payload for r in records if r.stream == stream] == sent


# Fields


@pytest.mark.parametrize(
    ("packed", "payload"),
    [
        ({}, b""),
        ({"reason": ""}, b"reason="),
        ({"a": "b=c", "n": 5}, b"a=b=c\0n=5"),
        ({"arg": ["x", "", "y"]}, b"arg=x\0arg=\0arg=y"),
        ({"arg": []}, b""),
        ({"cwd": "/\udcff\u00e9"}, b"cwd=/\xff\xc3\xa9"),
    ],
)
def test_fields_are_packed(packed: dict[str, str | int | list[str]], payload: bytes) -> None:
    """`pack_fields` writes any texts of an event for a capture log; `unpack_fields` reads them."""
    assert pack_fields(packed) == payload
    lists = {k: v if isinstance(v, list) else [str(v)] for k, v in packed.items()}
    assert unpack_fields(payload) == {key: values for key, values in lists.items() if values}


def test_anything_can_be_unpacked() -> None:
    """`unpack_fields` reads an event's damaged fields, such as bytes that are not UTF-8."""
    assert unpack_fields(b"a\0=\0\0\xff=\xfe") == {"a": [""], "": ["", ""], "\udcff": ["\udcfe"]}


# Trimming


def test_trimming_gives_space_back_and_keeps_offsets(log: CaptureLog) -> None:
    """If a recorder empties its capture log, the file shrinks; offsets still count old bytes."""
    log.append(TO_AGENT, 1, b"x" * 1000)
    size = log.size
    assert log.trim(size)
    assert (log.size, log.physical_size) == (size, BASE_SIZE)
    assert os.fstat(log.fd).st_size == BASE_SIZE
    log.append(TO_AGENT, 2, b"y")
    (record,) = read_all(log.path)
    assert (record.payload, record.offset) == (b"y", size + HEADER_SIZE)


def test_what_is_not_indexed_is_not_trimmed(log: CaptureLog) -> None:
    """A recorder does not empty its capture log while the log has chunks that are not indexed."""
    log.append(TO_AGENT, 1, b"x")
    upto = log.size
    log.append(TO_AGENT, 2, b"y")
    assert not log.trim(upto)
    assert chunks(log) == [b"x", b"y"]


# When recording fails


def test_a_full_disk_becomes_a_gap() -> None:
    """If the disk is full, a capture log counts the bytes that could not be written."""
    with new_log() as log:
        program = """if True:
            import resource, sys
            from acp_proxy.record.capture.log_writer import CaptureLog
            from acp_proxy.recording.log_format import SIGNAL
            log = CaptureLog.create(sys.argv[1])
            log.append(1, 1, b"whole")
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (log.physical_size + 25, hard))
            log.append(1, 2, b"cut short")      # five bytes of it fit
            log.append(2, 3, b"nothing of it")
            log.event(SIGNAL, {"signal": "x" * 30})
            log.append(1, 4, b"more")           # fits, but for the record of the gap
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
            log.append(2, 5, b"after")
            log.append(2, 6, b"later")
        """
        path = log.path + "2"
        command = [sys.executable, "-c", program, path]
        result = subprocess.run(command, check=True, capture_output=True, timeout=60)
        records = read_all(path)
    assert [(r.kind, r.t_ns, r.payload) for r in records if r.kind == DATA] == [
        (DATA, 1, b"whole"),
        (DATA, 5, b"after"),
        (DATA, 6, b"later"),
    ]
    assert [r.kind for r in records] == [DATA, GAP, DATA, DATA]
    assert unpack_fields(records[1].payload) == {
        "reason": ["No space left on device"],
        "since": ["2"],
        "to-agent": ["13"],
        "to-client": ["13"],
    }
    (told,) = result.stderr.decode().splitlines()
    assert told == (
        f"acp-proxy: cannot record into {path}: No space left on device; "
        "the conversation goes on unrecorded"
    )


@pytest.fixture
def broken(log: CaptureLog) -> Iterator[CaptureLog]:
    """A log that cannot be written or truncated, as on a broken disk."""
    log.append(TO_AGENT, 1, b"before")
    log.real_fd = os.dup(log.fd)  # type: ignore[attr-defined]
    full = os.open("/dev/full", os.O_RDWR)
    os.dup2(full, log.fd)
    os.close(full)
    yield log
    os.close(log.real_fd)  # type: ignore[attr-defined]


def mend(log: CaptureLog) -> None:
    """Makes a broken log writable again."""
    os.dup2(log.real_fd, log.fd)  # type: ignore[attr-defined]


def test_a_descriptor_that_refuses_everything_raises_nothing(broken: CaptureLog) -> None:
    """If writing to a capture log fails, the recorder raises no error."""
    for t_ns in (2, 3):
        broken.append(TO_AGENT, t_ns, b"lost")
    broken.event(SIGNAL, {"signal": 15})
    mend(broken)
    broken.append(TO_CLIENT, 9, b"after")
    assert chunks(broken) == [b"before", b"after"]
    (gap,) = fields(broken, GAP)
    assert gap == {"reason": [os.strerror(errno.ENOSPC)], "since": ["2"], "to-agent": ["8"]}


def test_an_event_ends_a_gap(broken: CaptureLog) -> None:
    """After a full disk, a capture log notes the number of lost bytes before the next event."""
    broken.append(STDERR, 2, b"lost")
    mend(broken)
    broken.event(CLOSE, {"reason": "over"})
    assert [r.kind for r in read_all(broken.path)] == [DATA, GAP, CLOSE]
    assert fields(broken, GAP)[0]["stderr"] == ["4"]


def test_a_log_with_an_unrecorded_loss_is_not_trimmed(broken: CaptureLog) -> None:
    """A recorder does not empty its capture log before the log notes the bytes that were lost."""
    broken.append(STDERR, 2, b"lost")
    assert not broken.trim(broken.size)


def test_what_a_failed_write_left_is_cut_off_before_the_next(log: CaptureLog) -> None:
    """If a write leaves half a record in a capture log, the next write removes this half."""
    log.append(TO_AGENT, 1, b"before")
    size, fd = log.size, os.dup(log.fd)
    full = os.open("/dev/full", os.O_RDWR)
    os.dup2(full, log.fd)
    log.append(TO_AGENT, 2, b"lost")
    os.write(fd, b"\xf5acp torn")  # as much as a disk took before it broke
    os.dup2(fd, log.fd)
    log.append(TO_AGENT, 3, b"after")
    os.close(full)
    os.close(fd)
    assert chunks(log) == [b"before", b"after"]
    assert log.size > size


def test_a_log_that_cannot_begin_is_not_made(tmp_path: Path) -> None:
    """If the first record of a capture log cannot be written, the recorder removes the log."""
    program = """if True:
        import resource, sys
        from acp_proxy.record.capture.log_writer import CaptureLog
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
        try:
            CaptureLog.create(sys.argv[1])
        except OSError as e:
            print(e.strerror)
    """
    command = [sys.executable, "-c", program, str(tmp_path / "x.log")]
    result = subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert result.stdout.decode().strip() == os.strerror(errno.ENOSPC)
    assert list(tmp_path.iterdir()) == []


def test_a_trim_that_fails_ends_the_log(monkeypatch: pytest.MonkeyPatch, log: CaptureLog) -> None:
    """If a recorder cannot empty its capture log, it writes no more records to the log."""
    log.append(TO_AGENT, 1, b"indexed")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda _fd, _record: 5)
        assert log.trim(log.size)
    log.allow(database_size=0)
    log.append(TO_AGENT, 2, b"lost")
    log.event(CLOSE, {"reason": "x"})
    assert read_all(log.path) == []
    assert os.fstat(log.fd).st_size == 0


# Chunks with the notes on them

NOTED = [(DATA, TO_AGENT, 7, b"line\n"), (PART, TO_AGENT, 7, b"other\n"), (FAULT, TO_AGENT, 7, b"")]
EFFECTS = [(EFFECT, TO_AGENT, 8, b"rule=r")]


def test_a_chunk_and_its_notes_are_one_write(
    log: CaptureLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorder writes a chunk and the records of its faults to the log with one `write`."""
    sizes, write = [], os.write

    def counted(fd: int, data: bytes) -> int:
        sizes.append(write(fd, data))
        return sizes[-1]

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", counted)
        log.append_all([*NOTED, *EFFECTS])
    result = [(r.kind, r.stream, r.t_ns, r.payload) for r in read_all(log.path)]
    assert result == [*NOTED, *EFFECTS]
    assert sizes == [log.size]


def test_the_notes_on_a_lost_chunk_are_left_out(broken: CaptureLog) -> None:
    """If a chunk cannot be written to a capture log, records of its faults are left out, too."""
    broken.append_all(NOTED)
    assert broken.has_gap
    mend(broken)
    broken.append_all(EFFECTS)
    broken.append_all(NOTED)
    assert [r.kind for r in read_all(broken.path)] == [DATA, GAP, EFFECT, DATA, PART, FAULT]
    (gap,) = fields(broken, GAP)
    assert gap == {"reason": [os.strerror(errno.ENOSPC)], "since": ["7"], "to-agent": ["5"]}


def test_notes_are_not_held_to_the_size_cap() -> None:
    """Above `record --max-size`, records of faults are still written, but no chunks."""
    with new_log(max_size=ROOM_FOR_1000) as log:
        changed = (PART, TO_AGENT, 7, b"x" * 2000)
        log.append_all([NOTED[0], changed, NOTED[2]])
        assert [r.kind for r in read_all(log.path)] == [DATA, FAULT]
        log.append_all([(DATA, TO_AGENT, 8, b"y" * 2000), *NOTED[1:], *EFFECTS])
        assert [r.kind for r in read_all(log.path)] == [DATA, FAULT, NOTE, GAP, EFFECT]


# --max-size

ROOM_FOR_1000 = RESERVE + int(1000 * (1 + GROWTH))
"""The size limit that leaves room for 1000 bytes of log and their database."""


def test_the_size_cap_is_a_gap() -> None:
    """After `record --max-size` is reached, only the number of further bytes is recorded."""
    with new_log(max_size=ROOM_FOR_1000) as log:
        log.append(TO_AGENT, 1, b"x" * 700)
        log.append(TO_AGENT, 2, b"y" * 300)
        log.append(TO_CLIENT, 3, b"z" * 400)
        assert [len(chunk) for chunk in chunks(log)] == [700]
        assert [note["action"] for note in fields(log, NOTE)] == [["full"]]
        log.event(SIGNAL, {"signal": 15})
        assert fields(log, GAP) == [
            {
                "reason": ["the recording has reached --max-size"],
                "since": ["2"],
                "to-agent": ["300"],
                "to-client": ["400"],
            }
        ]
        log.append(TO_CLIENT, 4, b"z" * 400)
        assert log.trim(log.size) is False  # a gap is open again
        log.append(TO_CLIENT, 5, b"small")
        assert chunks(log)[1:] == [b"small"]


def test_the_database_counts_towards_the_cap() -> None:
    """The size of the database counts towards the limit of `record --max-size`."""
    with new_log(max_size=RESERVE + 10_000) as log:
        log.allow(database_size=9_900)
        log.append(TO_AGENT, 1, b"x" * 100)
        assert chunks(log) == []
        log.allow(database_size=0)
        log.append(TO_AGENT, 1, b"y" * 100)
        assert chunks(log) == [b"y" * 100]


def test_a_trimmed_log_has_room_again() -> None:
    """A recorder with room for 1000 bytes writes 900, empties its log, and writes 900 again."""
    with new_log(max_size=ROOM_FOR_1000) as log:
        log.append(TO_AGENT, 1, b"x" * 900)
        assert log.trim(log.size)
        log.allow(database_size=0)
        log.append(TO_AGENT, 2, b"y" * 900)
        assert chunks(log) == [b"y" * 900]
        assert fields(log, GAP) == []
