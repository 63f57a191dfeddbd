"""`inspect` and `replay` work without the functions that Windows lacks."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acp_proxy
from acp_proxy.base import system
from acp_proxy.store.log.log_recovery import open_log
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import commands_with
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
PACKAGE = Path(acp_proxy.__file__).parent
MODULES = {
    "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd",
    "syslog", "termios", "tty",
}  # fmt: skip
OS = {
    "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC",
    "POSIX_SPAWN_CLOSE", "POSIX_SPAWN_DUP2", "POSIX_SPAWN_OPEN", "WIFEXITED", "WIFSIGNALED",
    "WIFSTOPPED", "WNOHANG", "WSTOPSIG", "WTERMSIG", "WUNTRACED", "chown", "chroot", "fchmod",
    "fchown", "fork", "forkpty", "getegid", "geteuid", "getgid", "getgroups", "getloadavg",
    "getpgid", "getpgrp", "getpriority", "getsid", "getuid", "getxattr", "killpg", "lchown",
    "listxattr", "mkfifo", "mknod", "nice", "openpty", "pidfd_open", "posix_fadvise",
    "posix_fallocate", "posix_spawn", "posix_spawnp", "pread", "preadv", "pwrite", "pwritev",
    "readv", "removexattr", "sched_yield", "sendfile", "setpgid", "setsid",
    "setxattr", "statvfs", "sysconf", "tcgetpgrp", "tcsetpgrp", "ttyname", "umount", "uname",
    "wait3", "wait4", "waitid", "writev",
}  # fmt: skip
SIGNAL = {
    "ITIMER_REAL", "ITIMER_VIRTUAL", "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL",
    "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGUSR1", "SIGVTALRM", "SIGWINCH", "SIG_BLOCK",
    "SIG_SETMASK", "SIG_UNBLOCK", "pthread_sigmask", "setitimer", "sigwait",
}  # fmt: skip
SELECT = {"POLLERR", "POLLHUP", "POLLIN", "POLLOUT", "poll"}
"""Names that the package might use and that Windows lacks."""

WITHOUT = f"""
import asyncio, contextlib, io, json, logging, multiprocessing, os, runpy, select, shutil, signal
import sqlite3, subprocess, sys, tempfile, threading, uuid, webbrowser, zipfile
import attrs, cattrs, click, msgspec, trio, wcwidth
for module, names in ((os, {OS!r}), (signal, {SIGNAL!r}), (select, {SELECT!r})):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
for name in {MODULES!r}:
    sys.modules[name] = None  # so that importing it fails
from acp_proxy.entry import main
def run(*words):
    sys.argv = ["acp-proxy", *words]
    said, complaint = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
        try:
            main()
        except SystemExit as e:
            code = e.code
    said.flush()
    return code, said.buffer.getvalue().decode(), complaint.getvalue()
"""

INSPECT = [
    ("0", ("list",)),
    ("0", ("show", "hello")),
    ("0", ("log", "hello")),
    ("0", ("log", "hello", "--seq", "2")),
    ("0", ("log", "hello", "--json")),
    ("0", ("stats", "hello")),
    ("0", ("search", "café", "hello")),
    ("0", ("search", "--regex", "caf.", "hello")),
    ("0", ("diff", "hello", "hello")),
    ("1", ("diff", "hello", "tour", "--junit", "diff.xml")),
    ("0", ("transcript", "tour")),
    ("0", ("audit", "tour")),
    ("0", ("check", "hello")),
    ("0", ("secrets", "hello")),
    ("0", ("export", "hello", "-o", "hello.jsonl")),
    ("0", ("export", "hello", "--format", "pytest", "-o", "made")),
    ("0", ("report", "hello", "-o", "hello.html")),
    ("0", ("bundle", "hello")),
    ("0", ("import", "hello.jsonl", "-o", "again.db")),
    ("0", ("export", "hello", "-o", "less.db", "--level", "private")),
    ("0", ("note", "again.db", "a note\n#2 and one at a row")),
    ("0", ("log", "again.db", "--around", "2")),
    ("0", ("prune", "--older-than", "999d", "--dry-run")),
    ("0", ("faults", "list")),
    ("0", ("faults", "explain", "@crash-mid-frame")),
    ("0", ("--version",)),
    ("0", ("--help",)),
    ("0", ()),
]  # fmt: skip


def without(script: str, *words: str, directory: Path, said: bytes = b"") -> tuple[bytes, bytes]:
    """Runs a script without the functions that Windows lacks, and returns its output."""
    environ = {**os.environ, "ACP_PROXY_RECORDINGS": str(directory), "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT + script, *words],
        input=said,
        capture_output=True,
        cwd=directory,
        env=environ,
        check=False,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout, process.stderr


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Makes a directory with two recordings."""
    for name in ("hello.db", "tour.db"):
        (tmp_path / name).write_bytes((ROOT / "recordings" / name).read_bytes())
    return tmp_path


