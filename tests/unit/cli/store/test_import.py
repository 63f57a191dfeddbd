"""``acp-proxy import`` and ``-`` accept recordings as text."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.store.import_ import HeadedInput
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, record_conversation
from tests.support.text_recordings import HEADER, rows_of_recording, run_with, text_of


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """The text form of a recording, outside of the recordings directory."""
    source = tmp_path / "source"
    source.mkdir()
    path = source / "story.jsonl"
    path.write_bytes(text_of(record_conversation(source / "x.db")))
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A recordings directory that does not exist yet."""
    return tmp_path / "home"


def test_a_database_is_made_in_the_recordings_directory(text: Path, home: Path) -> None:
    """`import` of `story.jsonl` makes the database `story.db` in the recordings directory."""
    result = run("inspect", "import", text, home=home)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{home / 'story.db'}\n"
    assert home.stat().st_mode & 0o777 == 0o700
    assert rows_of_recording(home / "story.db") == rows_of_recording(text)
    assert run("inspect", "show", "story", home=home).exit_code == 0


def test_a_name_that_is_taken_gets_a_number(text: Path, home: Path) -> None:
    """If a recording `story` exists, `import` names another recording of this name `story-2`."""
    run("inspect", "import", text, home=home)
    before = (home / "story.db").read_bytes()
    result = run("inspect", "import", text, home=home)
    assert result.stdout == f"{home / 'story-2.db'}\n"
    assert result.stderr == (
        f"acp-proxy: {home / 'story.db'} exists; importing into {home / 'story-2.db'}\n"
    )
    assert (home / "story.db").read_bytes() == before


def test_a_recording_can_be_named(text: Path, home: Path) -> None:
    """`import --name` sets the name of the recording."""
    assert run("inspect", "import", text, "--name", "n", home=home).stdout == f"{home / 'n.db'}\n"
    assert rows_of_recording(home / "n.db")["recording"][0]["name"] == "n"
    out = home / "o"
    result = run("inspect", "import", text, "--name", "n", "-o", out, home=home)
    assert result.stdout == f"{home / 'o.db'}\n"
    assert rows_of_recording(home / "o.db")["recording"][0]["name"] == "n"
    assert "cannot be a name" in complaint("inspect", "import", text, "--name", "a/b", home=home)


def test_several_are_imported_in_their_order(text: Path, home: Path) -> None:
    """`import` of several files prints the path of each new recording, in the given order."""
    other = text.with_name("other.jsonl")
    other.write_bytes(HEADER)
    result = run("inspect", "import", other, text, home=home)
    assert result.stdout == f"{home / 'other.db'}\n{home / 'story.db'}\n"
    said = complaint("inspect", "import", other, text, "--name", "n", home=home)
    assert said == "expected one file with --output or --name, got several"


def test_standard_input_is_named_as_it_was(home: Path) -> None:
    """`import` of a text form on standard input keeps the recording's name from the text form."""
    result = run_with(HEADER, "inspect", "import", "-", home=home)
    assert result.stdout == f"{home / 'x.db'}\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello\n", "none of its lines is an ACP message; `acp-proxy record` makes a recording"),
        (b"", "it is empty"),
        (b"{" * 500_000, "none of its lines is an ACP message; `acp-proxy record` makes"),
        (b'{"stream":"to-agent"}\n', "line 1: expected a header, got {"),
        (
            b'SQLite format 3\0\n{"jsonrpc":"2.0","id":1,"method":"initialize"}\n{',
            "line 1: expected the text form of a recording, got a database",
        ),
        (HEADER + b"\n{}\n", "line 3: expected one of 'stream', 'event' or 'fired', got {}"),
        (HEADER.replace(b":1,", b":9,"), "expected at most format 1, got 9; upgrade acp-proxy"),
    ],
)
def test_a_wrong_text_leaves_nothing(home: Path, tmp_path: Path, content: bytes, said: str) -> None:
    """If a line of a text form is wrong, `import` names the line, and makes no database."""
    path = tmp_path / "wrong.jsonl"
    path.write_bytes(content)
    error = complaint("inspect", "import", path, home=home)
    assert error.startswith(f"cannot read {path} as a recording: {said}")
    assert not list(home.iterdir())


def test_a_file_that_cannot_be_opened_is_reported(text: Path, home: Path, tmp_path: Path) -> None:
    """If `import` cannot read its input or write its output, the error names the path and why."""
    assert complaint("inspect", "import", tmp_path / "no", home=home).endswith(
        "no such file or directory"
    )
    assert complaint("inspect", "import", tmp_path, home=home).endswith("is a directory")
    there = complaint("inspect", "import", text, "-o", tmp_path / "no" / "x.db", home=home)
    assert there == f"cannot make a database in {tmp_path}/no: no such file or directory"
    if (memory := type(text)("/proc/self/mem")).exists():  # whose first bytes nobody can read
        said = complaint("inspect", "import", memory, home=home)
        assert said == f"cannot read {memory} as a recording: input/output error"
    said = complaint("inspect", "import", text, "-o", tmp_path, home=home)
    assert said == f"--output names the new database: expected a file, got {str(tmp_path)!r}"


@pytest.mark.parametrize("command", ["show", "log", "export"])
def test_every_command_reads_standard_input(command: str) -> None:
    """Every command accepts `-` for a text form on standard input."""
    result = run_with(HEADER, "inspect", command, "-")
    assert (result.exit_code, result.stderr) == (0, "")
    result = run_with(b"hello\n", "inspect", command, "-")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "acp-proxy: cannot read standard input as a recording: line 1: expected a header"
    )
    assert result.stderr.count("\n") == 1


def test_a_terminal_on_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If standard input is a terminal, commands refuse `-` as a recording."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stdin in (Terminal(), None):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(Refusal, match="expected a pipe or a file there, got a terminal"):
            open_recording("-")


def test_a_text_form_of_an_unfinished_recording_warns(tmp_path: Path) -> None:
    """If a text form was exported before the recording had ended, `show` prints a warning."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        (tmp_path / "y.jsonl").write_bytes(text_of(recorder.path))
    result = run("inspect", "show", tmp_path / "y.jsonl")
    assert result.exit_code == 0
    assert result.stderr == (
        f"acp-proxy: {tmp_path / 'y.jsonl'} was exported before the recording had ended\n"
    )


def test_a_path_that_is_not_a_file_is_refused_at_once(tmp_path: Path, home: Path) -> None:
    """`import` refuses a pipe or a device as a recording, and does not open it."""
    os.mkfifo(tmp_path / "story.jsonl")
    for path, kind in ((tmp_path / "story.jsonl", "a pipe"), ("/dev/null", "a device")):
        result = run("inspect", "import", path, home=home)
        assert result.exit_code == 2
        assert result.stderr.endswith(f"it is {kind}\n")
    assert not list(home.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="expected a terminal of Unix")
@pytest.mark.parametrize("head", [1 << 10, 4])
def test_nothing_is_read_after_the_end_of_what_a_terminal_sends(head: int) -> None:
    """If a log is pasted on a terminal, `import` reads nothing after Ctrl-D."""
    import pty
    import termios

    keys, terminal = pty.openpty()
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)
    os.write(keys, b"one\nsecond\n\x04later\n\x04")
    with os.fdopen(terminal, "rb") as pasted:
        headed = HeadedInput(pasted, head, Path("-"))
        assert list(headed.lines()) == [b"one\n", b"second\n"]
        assert list(headed.lines())[:1] == [b"one\n"]
        assert pasted.readline() == b"later\n"
    os.close(keys)
