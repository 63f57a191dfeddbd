"""Tests `inspect` with closed pipes, terminals, locales and read-only files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
from typing import IO, TYPE_CHECKING

import pytest

from acp_proxy.cli.screens.styled_text import columns_of
from tests.integration.processes import DEADLINE_S
from tests.integration.puppet_talk import environment_in, file_size_limit, watch
from tests.support.command_line import run
from tests.support.fork_server import ForkServer
from tests.support.log_writer import (
    LogWriter,
    record_conversation,
    text,
    update,
    write_conversation,
)
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.fork_server import Forked

EVERY_COMMAND = [
    [],
    ["inspect", "list", "--json"],
    ["inspect", "show", "--json", "x"],
    ["inspect", "log", "x"],
    ["inspect", "log", "--json", "x"],
    ["inspect", "log", "--raw", "x"],
    ["inspect", "log", "--seq", "6", "x"],
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Makes a home directory with one recording."""
    (tmp_path / "recordings").mkdir()
    record_conversation(tmp_path / "recordings" / "x.db")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["check", "wrong-params.db"], 1),
        (["check", "wrong-params.db", "--json"], 1),
        (["diff", "hello.db", "tour.db"], 1),
        (["diff", "hello.db", "hello.db"], 0),
        (["log", "tour.db"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_verdict_is_the_exit_code_also_without_a_reader(
    acp_proxy: Path, words: list[str], code: int
) -> None:
    """If stdout has no reader, `check`, `diff` and `log` exit with the same code as with one."""
    reader, writer = os.pipe()
    os.close(reader)
    command: list[str | Path] = [acp_proxy, *words]
    result = subprocess.run(
        command, stdout=writer, stderr=subprocess.PIPE, cwd=DIRECTORY, check=False
    )
    os.close(writer)
    assert (result.returncode, b"ipe" in result.stderr) == (code, False)


def test_a_closed_pipe_ends_log_quietly(acp_proxy: Path, home: Path) -> None:
    """If stdout is closed while `log` prints, `log` exits with 0 and prints no error."""
    with LogWriter(home / "recordings" / "long.db") as recorder:
        for number in range(3000):
            recorder.to_client(update("s", "agent_message_chunk", content=text(f"{number}" * 50)))
    for form in ([], ["--json"], ["--raw"]):
        process = subprocess.Popen(
            [acp_proxy, "inspect", "log", *form, "long"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment_in(home),
            cwd=home,
        )
        watchdog = watch(process)
        with process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(DEADLINE_S) == 0
        watchdog.cancel()


@pytest.mark.parametrize("command", EVERY_COMMAND, ids=" ".join)
def test_stdout_may_be_closed_before_the_start(
    fork_server: ForkServer, home: Path, command: list[str]
) -> None:
    """If stdout has no reader when a command such as `log` starts, the command exits with 0."""
    ours, theirs = os.pipe()
    os.close(ours)
    assert run_in(fork_server, command, theirs, home) == (0, b"")
    os.close(theirs)


@pytest.fixture(
    scope="module",
    params=[
        {"PYTHONIOENCODING": "latin-1"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ],
    ids=["latin-1", "C"],
)
def in_a_locale(request: pytest.FixtureRequest) -> Iterator[ForkServer]:
    """Starts ``acp-proxy`` with an encoding of stdout that lacks most characters."""
    with ForkServer(**request.param) as server:
        yield server


@pytest.mark.parametrize("command", EVERY_COMMAND, ids=" ".join)
def test_any_locale_works(in_a_locale: ForkServer, home: Path, command: list[str]) -> None:
    """If stdout cannot encode a character, commands such as `log` print an escape instead."""
    with tempfile.TemporaryFile() as file:
        assert run_in(in_a_locale, command, file.fileno(), home) == (0, b"")
        printed = written(file)
    if "--json" in command or "--raw" in command:
        assert ("你好".encode() in printed) == ("list" not in command)
    elif "x" in command:
        assert b"\\u4f60\\u597d" in printed or "你好".encode() in printed


def run_in(server: ForkServer, command: list[str], stdout: int, home: Path) -> tuple[int, bytes]:
    """Runs a command to its end; returns its exit code and its stderr."""
    with tempfile.TemporaryFile() as file:
        process = start_in(server, command, stdout, file.fileno(), home)
        return process.wait(DEADLINE_S), written(file)


def start_in(
    server: ForkServer, command: list[str], stdout: int, stderr: int, home: Path
) -> Forked:
    """Starts a command in a home directory."""
    return server.start(
        command, stdin=None, stdout=stdout, stderr=stderr, env=environment_in(home), cwd=home
    )


def written(file: IO[bytes]) -> bytes:
    """Returns the whole contents of an open file."""
    file.seek(0)
    return file.read()


def on_terminal(acp_proxy: Path, *command: str, columns: int, home: Path) -> list[str]:
    """Runs a command on a terminal of a given width, and returns the printed lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in environment_in(home).items() if k not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(
        [acp_proxy, *command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**environment, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PAGER": "cat"},
        cwd=home,
    )
    watchdog = watch(process)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal's end reads on Linux
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    watchdog.cancel()
    assert process.wait(DEADLINE_S) == 0
    return shown.decode().splitlines()


@pytest.mark.parametrize("columns", [40, 200])
def test_on_a_terminal_lines_fit_and_are_coloured(
    acp_proxy: Path, home: Path, columns: int
) -> None:
    """On a terminal, `log` and `list` print coloured tables that fit into its width."""
    for command in (["inspect", "log", "x"], ["inspect", "list"], []):
        lines = on_terminal(acp_proxy, *command, columns=columns, home=home)
        assert any("\x1b[" in line for line in lines)
        rows = map(without_colour, lines)
        table = [line for line in rows if line.startswith(("x ", "c0ffee")) or "→" in line]
        assert table
        assert max(map(columns_of, table)) <= columns
        if columns == 200 and "log" in command:
            assert "hello 你好" in "".join(table)


def without_colour(line: str) -> str:
    """Returns a line without the codes of colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


@pytest.mark.parametrize("closed", [True, False])
def test_a_reader_that_cannot_write_reads_the_same(tmp_path: Path, closed: bool) -> None:
    """If the disk is full, `show` and `log` still print all of an unfinished recording."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_conversation(recorder)
        recorder.index()
        write_conversation(recorder)
        if closed:
            recorder.close()
    log = recorder.log_path.read_bytes()
    result = []
    for limit in (0, 40_000, 10**9):
        with file_size_limit(limit):
            shown = run("inspect", "show", recorder.path)
            listed = run("inspect", "log", "--json", recorder.path)
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert (listed.exit_code, listed.stderr) == (0, "")
        result.append((shown.stdout, listed.stdout))
        if limit < 10**9:
            assert recorder.log_path.read_bytes() == log
    assert len(set(result)) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]


@pytest.mark.parametrize("closed", [True, False])
def test_a_directory_may_be_read_only(
    tmp_path: Path, closed: bool, lock_away: Callable[[Path], None]
) -> None:
    """In a read-only directory, `log` prints all frames of an unfinished recording."""
    directory = tmp_path / "readonly"
    directory.mkdir()
    with LogWriter(directory / "x.db") as recorder:
        write_conversation(recorder)
        recorder.index()
        if closed:
            recorder.close()
    lock_away(directory)
    listed = run("inspect", "log", "--json", recorder.path)
    assert (listed.exit_code, listed.stderr) == (0, "")
    assert len(listed.stdout.splitlines()) == 23
    assert sorted(entry.name for entry in directory.iterdir()) == ["x.db", "x.db.log"]


def test_several_readers_may_finish_a_recording(fork_server: ForkServer, tmp_path: Path) -> None:
    """If several `log` commands read a killed recording at once, each prints all frames."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(100):
            write_conversation(recorder)
        recorder.close()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(6)]
        command = ["inspect", "log", "--json", str(recorder.path)]
        processes = [
            start_in(fork_server, command, f.fileno(), f.fileno(), tmp_path) for f in files
        ]
        assert [process.wait(DEADLINE_S) for process in processes] == [0] * 6
        outputs = set(map(written, files))
    assert outputs == {run("inspect", "log", "--json", recorder.path).stdout.encode()}
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]
