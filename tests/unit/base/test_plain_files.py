"""Commands report a path that does not lead to a plain file, and never open it."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import NoSuchRecording, NotARecording
from acp_proxy.base.plain_files import is_plain, kind_of, open_plain
from acp_proxy.store.files.directory import list_recordings, paths
from acp_proxy.store.files.lookup import resolve
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import complaint
from tests.support.log_writer import LogWriter, record_conversation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMANDS = (
    ("inspect", "show"),
    ("replay",),
    ("verify", "--", "true"),
)
DEADLINE_S = 300.0
"""Seconds until every pipe gets a writer, so that a failing test ends."""
PIPES: list[Path] = []
PIPE = " is a pipe: expected the file of a recording; `acp-proxy show -` reads a text from a pipe"


def directory(path: Path) -> None:
    """Makes an empty directory."""
    path.mkdir()


def named_pipe(path: Path) -> None:
    """Makes a FIFO without a writer, which blocks a process that opens it."""
    os.mkfifo(path)
    PIPES.append(path)


def unix_socket(path: Path) -> None:
    """Makes a socket; its path has to be short."""
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def link_to_nothing(path: Path) -> None:
    """Makes a symbolic link whose target is missing."""
    path.symlink_to("nowhere")


def link_to_device(path: Path) -> None:
    """Makes a symbolic link to a device."""
    path.symlink_to(os.devnull)


KINDS = [
    (
        directory,
        "a directory",
        " without recordings: expected a recording; `acp-proxy list`",
    ),
    (named_pipe, "a pipe", PIPE.removeprefix(" is a pipe")),
    (unix_socket, "a socket", ": expected the file of a recording"),
    (link_to_nothing, "a symbolic link to nothing", ": expected the file of a recording"),
    (link_to_device, "a device", ": expected the file of a recording"),
]


@pytest.fixture(autouse=True)
def _nobody_waits_for_ever() -> Iterator[None]:
    """Opens the other end of each pipe after a long time, so that a failing test ends."""
    over, opened = threading.Event(), threading.Event()

    def let_go() -> None:
        over.wait(DEADLINE_S)
        while not over.wait(0.1):
            opened.set()
            for pipe in PIPES:
                os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))

    thread = threading.Thread(target=let_go, daemon=True)
    thread.start()
    yield
    over.set()
    thread.join()
    PIPES.clear()
    assert not opened.is_set(), "expected no pipe to be opened"


@pytest.mark.parametrize("name", ["x.db", "x"])
@pytest.mark.parametrize(("make", "kind", "answer"), KINDS)
def test_the_kind_of_file_is_named(
    tmp_path: Path, make: Callable[[Path], None], kind: str, answer: str, name: str
) -> None:
    """If a command gets a pipe or a device as its recording, the error names the kind of file."""
    make(tmp_path / name)
    for word in (str(tmp_path / name), name):
        with pytest.raises(NoSuchRecording) as caught:
            resolve(word, tmp_path, tmp_path)
        assert str(caught.value).startswith(f"{tmp_path / name} is {kind}{answer}")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_refuses_a_pipe(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Every command that reads a file refuses a pipe with an error of one line and exit code 2."""
    named_pipe(tmp_path / "x.db")
    place = command.index("--") if "--" in command else len(command)
    words = (*command[:place], str(tmp_path / "x.db"), *command[place:])
    assert complaint(*words).startswith(f"{tmp_path / 'x.db'}{PIPE}")


def test_a_directory_lists_some_recordings(tmp_path: Path) -> None:
    """If a command gets a directory in place of a recording, the error lists recordings in it."""
    home = tmp_path / "my runs"
    home.mkdir()
    answers = []
    for name in ("a.db", "b.db", "c.db", "d.db"):
        record_conversation(home / name)
        with pytest.raises(NoSuchRecording) as caught:
            resolve(str(home), tmp_path, tmp_path)
        answers.append(str(caught.value).partition(" recordings, ")[2].partition(";"))
    assert [listed for listed, _, _ in answers] == [
        "a.db", "a.db, b.db", "a.db, b.db, c.db", "a.db, b.db, c.db and 1 more"
    ]  # fmt: skip
    assert {rest for _, _, rest in answers} == {f" `acp-proxy list '{home}'` shows them"}


def test_a_recording_comes_before_a_directory_of_its_name(tmp_path: Path) -> None:
    """If a recording and a directory have the same name, a command reads the recording."""
    (tmp_path / "run").mkdir()
    (tmp_path / "given").mkdir()
    record_conversation(tmp_path / "run.db", name="given")
    assert resolve("run", tmp_path, tmp_path) == tmp_path / "run.db"
    assert resolve("given", tmp_path, tmp_path) == tmp_path / "run.db"


def test_an_inaccessible_path_has_the_reason_of_the_system(tmp_path: Path) -> None:
    """If the path of a recording is too long, the error of a command is that of the system."""
    for word in ("n" * 300, f"{tmp_path}/{'n' * 300}.db"):
        with pytest.raises(NoSuchRecording, match=r"^cannot look at .*: file name too long$"):
            resolve(word, tmp_path, tmp_path)
    with pytest.raises(NoSuchRecording, match="no recording at"):
        resolve("nul\0byte.db", tmp_path, tmp_path)


def test_pipes_in_the_place_of_files_are_not_opened(tmp_path: Path) -> None:
    """If a pipe is in the place of a recording or its log, commands name it, but do not open it."""
    with LogWriter(tmp_path / "x.db"):
        pass
    named_pipe(tmp_path / "x.db")
    record_conversation(tmp_path / "y.db")
    named_pipe(tmp_path / "y.db.log")
    assert paths(tmp_path) == [tmp_path / "x.db", tmp_path / "y.db"]
    problems = {entry.path.name: entry.problem for entry in list_recordings(paths(tmp_path))}
    assert (problems["x.db"] or "").endswith("x.db is a pipe: expected a plain file, or none")
    assert problems["y.db"] is not None
    with pytest.raises(NotARecording, match=r"y\.db\.log as a recording: it is a pipe$"):
        RecordingReader(tmp_path / "y.db")


@pytest.mark.parametrize(("make", "kind", "_"), KINDS)
def test_only_plain_files_are_opened(
    tmp_path: Path, make: Callable[[Path], None], kind: str, _: str
) -> None:
    """acp-proxy opens plain files and links to plain files, and refuses pipes and devices."""
    path, link = tmp_path / "x", tmp_path / "link"
    make(path)
    assert kind_of(path) == kind
    with pytest.raises(OSError, match=f"it is {kind}$"):
        open_plain(path)
    assert not is_plain(path)
    (tmp_path / "file").write_bytes(b"content")
    link.symlink_to("file")
    with open_plain(link) as file:
        assert file.read() == b"content"
    assert (kind_of(link), is_plain(link), kind_of(tmp_path / "none")) == (None, True, None)
