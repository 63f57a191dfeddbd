"""Tests warnings about words with an unexpected meaning, and `--follow`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.opening import mapped
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOUR_NS = 3600 * 10**9


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory with an older recording of the current directory, and a newer one."""
    here, home = tmp_path / "a", tmp_path / "recordings"
    here.mkdir()
    home.mkdir()
    monkeypatch.chdir(here)
    record_conversation(home / "old.db", id="aaaa", cwd=str(here), wall=HOUR_NS)
    record_conversation(home / "newer.db", id="bbbb", cwd="/b", wall=2 * HOUR_NS)
    return home


@pytest.fixture
def running(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogWriter]:
    """A recording that runs in another directory until it is followed."""
    with LogWriter(home / "run.db", id="cccc", cwd="/c", wall=3 * HOUR_NS) as recorder:
        handshake(recorder)
        monkeypatch.setattr("time.sleep", lambda _: recorder.abandon())
        yield recorder


@pytest.mark.parametrize(
    "command",
    [["log"], ["show"], ["stats"], ["note"], ["export"], ["search", "x"]],
    ids=lambda words: words[0],
)
def test_latest_says_that_it_passes_over_a_newer_one(home: Path, command: list[str]) -> None:
    """`latest` means the latest recording of this directory; stderr names a newer one elsewhere."""
    words = ["search", "x", "latest"] if command[0] == "search" else command
    if command[0] != "search":
        words = [command[0], "latest", *command[1:]]
    assert (
        "acp-proxy: 'latest' means old.db, which is the latest of this directory; the newer"
        " newer.db was made in /b\n"
    ) in run("inspect", *words, home=home).stderr


