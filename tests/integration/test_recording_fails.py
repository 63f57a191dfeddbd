"""If recording fails, the conversation continues, and as much as possible is kept."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sqlite3
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.integration.processes import wait_until
from tests.integration.puppet_talk import PuppetTalk, file_size_limit, inspect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.fork_server import ForkServer

needs_prlimit = pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="expected prlimit, to make room on a full disk"
)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds an exclusive lock on a database, as another program could."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def stream(path: Path, name: str) -> bytes:
    """Returns all recorded bytes of a stream."""
    with RecordingReader(path) as reader:
        frames = [row for row in reader.frames() if row["stream"] == name]
        return b"".join(bytes(row["raw"]) + row["newline"].encode() for row in frames)


def events(path: Path, kind: str) -> list[dict[str, Any]]:
    """Returns the data of all events of a kind."""
    with RecordingReader(path) as reader:
        result = reader.query("SELECT data FROM events WHERE kind = ? ORDER BY seq", (kind,))
        return [json.loads(row["data"]) for row in result]


def state(path: Path) -> str:
    """Returns the state of a recording."""
    with RecordingReader(path) as reader:
        return reader.recording.state


def has_rows(path: Path) -> bool:
    """Whether the database has frames."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as result:
            return bool(result.execute("SELECT count(*) FROM frames").fetchone()[0])
    except sqlite3.Error:
        return False


def cannot_index(path: Path, why: str) -> str:
    """Returns the message that the recorder prints if it cannot index the log."""
    return (
        f"cannot index into {path}: {why}; the recording is kept in {path}.log, "
        "and a later command indexes it"
    )


# The database


@pytest.mark.slow
def test_a_database_that_is_locked_all_the_time(acp_proxy: Path, tmp_path: Path) -> None:
    """If the database is locked until the recorder ends, the recording stays in the capture log."""
    path = tmp_path / "x.db"
    with PuppetTalk(acp_proxy, "-o", path, home=tmp_path) as conversation:
        conversation.prompt("one")
        with locked(path):
            conversation.prompt("two", times=20)
            assert "database is locked" in conversation.complaint()
            conversation.prompt("three", stderr="the agent's own words\n")
            outcome = conversation.end()
            assert outcome.is_unharmed
            assert outcome.complaints == [cannot_index(path, "database is locked")]
            shown = inspect(acp_proxy, "show", path, home=tmp_path)
            assert (shown.returncode, shown.stderr) == (0, "")
            assert "the agent's own words" in shown.stdout
    assert stream(path, "to-client") == outcome.received
    assert state(path) == "complete"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db"]


def test_a_database_that_is_locked_for_a_while(fork_server: ForkServer, tmp_path: Path) -> None:
    """If the database is locked for a while, it is complete when the recorder has ended."""
    path = tmp_path / "x.db"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        conversation.prompt("one")
        wait_until(lambda: has_rows(path), "rows")
        with locked(path):
            conversation.prompt("two", times=20)
            assert "database is locked" in conversation.complaint()
        conversation.prompt("three")
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert outcome.complaints == [cannot_index(path, "database is locked")]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["x.db"]
    assert stream(path, "to-client") == outcome.received
    assert state(path) == "complete"


def test_a_foreign_file_in_place_of_the_database(fork_server: ForkServer, tmp_path: Path) -> None:
    """If a foreign file has the name of the database, a recorder leaves the file unchanged."""
    path = tmp_path / "x.db"
    with PuppetTalk(fork_server, "-o", path, home=tmp_path) as conversation:
        wait_until(path.exists, "the file that is to be the database")
        path.write_text("somebody's words, and not a database\n" * 100)
        conversation.prompt("one")
        assert "cannot index" in conversation.complaint()
        conversation.prompt("two")
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert outcome.complaints == [cannot_index(path, "file is not a database")]
    assert path.read_text().startswith("somebody's words")
    path.unlink()
    assert stream(path, "to-client") == outcome.received