def test_every_command_that_runs_everywhere_is_inspected() -> None:
    """The tests of acp-proxy on Windows run each command that starts no agent."""
    starters = {"record", "replay", "verify", "setup", "doctor", "faults sweep", "try", "web"}
    inspected = [" ".join(words) + " " for _, words in INSPECT]
    for name in commands_with():
        assert name in starters or any(words.startswith(f"{name} ") for words in inspected), name


def test_recordings_are_inspected(recordings: Path) -> None:
    """Without the functions that Windows lacks, commands that start no agent exit as expected."""
    script = (
        f"for code, words in {INSPECT!r}:\n"
        "    found = run(*words)\n"
        "    assert str(found[0] or 0) == code, (words, found)\n"
        "import acp_proxy, acp_proxy.pytest_plugin\n"
        "with acp_proxy.open('hello') as recording:\n"
        "    print(len(list(recording.frames())))\n"
    )
    assert without(script, directory=recordings) == (b"12\n", b"")


def conversation() -> tuple[bytes, bytes]:
    """Returns the bytes that the client and the agent of a recording sent."""
    with RecordingReader(ROOT / "recordings/hello.db") as reader:
        rows = [(row["stream"], bytes(row["raw"]) + b"\n") for row in reader.frames()]
    client, agent = (
        b"".join(line for stream, line in rows if stream == direction)
        for direction in ("to-agent", "to-client")
    )
    return client, agent


@pytest.mark.parametrize("options", [(), ("--fault", "latency latency_ms=1")])
def test_a_recording_is_replayed_to_its_client(recordings: Path, options: tuple[str, ...]) -> None:
    """Without the functions that Windows lacks, `replay` plays a recording to its end."""
    client, agent = conversation()
    script = 'sys.argv = ["acp-proxy", "replay", *sys.argv[1:]]; main()'
    said, complaint = without(script, "hello", *options, directory=recordings, said=client)
    assert said == agent
    assert (b"faults that fired: latency 12" in complaint) == bool(options)
    assert complaint.count(b"\n") == len(options)


def test_commands_that_start_agents_are_refused(recordings: Path) -> None:
    """On a system that cannot start agents, `record` is refused in one line."""
    words = [("record", "--", "x"), ("verify", "hello", "--", "x"), ("setup", "zed", "--write"),
             ("doctor",), ("faults", "sweep", "hello", "--client", "x"),
             ("try", "--", "x"), ("verify", "--help")]  # fmt: skip
    script = f"for words in {words!r}: print(*run(*words))"
    said, _ = without(script, directory=recordings)
    lines = [line for line in said.decode().splitlines() if line.strip()]
    assert len(lines) == len(words)
    for line, (name, *_) in zip(lines, words, strict=True):
        shown = "sweep" if name == "faults" else name
        assert line == (
            f"2  acp-proxy: `{shown}` does not run on this system: it needs process groups, as"
            " Linux and macOS have them; `replay` and `inspect` run here, too"
        )


