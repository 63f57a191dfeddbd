"""`doctor` checks that the recordings directory can be used, and lists running recorders."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import evolve

from acp_proxy.editors.doctor.recordings_check import recordings_directory, running
from tests.support.command_line import run
from tests.support.doctor_machine import lines, machine, with_environment
from tests.support.log_writer import (
    LogWriter,
    handshake,
    notification,
    record_conversation,
    request,
    text,
)
from tests.support.waiting_chat import record_waiting_chat


def test_a_usable_directory_is_accepted(tmp_path: Path) -> None:
    """`doctor` prints the number and size of the recordings, and how much disk space is free."""
    context = machine(tmp_path)
    (line,) = lines(recordings_directory(context))
    assert line.startswith(f"✓ {context.recordings}: it is empty, ")
    record_conversation(context.recordings / "x.db")
    (line,) = lines(recordings_directory(context))
    assert line.startswith(f"✓ {context.recordings}: 1 recording takes ")
    assert line.endswith(" are free")


def test_a_missing_directory_is_accepted(tmp_path: Path) -> None:
    """`doctor` accepts a missing recordings directory, but not a file in its place."""
    context = machine(tmp_path)
    context.recordings.rmdir()
    assert lines(recordings_directory(context)) == [
        f"✓ {context.recordings} does not exist yet; the first recording makes it"
    ]
    assert not context.recordings.exists()
    inside = evolve(context, recordings=context.recordings / "a/b")
    assert lines(recordings_directory(inside))[0].startswith("✓ ")
    assert not context.recordings.exists()
    context.recordings.symlink_to("nothing")
    assert lines(recordings_directory(context)) == [
        f"✗ {context.recordings} is a symbolic link to nothing"
    ]
    context.recordings.unlink()
    context.recordings.touch()
    (line,) = lines(recordings_directory(context))
    assert line == f"✗ {context.recordings} is not a directory, so nothing is recorded"


@pytest.mark.skipif(sys.platform != "linux", reason="expected Linux and its /proc")
def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    """If the recordings directory cannot be created, `doctor` says why."""
    context = evolve(machine(tmp_path), recordings=Path("/proc/foo"))
    (line,) = lines(recordings_directory(context))
    assert line.startswith("✗ /proc/foo cannot be made: cannot record into /proc/foo/doctor-")
    assert "No such file or directory" in line


def test_a_directory_in_which_record_does_not_work(tmp_path: Path) -> None:
    """If a trial of `record` fails in the recordings directory, `doctor` prints its error."""
    context = machine(tmp_path)
    (tmp_path / "acp_proxy.py").write_text("import sys; sys.exit('acp-proxy: no luck today')")
    context = with_environment(context, PYTHONPATH=str(tmp_path))
    assert lines(recordings_directory(context)) == ["✗ record does not work here: no luck today"]
    assert list(context.recordings.iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "mark", "text"),
    [
        (0o755, "!", "others can see the names"),
        (0o770, "✗", "others can remove recordings"),
        (0o500, "✗", "recordings cannot be made or read"),
    ],
)
def test_wrong_permissions_are_reported(tmp_path: Path, mode: int, mark: str, text: str) -> None:
    """If the recordings directory has wrong permissions, `doctor` suggests a `chmod` command."""
    context = machine(tmp_path)
    context.recordings.chmod(mode)
    *fine, actual = recordings_directory(context)
    assert len(fine) == (mark == "!")  # what it holds is shown as well
    (line,) = lines([actual])
    assert line.startswith(f"{mark} {context.recordings} has mode {mode:04o}")
    assert text in line
    subprocess.run(actual.commands[0], shell=True, check=True)
    assert lines(recordings_directory(context))[0].startswith("✓")


def test_a_directory_of_another_user_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` reports an error if the recordings directory belongs to another user."""
    context = machine(tmp_path)
    owner = context.recordings.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    (line,) = lines(recordings_directory(context))
    assert line == f"✗ {context.recordings} belongs to user {owner}, and you are {owner + 1}"
    monkeypatch.setattr(os, "getuid", lambda: owner)
    monkeypatch.setattr(os, "access", lambda *_: False)
    (line,) = lines(recordings_directory(context))
    assert line.endswith("cannot be written to; is its file system read-only?")


def test_scarce_disk_space_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If disk space is scarce, `doctor` suggests deleting the older half of the recordings."""
    context = machine(tmp_path)
    statvfs = SimpleNamespace(f_bavail=500, f_frsize=10**6)
    monkeypatch.setattr(os, "statvfs", lambda _: statvfs)
    _, line = lines(recordings_directory(context))
    assert line == f"! 500 MB are free in {context.recordings}; its recordings take 0 B"
    for number in range(4):
        path = record_conversation(context.recordings / f"{number}.db", id=f"c0ffee00000{number}")
        os.utime(path, (number, number))
    statvfs.f_bavail = 40
    (wrong,) = recordings_directory(context)
    assert lines([wrong])[0].startswith(f"✗ 40.0 MB are free in {context.recordings}; its")
    program, *words = wrong.commands[0].split()
    assert program == "acp-proxy"
    assert run(*words, home=context.recordings).exit_code == 0
    assert sorted(path.name for path in context.recordings.iterdir()) == ["2.db", "3.db"]


def test_an_ended_recorder_is_not_running(tmp_path: Path) -> None:
    """`doctor` prints "no recorder is running" if all recorders have ended or were killed."""
    context = machine(tmp_path)
    record_conversation(context.recordings / "x.db")
    with LogWriter(context.recordings / "y.db") as killed:
        handshake(killed)
    assert lines(running(context)) == ["✓ no recorder is running"]
    assert killed.log_path.exists()


def test_running_recordings_say_whom_they_wait_for(tmp_path: Path) -> None:
    """`doctor` says for each running recording whom it waits for, such as a person."""
    context = machine(tmp_path)
    recorders = [record_waiting_chat(context.recordings / "a.db", finished=False)]
    for name, prompts in {"b": True, "c": False}.items():
        recorders.append(LogWriter(context.recordings / f"{name}.db", id=f"c0ffee00000{name}"))
        handshake(recorders[-1])
        if prompts:
            prompt = request(3, "session/prompt", sessionId="s", prompt=[text("hello")])
            recorders[-1].to_agent(prompt)
            recorders[-1].to_client(notification("x"))
    first, second, third = lines(running(context))
    for recorder in recorders:
        recorder.abandon()
    assert first.startswith("✓ a: a person: permission ")
    assert "session/request_permission " in first
    assert second.startswith("✓ b: agent silent ")
    assert second.endswith(", prompt #4 open")
    assert third == "✓ c: nothing is open"


def test_a_hang_is_a_warning(tmp_path: Path) -> None:
    """If an agent has not answered for long in a running recording, `doctor` warns."""
    context = machine(tmp_path)
    with LogWriter(context.recordings / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(3, "session/new", cwd="/", mcpServers=[]))
        context = evolve(context, monotonic_ns=context.monotonic_ns + 10**12)
        (check,) = running(context)
    (line,) = lines([check])
    assert line.startswith("! x: agent silent 16 min")
    assert check.commands == [f"acp-proxy show {context.recordings}/x.db"]