def test_a_disk_too_full_for_the_database(acp_proxy: Path, tmp_path: Path) -> None:
    """If the disk has no room for the database, a recorder keeps all frames in the capture log."""
    path = tmp_path / "x.db"
    with file_size_limit(60_000):
        conversation = PuppetTalk(acp_proxy, "-o", path, home=tmp_path)
    with conversation:
        conversation.prompt("one", times=20)
        complaint = conversation.complaint()
        conversation.prompt("two", times=20)
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert len(outcome.complaints) == 1
    assert complaint.startswith(f"acp-proxy: cannot index into {path}: ")
    assert complaint.endswith("x.db.log, and a later command indexes it\n")
    assert stream(path, "to-client") == outcome.received
    assert state(path) == "complete"
    assert events(path, "gap") == []


# The log


@needs_prlimit
def test_a_disk_that_is_full_to_the_end(acp_proxy: Path, tmp_path: Path) -> None:
    """If the disk stays full, all that a recorder wrote before can still be read."""
    path, log = tmp_path / "x.db", tmp_path / "x.db.log"
    with file_size_limit(3000):  # no room for a database, so nothing empties the log
        conversation = PuppetTalk(acp_proxy, "-o", path, home=tmp_path)
    with conversation:
        first = conversation.prompt("one")
        received = conversation.received
        # Not one record more: else the small one of the end fits where a large one did not.
        resource.prlimit(conversation.process.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, -1))
        conversation.prompt("two", times=500)
        complaint = conversation.complaint()
        conversation.prompt("three", times=10)
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert complaint.startswith(f"acp-proxy: cannot record into {path}.log: ")
    assert complaint.endswith("; the conversation goes on unrecorded\n")
    assert len([line for line in outcome.complaints if "cannot record" in line]) == 1
    assert len(outcome.complaints) <= 2  # where there was time to find no room for the database
    assert log.stat().st_size <= 3000
    assert stream(path, "to-agent") == first
    assert stream(path, "to-client") == received
    assert outcome.received.startswith(received)
    with RecordingReader(path) as reader:
        assert reader.recording.state == "incomplete"
        assert "could not write any more" in (reader.recording.end_reason or "")