def test_an_unfinished_recording_is_refused_without_locks(recordings: Path) -> None:
    """Without file locks, `show` refuses an unfinished recording."""
    (recordings / "dead.db.log").write_bytes(b"acplog")
    script = 'print(*run("show", "dead.db")); print(run("list")[0] or 0)'
    said, _ = without(script, directory=recordings)
    first, *rest = said.decode().splitlines()
    assert first.startswith("2  acp-proxy: cannot read ")
    assert "dead.db.log as a recording: it was not finished, and this system has no locks" in first
    assert rest == ["", "0"]


def test_no_log_is_opened_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without file locks, `open_log` raises FileNotFoundError, as if there were no capture log."""
    path = record_conversation(tmp_path / "x.db")
    monkeypatch.setattr(system, "HAS_LOCKS", False)
    with pytest.raises(FileNotFoundError):
        open_log(Path(f"{path}.log"))


STARTS_AGENTS = {
    "base/system", "cli/editors/doctor", "cli/editors/setup", "cli/faults/sweep",
    "cli/playback/verify", "cli/playback/work_directory", "client", "editors", "editors/doctor",
    "entry", "playback/drivers/recorder_process", "playback/drivers/sweep",
    "playback/drivers/verifier", "programs/swept_agent", "programs/tested_agent",
    "record/capture", "record/faulted/fault_runner", "record/supervisor",
    "recording/agent_names", "recording/file_names", "recording/log_format",
    "store/log/damaged_log", "store/log/log_reader", "store/log/log_recovery",
    "testing/replayed_agent", "try_", "web", "cli/web",
}  # fmt: skip
"""Modules that do not run on Windows, read logs of other systems, or check for a name first."""
LOOKS_FIRST = {
    "batches/local_executor", "cli/explain/time_limit", "cli/interruption",
}  # fmt: skip


def lacking(tree: ast.AST) -> Iterator[str]:
    """Yields the names in a module that Windows lacks."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in {"os": OS, "signal": SIGNAL, "select": SELECT}.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            yield from names & {"os": OS, "signal": SIGNAL}.get(node.module or "", set())


def test_other_modules_run_on_windows() -> None:
    """The source of modules that start no agent uses no function that Windows lacks."""
    lacks = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").as_posix()
        if not any(f"{name}/".startswith(f"{start}/") for start in STARTS_AGENTS | LOOKS_FIRST):
            lacks[name] = [*lacking(ast.parse(path.read_text(encoding="utf-8")))]
    assert {name: names for name, names in lacks.items() if names} == {}


def test_a_pipe_gets_utf_8(recordings: Path) -> None:
    """`transcript` writes UTF-8 to a pipe, even if the system uses a different code page."""
    script = (
        "from acp_proxy.base import system; system.OUTPUT_ENCODING = 'utf-8'\n"
        "sys.stdout.reconfigure(encoding='cp1252')\n"
        "sys.argv = ['acp-proxy', 'transcript', 'hello']; main()"
    )
    said, _ = without(script, directory=recordings)
    assert "你好" in said.decode("utf-8")


def test_flags_that_are_missing_are_left_out() -> None:
    """If a system lacks a flag of `open` or a signal, acp-proxy leaves it out without an error."""
    assert system.flags("O_NO_SUCH_FLAG") == getattr(os, "O_BINARY", 0)
    assert system.flags("O_CREAT", "O_EXCL") & os.O_CREAT
    assert system.signals("SIGTERM", "SIGNOTHING") == (signal.SIGTERM,)


def test_a_descriptor_is_readable_once_there_is_something(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`is_readable` is true of a pipe with data, and false of an empty pipe or without `poll`."""
    source, sink = os.pipe()
    try:
        assert not system.is_readable(source)
        os.write(sink, b"x")
        assert system.is_readable(source)
        monkeypatch.delattr("select.poll")
        assert not system.is_readable(source)
    finally:
        os.close(source)
        os.close(sink)
