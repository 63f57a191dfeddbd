"""`doctor` finds files that killed recorders and commands left, and suggests a remedy."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.editors.doctor.recordings_check import leftovers
from tests.support.command_line import run
from tests.support.doctor_machine import lines, machine
from tests.support.log_writer import LogWriter, handshake, record_conversation, write_conversation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from acp_proxy.editors.doctor.context import CheckResult, DoctorContext

NOTHING = ["✓ no killed recorder or command has left a log or an unfinished file"]


def killed(path: Path, *, indexed: bool = False) -> None:
    """Makes a log like that of a killed recorder, with an empty or an indexed database."""
    path.touch(0o600)
    with LogWriter(path, id=f"c0ffee{path.stem:0>6}") as writer:
        write_conversation(writer)
        if indexed:
            path.unlink()
            writer.index()


def mend(results: Iterable[CheckResult], context: DoctorContext) -> list[str]:
    """Runs the suggested commands, and returns the results after them."""
    for result in results:
        for command in result.commands:
            if command.startswith("acp-proxy "):
                assert run(*command.split()[1:], home=context.recordings).exit_code == 0
            else:
                subprocess.run(command, shell=True, check=True)
    return lines(leftovers(context))


def state(directory: Path) -> list[tuple[str, bytes, int, int]]:
    """Returns the names, contents and times of all files."""
    return sorted(
        (path.name, path.read_bytes(), (status := path.stat()).st_mtime_ns, status.st_mode)
        for path in directory.iterdir()
    )


def test_nothing_is_left_over(tmp_path: Path) -> None:
    """If all recordings are finished or still running, `doctor` reports no leftover files."""
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
def test_an_unfinished_log_is_reported(tmp_path: Path, indexed: bool) -> None:
    """If a killed recorder left a capture log, `doctor` suggests a command that indexes the log."""
    context = machine(tmp_path)
    killed(context.recordings / "1.db", indexed=indexed)
    before = state(context.recordings)
    (leftover,) = leftovers(context)
    assert state(context.recordings) == before
    assert lines([leftover]) == ["! the log of 1 is not in its database yet; its recorder is gone"]
    assert mend([leftover], context) == NOTHING
    assert [path.name for path in context.recordings.iterdir()] == ["1.db"]


def test_unfinished_logs_are_finished_by_one_command(tmp_path: Path) -> None:
    """If several capture logs are not indexed, `doctor` suggests one command for all of them."""
    context = machine(tmp_path)
    for number in range(5):
        killed(context.recordings / f"{number}.db")
    (leftover,) = leftovers(context)
    assert lines([leftover]) == [
        "! the logs of 5 recordings are not in their databases yet; their recorders are gone:"
        " 0, 1, 2 and 2 more"
    ]
    assert mend([leftover], context) == NOTHING


def test_logs_that_cannot_be_finished(tmp_path: Path) -> None:
    """If a capture log cannot be indexed, `doctor` reports this as an error."""
    context = machine(tmp_path)
    (context.recordings / "a.db.log").write_bytes(b"something else" * 10)
    for name in ("b", "c"):
        killed(context.recordings / f"{name}.db")
    (context.recordings / "b.db").write_bytes(b"SQLite format 3\0" + bytes(4096))
    os.mkfifo(context.recordings / "c.db-wal")
    first, second, third = lines(leftovers(context))
    assert first.startswith(f"✗ cannot read {context.recordings}/a.db.log as a recording: ")
    assert second.startswith(
        f"✗ cannot read {context.recordings}/b.db as a recording: it is damaged"
    )
    assert "c.db-wal is a pipe" in third


def test_what_could_not_be_read_of_a_log(tmp_path: Path) -> None:
    """`doctor` reports files that hold parts of a damaged capture log, since these are unmasked."""
    context = machine(tmp_path)
    record_conversation(context.recordings / "x.db")
    for name in ("x.db.damaged", "x.db.damaged-2"):
        (context.recordings / name).touch()
    (leftover,) = leftovers(context)
    assert lines([leftover]) == [
        "! x.db.damaged, x.db.damaged-2 contain unreadable parts of a damaged log, unmasked"
    ]
    assert mend([leftover], context) == NOTHING


def test_files_of_empty_recordings(tmp_path: Path) -> None:
    """If a recorder was killed before it recorded anything, `doctor` reports its empty files."""
    context = machine(tmp_path)
    for name in ("x.db", "y.db", "y.db.log", "z.db.log"):
        (context.recordings / name).touch()
    actual = [*leftovers(context)]
    assert lines(actual) == [
        "! y.db.log is empty: its recorder was killed before it had recorded anything",
        "! z.db.log is empty: its recorder was killed before it had recorded anything",
        "! x.db is empty and without a log",
    ]
    assert mend(actual, context) == NOTHING


def test_files_that_sqlite_left_are_reported(tmp_path: Path) -> None:
    """`doctor` reports a `-wal` file that SQLite left, with or without its database."""
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
    actual = [*leftovers(context)]
    assert lines(actual) == [
        "! x.db-wal is not in its database yet",
        "! y.db-shm, y.db-wal are without their databases",
    ]
    assert mend(actual, context) == NOTHING
    assert [path.name for path in context.recordings.iterdir()] == ["x.db"]


def test_what_a_killed_command_had_not_finished(tmp_path: Path) -> None:
    """`doctor` reports temporary files that killed commands have left."""
    context = machine(tmp_path)
    names = (".abcd1234.import", ".x.jsonl.abc_1234", "setup/.acp-proxy-abcd1234")
    files = [context.recordings / name for name in names]
    files.append(tmp_path / ".config/zed/.acp-proxy-12345678")
    others = (".abcd1234", ".x.db", "setup/.acp-proxy-x")
    for path in [*files, *(context.recordings / name for name in others)]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert lines(leftovers(evolve(context, now=context.now - 3600))) == NOTHING
    (leftover,) = leftovers(context)
    assert lines([leftover])[0].endswith(
        " and 1 more were left unfinished by a command that was killed"
    )
    assert mend([leftover], context) == NOTHING
    assert not any(path.exists() for path in files)
    assert all((context.recordings / name).exists() for name in others)