@needs_prlimit
def test_a_disk_that_is_full_for_a_while(acp_proxy: Path, tmp_path: Path) -> None:
    """If a full disk has room again, a recorder stores the frames that come from then on."""
    path, log = tmp_path / "x.db", tmp_path / "x.db.log"
    with PuppetTalk(acp_proxy, "-o", path, home=tmp_path) as conversation:
        sent = [conversation.prompt("before", times=3)]
        wait_until(lambda: has_rows(path), "rows")
        resource.prlimit(conversation.process.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, -1))
        sent.append(conversation.prompt("during", times=10))
        sent.append(conversation.prompt("still", times=10))
        complaint = conversation.complaint()
        resource.prlimit(conversation.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        received = conversation.received
        sent.append(conversation.prompt("after", times=3))
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert complaint == (
        f"acp-proxy: cannot record into {log}: File too large; "
        "the conversation goes on unrecorded\n"
    )
    assert [line for line in outcome.complaints if "cannot record" in line] == [
        complaint.removeprefix("acp-proxy: ").rstrip()
    ]
    (gap,) = events(path, "gap")
    assert gap["reason"] == "File too large"
    to_agent, to_client = stream(path, "to-agent"), stream(path, "to-client")
    assert gap["to-agent"] == len(sent[1]) + len(sent[2])
    assert to_agent == sent[0] + sent[3]
    assert gap["to-client"] + len(to_client) == len(outcome.received)
    assert to_client.endswith(outcome.received[len(received) :])
    assert '"during 0"' not in to_client.decode()
    assert state(path) == "complete"


@needs_prlimit
def test_a_gap_is_recorded_after_a_full_disk(acp_proxy: Path, tmp_path: Path) -> None:
    """If the disk was full for a while, the recording says how many bytes are missing."""
    path, log = tmp_path / "x.db", tmp_path / "x.db.log"
    with PuppetTalk(acp_proxy, "-o", path, home=tmp_path) as conversation:
        conversation.prompt("before")
        limit = (log.stat().st_size, -1)
        resource.prlimit(conversation.process.pid, resource.RLIMIT_FSIZE, limit)
        lost = conversation.prompt("during")
        conversation.complaint()
        resource.prlimit(conversation.process.pid, resource.RLIMIT_FSIZE, (-1, -1))
        outcome = conversation.end()
    assert outcome.is_unharmed
    (gap,) = events(path, "gap")
    assert gap["to-agent"] == len(lost)
    assert state(path) == "complete"


# The directory


def nothing(path: Path) -> Path:
    """Returns a directory that does not exist, like its parents."""
    return path / "a" / "b" / "c"


def file_for_parent(path: Path) -> Path:
    """Returns a directory that cannot be created: its parent is a file."""
    (path / "file").touch()
    return path / "file" / "c"


def file_for_directory(path: Path) -> Path:
    """Returns the path of a file in place of a directory."""
    (path / "file").touch()
    return path / "file"


def under_proc(path: Path) -> Path:
    """Returns a directory in /proc that not even root can create."""
    if not os.path.isdir("/proc/self"):  # noqa: PTH112
        pytest.skip("expected /proc")
    return path.parent.parent.joinpath("/proc/self/acp-proxy")


def readonly(path: Path) -> Path:
    """Creates a directory that will be made read-only."""
    (path / "readonly").mkdir()
    return path / "readonly"


def test_a_missing_directory_is_made(acp_proxy: Path, tmp_path: Path) -> None:
    """A recorder creates a missing recordings directory."""
    directory = nothing(tmp_path)
    with PuppetTalk(acp_proxy, "-o", directory / "x.db", home=tmp_path) as conversation:
        conversation.prompt("one")
        outcome = conversation.end()
    assert outcome.is_unharmed
    assert outcome.stderr == ""
    assert stream(directory / "x.db", "to-client") == outcome.received
    while directory != tmp_path:
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        directory = directory.parent


@pytest.mark.parametrize(
    ("make", "how"),
    [
        (file_for_parent, "output"),
        (file_for_directory, "recordings"),
        (under_proc, "output"),
        (readonly, "output"),
        (readonly, "recordings"),
    ],
)
def test_a_directory_that_cannot_be_written_to(
    acp_proxy: Path, tmp_path: Path, make: Any, how: str, lock_away: Callable[[Path], None]
) -> None:
    """If a recorder cannot create its capture log, the agent still runs."""
    directory = make(tmp_path)
    if make is readonly:
        lock_away(directory)
    options = ["-o", f"{directory}/x.db"] if how == "output" else ["--name", "x"]
    variables = [] if how == "output" else [("ACP_PROXY_RECORDINGS", str(directory))]
    with PuppetTalk(acp_proxy, *options, home=tmp_path, variables=variables) as conversation:
        conversation.prompt("one", times=3, stderr="the agent's own words\n")
        outcome = conversation.end()
    assert outcome.is_unharmed
    (complaint,) = outcome.complaints
    assert complaint.startswith(f"cannot record into {directory}/x.db.log: ")
    assert complaint.endswith("; the conversation goes on unrecorded")
    assert outcome.stderr.endswith("the agent's own words\n")


@pytest.mark.parametrize("make", [file_for_directory, under_proc])
def test_a_recording_can_be_required(acp_proxy: Path, tmp_path: Path, make: Any) -> None:
    """With `record --require-recording`, no agent is started if nothing can be recorded."""
    path = make(tmp_path) / "x.db"
    trace = tmp_path / "started"
    agent = [sys.executable, "-c", f"open({str(trace)!r}, 'w')"]
    with PuppetTalk(
        acp_proxy, "-o", path, "--require-recording", home=tmp_path, command=agent
    ) as conversation:
        outcome = conversation.end()
    assert outcome.code == 1
    assert outcome.received == b""
    (line,) = outcome.stderr.splitlines()
    assert line.startswith(f"acp-proxy: cannot record into {path}.log: ")
    assert line.endswith("; the agent was not started, since it must be recorded")
    assert not trace.exists()
