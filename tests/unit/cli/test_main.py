"""Commands answer any wrong use and any unreadable file with one line and exit code 2."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.tables.schema import VERSION
from tests.support.cases import each_case
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from collections.abc import Callable

READERS = [["show"], ["log", "--json"]]


def text_file(path: Path) -> None:
    """A file that is not a database."""
    path.write_text("hello")


def empty_file(path: Path) -> None:
    """A file without a byte."""
    path.touch()


def empty_directory(path: Path) -> None:
    """A directory where the file should be."""
    path.mkdir()


def other_database(path: Path) -> None:
    """Another program's SQLite database."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (title)")


def newer_version(path: Path) -> None:
    """Makes a recording in a format that this version does not know yet."""
    with contextlib.closing(sqlite3.connect(record_conversation(path))) as connection:
        connection.execute("PRAGMA user_version = 1000")


def truncated(path: Path) -> None:
    """Makes a recording, and removes the second half of its file."""
    os.truncate(record_conversation(path), path.stat().st_size // 2)


def headless(path: Path) -> None:
    """A recording whose list of tables is overwritten."""
    content = record_conversation(path).read_bytes()
    path.write_bytes(content[:100] + bytes(400) + content[500:])


def broken_schema(path: Path) -> None:
    """A recording whose list of tables holds nonsense, with a line break in it."""
    content = record_conversation(path).read_bytes()
    path.write_bytes(content.replace(b"CREATE TABLE", b"CREATE T\n\x1b[E"))


def empty_log(path: Path) -> None:
    """Makes an empty capture log without a database."""
    path.with_name(f"{path.name}.log").touch()


def other_log(path: Path) -> None:
    """A log of another program."""
    path.with_name(f"{path.name}.log").write_text("GET / 200\n" * 9)


def lost_database(path: Path) -> None:
    """Makes a capture log whose beginning was in a database that is now deleted."""
    with LogWriter(path) as recorder:
        handshake(recorder)
        recorder.index()
        recorder.trim()
        handshake(recorder)
    path.unlink()


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("command", READERS, ids=" ".join)
@pytest.mark.parametrize(
    ("make", "answer"),
    [
        (text_file, "it is not a SQLite database"),
        (empty_file, "it is empty"),
        (empty_directory, "is a directory without recordings: expected a recording; "),
        (other_database, "it is a SQLite database of another program"),
        (newer_version, f"expected at most format {VERSION}, got 1000; upgrade acp-proxy"),
        (truncated, "it is damaged (database disk image is malformed)"),
        (headless, "it is damaged (database disk image is malformed)"),
        (broken_schema, "it is damaged (malformed database schema"),
        (empty_log, "its log is empty"),
        (other_log, "it has no header of a capture log"),
        (lost_database, "the log's beginning was in "),
    ],
)
def test_an_unreadable_file_is_reported(
    tmp_path: Path, command: list[str], make: Callable[[Path], None], answer: str
) -> None:
    """The error of a command about an unreadable recording says what the file is or lacks."""
    make(tmp_path / "x.db")
    before = {entry: entry.stat().st_size for entry in tmp_path.iterdir()}
    actual = complaint("inspect", *command, tmp_path / "x.db")
    assert answer in actual
    assert str(tmp_path / "x.db") in actual
    assert {entry: entry.stat().st_size for entry in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", [["show"], ["log"]], ids=" ".join)
@pytest.mark.parametrize(
    ("word", "answer"),
    [
        (
            "nope",
            "no recording named 'nope' in {}: expected a path, a part of a name, the start of an",
        ),
        ("nope.db", "no recording at nope.db; `acp-proxy list` shows all recordings"),
        ("/nope/x", "no recording at /nope/x; `acp-proxy list` shows all recordings"),
        (
            "aa",
            "'aa' matches 2 recordings: two.db (aabb), one.db (aacc); give more of the name or",
        ),
    ],
)
def test_an_unknown_or_ambiguous_recording_is_reported(
    tmp_path: Path, command: list[str], word: str, answer: str
) -> None:
    """`show` and `log` say whether no recording has the given name, or whether several match."""
    record_conversation(tmp_path / "one.db", id="aacc", wall=10**18)
    record_conversation(tmp_path / "two.db", id="aabb")
    assert complaint("inspect", *command, word, home=tmp_path).startswith(answer.format(tmp_path))


def test_latest_in_an_empty_directory(tmp_path: Path) -> None:
    """If there is no recording, the error of a command about `latest` says how to make one."""
    assert complaint("inspect", "show", "latest", home=tmp_path) == (
        f"no recording in {tmp_path}; put `acp-proxy record --` before an agent's command"
    )


@each_case(
    ("arguments", "answer"),
    [
        (["--bogus"], "no such option '--bogus'; see `acp-proxy --help`"),
        (["bogus"], "no such command 'bogus'; see `acp-proxy --help`"),
        (["inspect", "--bogus"], "no such option '--bogus'; see `acp-proxy inspect --help`"),
        (["inspect", "bogus"], "no such command 'bogus'; see `acp-proxy inspect --help`"),
        (["inspect", "note"], "missing argument 'REC'; see `acp-proxy note --help`"),
        (
            ["inspect", "show", "--bogus", "x"],
            "no such option '--bogus'; see `acp-proxy show --help`",
        ),
        (
            ["inspect", "log", "--seq", "x", "y"],
            "--seq takes a number, not 'x': `acp-proxy log y --seq 1`; see `acp-proxy log --help`",
        ),
        (
            ["inspect", "log", "--seq", "0", "y"],
            "invalid value for '--seq': 0 is not in the range x>=1; see `acp-proxy log --help`",
        ),
        (
            ["inspect", "list", "a", "b"],
            "got unexpected extra argument (b); see `acp-proxy list --help`",
        ),
        (["record", "--bogus"], "no such option '--bogus'; see `acp-proxy record --help`"),
        (["record"], "missing argument '-- AGENT [ARGS]...'; see `acp-proxy record --help`"),
        (
            ["record", "--max-size", "big", "--", "agent"],
            "invalid value for '--max-size': 'big' is not a size: expected bytes, such as 500, "
            "64k, 1.5MB or 2GiB; see `acp-proxy record --help`",
        ),
        (
            ["record", "--redact", "all", "--", "agent"],
            "invalid value for '--redact': 'all' is not a redaction level: expected secrets, "
            "private or none; see `acp-proxy record --help`",
        ),
        (
            ["record", "--name", "a/b", "--", "agent"],
            "invalid value for '--name': 'a/b' cannot be a name: expected printable UTF-8 of at "
            "most 200 bytes without a slash, not beginning with . or -, and not the word latest; "
            "see `acp-proxy record --help`",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use(arguments: list[str], answer: str) -> None:
    """A command refuses an unknown option, command or value by one line that names its help."""
    actual = complaint(*arguments)
    assert actual.split(";")[-1] == answer.split(";")[-1]
    assert actual.replace('"', "'") == answer


def test_wrong_use_in_the_environment(tmp_path: Path) -> None:
    """If a variable such as ACP_PROXY_LOG_SEQ has a wrong value, `log` names the option `--seq`."""
    path = record_conversation(tmp_path / "x.db")
    assert complaint("inspect", "log", path, ACP_PROXY_LOG_SEQ="x").startswith(
        "--seq takes a number, not 'x'"
    )


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["inspect", "-h"], ["record", "-h"]])
def test_every_command_has_help(arguments: list[str]) -> None:
    """Each command prints its help on stdout."""
    result = run(*arguments)
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: acp-proxy")
    assert result.stderr == ""


def test_a_variable_called_version_is_not_ours(tmp_path: Path) -> None:
    """The environment variable ACP_PROXY_VERSION has no effect on commands such as `list`."""
    assert run("inspect", "list", home=tmp_path, ACP_PROXY_VERSION="1.2").exit_code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_disk_is_reported_in_one_line(options: tuple[str, ...]) -> None:
    """If stdout is on a full disk, `log` prints an error of one line and exits with 2."""
    recording = str(Path(__file__).parents[3] / "recordings" / "tour.db")
    command = [sys.executable, "-m", "acp_proxy", "inspect", "log", recording, *options]
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2
    assert result.stderr == b"acp-proxy: cannot write the output: No space left on device\n"


def test_a_closed_stdout_gives_no_traceback() -> None:
    """If stdout is closed, a command ends without an error and without a traceback."""
    recording = str(Path(__file__).parents[3] / "recordings" / "hello.db")
    command = f"exec '{sys.executable}' -m acp_proxy inspect show '{recording}' >&-"
    result = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, check=False)
    assert (result.returncode, result.stderr) == (0, b"")
