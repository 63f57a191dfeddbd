"""What ended recorders and killed commands have left; each command that is named mends it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.doctor.leftovers import leftovers
from tests.commands import run
from tests.examined import lines, machine
from tests.log_writer import LogWriter, handshake, record_conversation, write_conversation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from acp_proxy.doctor.context import DoctorContext
    from acp_proxy.doctor.values import CheckResult

NOTHING = ["✓ no log without its recorder, and nothing half written"]


def killed(path: Path, *, indexed: bool = False) -> None:
    """Leaves a log as a killed recorder does, with an empty database or an indexed one."""
    path.touch(0o600)
    with LogWriter(path, id=f"c0ffee{path.stem:0>6}") as writer:
        write_conversation(writer)
        if indexed:
            path.unlink()
            writer.index()


def mend(results: Iterable[CheckResult], context: DoctorContext) -> list[str]:
    """Does what the results name, and returns what is found then."""
    for result in results:
        for command in result.commands:
            if command.startswith("acp-proxy "):
                assert run(*command.split()[1:], home=context.recordings).exit_code == 0
            else:
                subprocess.run(command, shell=True, check=True)
    return lines(leftovers(context))


def state(directory: Path) -> list[tuple[str, bytes, int, int]]:
    """All that reading could change."""
    return sorted(
        (path.name, path.read_bytes(), (status := path.stat()).st_mtime_ns, status.st_mode)
        for path in directory.iterdir()
    )


def test_nothing_is_left(tmp_path: Path) -> None:
    """By an ended recording, a running one and its files, and one that has just begun."""
    context = machine(tmp_path)
    assert lines(leftovers(context)) == NOTHING
    record_conversation(context.recordings / "x.db")
    (context.recordings / "z.db").touch()
    (context.recordings / "z.db.log").touch()
    (context.recordings / ".gitignore").touch()
    os.utime(context.recordings / "z.db.log", (context.now, context.now))
    with LogWriter(context.recordings / "y.db") as running:
        handshake(running)
        running.index()
        assert lines(leftovers(context)) == NOTHING


@pytest.mark.parametrize("indexed", [False, True])
def test_an_unfinished_log(tmp_path: Path, indexed: bool) -> None:
    """Nothing is changed until the command does it."""
    context = machine(tmp_path)
    killed(context.recordings / "1.db", indexed=indexed)
    before = state(context.recordings)
    (found,) = leftovers(context)
    assert state(context.recordings) == before
    assert lines([found]) == ["! the log of 1 is not in its database yet; its recorder is gone"]
    assert mend([found], context) == NOTHING
    assert [path.name for path in context.recordings.iterdir()] == ["1.db"]


def test_unfinished_logs(tmp_path: Path) -> None:
    """One command finishes all."""
    context = machine(tmp_path)
    for number in range(5):
        killed(context.recordings / f"{number}.db")
    (found,) = leftovers(context)
    assert lines([found]) == [
        "! the logs of 5 recordings are not in their databases yet; their recorders are gone:"
        " 0, 1, 2 and 2 more"
    ]
    assert mend([found], context) == NOTHING


def test_logs_that_cannot_be_finished(tmp_path: Path) -> None:
    """One that is none, one of a damaged database, and one with a pipe beside it."""
    context = machine(tmp_path)
    (context.recordings / "a.db.log").write_bytes(b"something else" * 10)
    for name in ("b", "c"):
        killed(context.recordings / f"{name}.db")
    (context.recordings / "b.db").write_bytes(b"SQLite format 3\0" + bytes(4096))
    os.mkfifo(context.recordings / "c.db-wal")
    one, two, three = lines(leftovers(context))
    assert one.startswith(f"✗ cannot read {context.recordings}/a.db.log as a recording: ")
    assert two.startswith(f"✗ cannot read {context.recordings}/b.db as a recording: it is damaged")
    assert "c.db-wal is a pipe" in three


def test_what_could_not_be_read_of_a_log(tmp_path: Path) -> None:
    """It is unmasked, and no command can use it."""
    context = machine(tmp_path)
    record_conversation(context.recordings / "x.db")
    for name in ("x.db.damaged", "x.db.damaged-2"):
        (context.recordings / name).touch()
    (found,) = leftovers(context)
    assert lines([found]) == [
        "! x.db.damaged, x.db.damaged-2 hold what could not be read of a damaged log, unmasked"
    ]
    assert mend([found], context) == NOTHING


def test_empty_files(tmp_path: Path) -> None:
    """A recorder was killed before it had recorded anything."""
    context = machine(tmp_path)
    for name in ("x.db", "y.db", "y.db.log", "z.db.log"):
        (context.recordings / name).touch()
    found = [*leftovers(context)]
    assert lines(found) == [
        "! y.db.log is empty: its recorder was killed before it had recorded anything",
        "! z.db.log is empty: its recorder was killed before it had recorded anything",
        "! x.db is empty, and no log is there",
    ]
    assert mend(found, context) == NOTHING


def test_what_sqlite_left(tmp_path: Path) -> None:
    """A write-ahead log that a reader has held open is not in its database yet."""
    context = machine(tmp_path)
    record_conversation(context.recordings / "x.db")
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('PRAGMA journal_mode=WAL'); c.execute('UPDATE recording SET note = 1');"
        "c.commit(); os._exit(0)"
    )
    subprocess.run(["python3", "-c", code, context.recordings / "x.db"], check=True)
    (context.recordings / "y.db-shm").touch()
    (context.recordings / "y.db-wal").touch()
    assert lines(leftovers(evolve(context, now=context.now - 3600))) == NOTHING
    found = [*leftovers(context)]
    assert lines(found) == [
        "! x.db-wal is not in its database yet",
        "! y.db-shm, y.db-wal are without their databases",
    ]
    assert mend(found, context) == NOTHING
    assert [path.name for path in context.recordings.iterdir()] == ["x.db"]


def test_what_a_killed_command_had_not_finished(tmp_path: Path) -> None:
    """In the recordings directory, beside settings, and where copies of these are."""
    context = machine(tmp_path)
    names = (".abcd1234.import", ".x.jsonl.abc_1234", "setup/.acp-proxy-abcd1234")
    files = [context.recordings / name for name in names]
    files.append(tmp_path / ".config/zed/.acp-proxy-12345678")
    others = (".abcd1234", ".x.db", "setup/.acp-proxy-x")
    for path in [*files, *(context.recordings / name for name in others)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert lines(leftovers(evolve(context, now=context.now - 3600))) == NOTHING
    (found,) = leftovers(context)
    assert lines([found])[0].endswith(" and 1 more were not finished by a command that was killed")
    assert mend([found], context) == NOTHING
    assert not any(path.exists() for path in files)
    assert all((context.recordings / name).exists() for name in others)