def test_the_newest_recording_of_all_gives_no_warning(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If `latest` is the newest of all recordings, commands print no warning about `latest`."""
    monkeypatch.chdir(home)
    assert run("inspect", "show", "latest", home=home).stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        ["report", "old", "newer.db", "-o", "page.html"],
        ["log", "old", "method:initialize", "newer"],
        ["transcript", "old", "latest"],
        ["stats", "old", "bbbb"],
        ["export", "old", "{home}/newer.db", "-o", "out.jsonl"],
        ["diff", "old", "newer", "newer"],
    ],
    ids=lambda words: words[0],
)
def test_a_recording_is_no_filter(home: Path, words: list[str]) -> None:
    """A command refuses the name of a recording in the place of a filter."""
    words = [word.format(home=home) for word in words]
    refused = next(word for word in words[2:] if "newer" in word or word in ("latest", "bbbb"))
    assert complaint("inspect", *words, home=home).startswith(
        f"{refused!r} is a recording; expected a FILTER: "
    )
    assert [*home.parent.joinpath("a").iterdir()] == []
    assert run("inspect", "log", "old", "text:newer", home=home).exit_code == 0


def test_an_existing_file_as_second_word_is_a_filter(home: Path) -> None:
    """`log REC app.py` takes `app.py` as a filter, even if there is a file `app.py`."""
    home.parent.joinpath("a", "app.py").write_text("")
    home.parent.joinpath("a", "app.log").write_text("")
    record_conversation(home / "failed.db", id="cccc")
    for word in ("app.py", "app", "failed"):
        assert run("inspect", "log", "old", word, home=home).exit_code == 0


@pytest.mark.parametrize("word", ["newer", "newer.db", "bbbb"])
def test_a_file_that_hides_a_recording_is_named(home: Path, word: str) -> None:
    """If a file in this directory has a recording's name, `show` reads the file.

    A note on stderr names the file and the recording.
    """
    here = home.parent / "a"
    record_conversation(here / f"{word.removesuffix('.db')}.db", id="eeee", cwd=str(here))
    assert run("inspect", "show", word, home=home).stderr.startswith(
        f"acp-proxy: {word!r} means the file {word.removesuffix('.db')}.db in this"
        f" directory, not the recording {home}/newer.db\n"
    )


def test_a_recording_in_its_own_directory_hides_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the recordings directory, `show` reads a recording by name without a warning."""
    monkeypatch.chdir(home)
    assert run("inspect", "show", "newer", home=home).stderr == ""


def test_following_prefers_what_runs(home: Path, running: LogWriter) -> None:
    """`log --follow latest` prefers a running recording to one that has ended."""
    result = run("inspect", "log", "latest", "--follow", home=home)
    assert "initialize" in result.stdout
    assert result.stderr == f"acp-proxy: the recording has ended: {running.path}\n"


def test_following_says_that_it_passes_over_a_newer_one(home: Path, running: LogWriter) -> None:
    """If a newer recording has ended, `log --follow latest` follows the running one.

    A note on stderr names both recordings.
    """
    record_conversation(home / "brief.db", id="dddd", cwd="/d", wall=4 * HOUR_NS)
    told = run("inspect", "log", "latest", "--follow", home=home).stderr.splitlines()
    assert told == [
        "acp-proxy: 'latest' means run.db, which is running; the newer brief.db was made in /d",
        f"acp-proxy: the recording has ended: {running.path}",
    ]


def test_following_waits_for_the_next_recording(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If no recording is running, `log latest --follow` waits for the next recording."""
    with contextlib.ExitStack() as made:

        def begin(_: float) -> None:
            recorder = made.enter_context(LogWriter(home / "next.db", id="eeee", wall=5 * HOUR_NS))
            handshake(recorder)
            monkeypatch.setattr("time.sleep", lambda _: recorder.abandon())

        monkeypatch.setattr("time.sleep", begin)
        result = run("inspect", "log", "latest", "--follow", home=home)
    assert "initialize" in result.stdout
    assert result.stderr.splitlines() == [
        f"acp-proxy: no recording is running in {home}; waiting for the next one, until Ctrl-C",
        f"acp-proxy: the recording has ended: {home}/next.db",
    ]


def test_ctrl_c_ends_the_wait(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends `log --follow` while it waits for the next recording."""

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    result = run("inspect", "log", "latest", "--follow", home=home)
    assert result.exit_code == 130
    assert "waiting for the next one" in result.stderr


def test_a_removed_working_directory_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the directory in which a command runs was removed, the command still finds recordings."""
    path = record_conversation(tmp_path / "story.db")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        for word in (str(path), "story", "latest"):
            shown = run("inspect", "show", word, home=tmp_path)
            assert shown.exit_code == 0, shown.output
        assert "cannot write x.jsonl" in complaint("inspect", "export", path, "-o", "x.jsonl")
    finally:
        monkeypatch.chdir(tmp_path)


THINGS = range(250)


def where(number: int) -> tuple[int, int, bool]:
    """Returns a number, the id of this process, and whether Ctrl-C would end this process."""
    return number, os.getpid(), signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def broken(number: int) -> int:
    """Raises ZeroDivisionError for the number 130."""
    return 1 // (number - 130)


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the machine appear to have two processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


@pytest.mark.skipif(sys.platform != "linux", reason="expected Linux, where forks are used")
def test_many_are_shared_among_processes() -> None:
    """If several processes read many recordings for `list`, the rows keep their order."""
    actual = list(mapped(where, THINGS))
    assert [number for number, _, _ in actual] == list(THINGS)
    assert os.getpid() not in {process for _, process, _ in actual}
    assert not any(is_ended for _, _, is_ended in actual)


def test_few_are_looked_at_here() -> None:
    """If `list` reads only three recordings, it starts no other processes."""
    actual = list(mapped(where, range(3)))
    assert [(number, process) for number, process, _ in actual] == [
        (number, os.getpid()) for number in range(3)
    ]


def test_other_systems_use_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """On systems other than Linux, `list` reads even many recordings in one process."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert {process for _, process, _ in mapped(where, THINGS)} == {os.getpid()}


def test_a_failure_is_raised() -> None:
    """If a process that reads recordings for `list` fails, `list` raises its error."""
    with pytest.raises(ZeroDivisionError):
        list(mapped(broken, THINGS))
