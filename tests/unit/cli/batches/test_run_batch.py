"""Tests batches as they are called, with words, options and results, in this process."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import click
import pytest

from acp_proxy.base.errors import BadResults
from acp_proxy.batches.batch import Job
from acp_proxy.batches.results import FirstDivergence, JobVerdict, ResultsFile, VerdictKind
from acp_proxy.batches.shipments import packed, unpacked
from acp_proxy.cli.batch_options import (
    BatchCommand,
    BatchOptions,
    batch_options,
    option_words,
    split_words,
)
from acp_proxy.cli.batches import run_batch
from acp_proxy.cli.batches.batch_screen import BatchScreen, lines
from acp_proxy.cli.batches.run_batch import run_many
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.screens.styled_text import Screen
from tests.support.batch_recordings import CHECKED, Kinds, write_recordings
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake

RECORDINGS = Path(__file__).parents[4] / "recordings"
COUNT = 40


class Inline:
    """An executor that runs jobs in this process."""

    in_flight = 4

    def submit(self, job: Job) -> Future[JobVerdict]:
        """Runs a job in this process, and returns its verdict as a future."""
        # Not at the top, since the import takes long, and pytest imports this file in each worker.
        from acp_proxy.cli.batches.batch_worker import Printed, perform

        future: Future[JobVerdict] = Future()
        future.set_result(perform(job, Printed.__new__(Printed)))
        return future

    def verdict(self, future: Future[JobVerdict], _: Job) -> JobVerdict:
        """Returns the verdict of a job that was submitted."""
        return future.result()

    def shutdown(self, *, stop: bool) -> None:
        """Does nothing, since this executor has nothing to end."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kinds]:
    """Makes a directory of recordings, and returns it with the expected kinds of verdicts."""
    directory = tmp_path_factory.mktemp("checked")
    return directory, write_recordings(directory / "recs", COUNT, CHECKED)


@pytest.fixture
def here(expected: tuple[Path, Kinds], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Makes the directory of the recordings the current directory."""
    (tmp_path / "recs").symlink_to(expected[0] / "recs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_batch, "executor_of", lambda *_: Inline())
    return tmp_path


def verdicts(*paths: Path) -> dict[str, Any]:
    """Returns the verdicts in results files by the names of their recordings."""
    actual = {}
    for path in paths:
        for verdict in map(json.loads, path.read_bytes().splitlines()[1:]):
            assert verdict["recording"] not in actual
            del verdict["seconds"]
            actual[verdict["recording"]] = verdict
    return actual


def test_a_recording_of_each_kind_has_its_verdict(here: Path, expected: tuple[Path, Kinds]) -> None:
    """`check --results` of a directory writes all verdicts, and prints those that are not clean."""
    whole = run("check", "recs", "--results", "whole.jsonl", "--junit", "whole.xml")
    assert whole.exit_code == 2
    once = verdicts(here / "whole.jsonl")
    actual = {
        name.removeprefix("recs/"): (item["kind"], item["exit"]) for name, item in once.items()
    }
    assert actual == expected[1]
    bad = [name for name, item in once.items() if item["kind"] != "clean"]
    assert sorted(line.split()[1] for line in whole.stdout.splitlines()[:-1]) == sorted(bad)
    suite = ET.parse("whole.xml").getroot()
    assert {item.get("name") for item in suite.iter("testcase")} == {*once}
    assert suite.get("failures") == str(len(bad))


def test_what_is_still_being_recorded_is_named(here: Path) -> None:
    """If `check` reads recordings that are still being recorded, stderr names each of them."""
    (here / "some").mkdir()
    shutil.copy(RECORDINGS / "hello.db", here / "some")
    with LogWriter(here / "some" / "live.db") as recorder:
        handshake(recorder)
        recorder.index()
        result = run("check", "some")
        expected = "acp-proxy: some/live.db is still being recorded; later frames are not checked\n"
        assert (result.exit_code, result.stderr) == (0, expected)


def test_a_changed_recording_is_checked_anew(here: Path) -> None:
    """If `check --results` is run again, only new and changed recordings are checked."""
    (here / "some").mkdir()
    for name in ("hello", "crash", "tour"):
        shutil.copy(RECORDINGS / f"{name}.db", here / "some")
    words = ("check", "some", "--results", "r.jsonl")
    first = run(*words)
    assert (first.exit_code, first.stdout.count("\n")) == (1, 2)
    again = run(*words)
    assert again.stdout.startswith("3 recordings (3 done before): 2 clean, 1 has findings")
    assert (again.exit_code, again.stdout.count("\n")) == (1, 1)
    shutil.copy(RECORDINGS / "tour.db", here / "some" / "crash.db")
    (here / "some" / "hello.db").unlink()
    last = run(*words)
    assert last.stdout.startswith("2 recordings (1 done before): 2 clean; ")
    assert last.exit_code == 0
    lines = (here / "r.jsonl").read_bytes().splitlines()[1:]
    *before, last_named = (json.loads(line)["recording"] for line in lines)
    assert sorted(before) == ["some/crash.db", "some/hello.db", "some/tour.db"]
    assert last_named == "some/crash.db"


def test_what_is_no_plain_file_is_not_read(here: Path) -> None:
    """If a directory contains a pipe, `check` of the directory reports the pipe as unreadable."""
    (here / "some").mkdir()
    shutil.copy(RECORDINGS / "hello.db", here / "some")
    os.mkfifo(here / "some" / "pipe.jsonl")
    os.mkfifo(here / "some" / "pipe.db")
    for _ in range(2):
        result = run("check", "some", "--results", "r.jsonl")
        assert (result.exit_code, result.stderr) == (2, "")
        kinds = {name: verdict["kind"] for name, verdict in verdicts(here / "r.jsonl").items()}
        assert kinds == {
            "some/hello.db": "clean",
            "some/pipe.db": "unreadable",
            "some/pipe.jsonl": "unreadable",
        }
    result = run("check", "some/*.db")
    assert "unreadable    some/pipe.db  cannot read some/pipe.db: it is a pipe" in result.stdout


def test_a_long_file_name_does_not_hide_the_reason(here: Path) -> None:
    """If a file name is very long, `check --results` shortens the name and keeps the reason."""
    name = f"{'n' * 250}.db"
    (here / "some").mkdir()
    shutil.copy(RECORDINGS / "hello.db", here / "some" / name)
    result = run("check", "some", "--results", "r.jsonl")
    assert result.exit_code == 2
    (verdict,) = verdicts(here / "r.jsonl").values()
    assert verdict["kind"] == "unreadable"
    assert verdict["error"].startswith("cannot read some/nnn")
    assert verdict["error"].endswith("nnn.db as a recording: file name too long")
    assert len(verdict["error"]) == 300


def test_a_part_of_a_batch_has_its_own_verdict(here: Path) -> None:
    """If `check --results` is repeated for fewer recordings, only those count in its exit code."""
    for name in ("hello", "crash"):
        shutil.copy(RECORDINGS / f"{name}.db", here)
    assert run("check", "*.db", "--results", "r.jsonl").exit_code == 1
    before = (here / "r.jsonl").read_bytes()
    part = run("check", "hello.db", "--results", "r.jsonl", "--junit", "r.xml")
    assert (part.exit_code, part.stdout) == (0, "1 recording (1 done before): 1 clean\n")
    assert 'tests="1"' in (here / "r.xml").read_text()
    assert (here / "r.jsonl").read_bytes() == before


def test_a_batch_finds_what_the_command_finds(here: Path) -> None:
    """`check` of one recording has the same findings with and without `--results`."""
    words = ("check", RECORDINGS / "tour.db", "--fail-on=info", "--ignore-rule", "meta")
    report = run(*words, "--json")
    variables: dict[str, Any] = {
        "ACP_PROXY_CHECK_FAIL_ON": "info",
        "ACP_PROXY_CHECK_IGNORE_RULE": "meta",
    }
    result = run("check", RECORDINGS / "tour.db", "--results", "r.jsonl", **variables)
    assert (report.exit_code, result.exit_code) == (1, 1)
    (recording,) = json.loads(report.stdout)["recordings"]
    (verdict,) = verdicts(here / "r.jsonl").values()
    assert verdict["findings"] == recording["findings"]
    assert verdict["broken"] == len(recording["findings"])
    header = json.loads((here / "r.jsonl").read_bytes().splitlines()[0])
    assert header["words"] == ["--ignore-rule=meta", "--fail-on=info", "--"]


def test_a_file_name_pattern_stands_for_its_recordings(here: Path) -> None:
    """`check --json` prints the same for a file name pattern as for the names that match it."""
    for name in ("hello", "crash"):
        shutil.copy(RECORDINGS / f"{name}.db", here)
    named = run("check", "crash.db", "hello.db", "--json")
    assert run("check", "*.db", "--json").stdout == named.stdout
    assert json.loads(named.stdout)["exit"] == 1


@pytest.mark.usefixtures("here")
def test_a_batch_that_cannot_write_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """If `check` cannot write its results file, it ends with an error of one line."""

    def fail(self: ResultsFile, _: JobVerdict) -> None:
        raise BadResults(self.path, "cannot write: no space left on device")

    monkeypatch.setattr(ResultsFile, "add", fail)
    said = complaint("check", "recs", "--results", "r.jsonl")
    assert said == "cannot use r.jsonl as a results file: cannot write: no space left on device"


@pytest.mark.usefixtures("here")
def test_no_secret_of_an_error_is_in_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an error about a recording has a secret, `check --results` masks it in its file."""

    class Refusing(Inline):
        def verdict(self, future: Future[JobVerdict], _: Job) -> JobVerdict:
            raise OSError(f"403 {future.result().recording}?token=hunter2hunter2\x1b[2J")

    monkeypatch.setattr(run_batch, "executor_of", lambda *_: Refusing())
    result = run("check", RECORDINGS / "hello.db", "--results=r.jsonl")
    assert result.exit_code == 3
    text = Path("r.jsonl").read_text()
    assert "hunter2" not in result.output + text
    assert "\\u001b" not in text
    monkeypatch.setattr(run_batch, "executor_of", lambda *_: Inline())
    result = run("check", RECORDINGS / "hello.db", "--results=r.jsonl")
    assert result.stdout.startswith("1 recording: 1 clean; "), "what was lost is tried again"


@pytest.mark.usefixtures("here")
def test_a_file_that_cannot_be_read_ends_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """If `check` of a directory cannot read a file that an option names, it ends with an error."""

    def refuse(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(run_batch, "sha256_of", refuse)
    Path("known.json").write_text("{}")
    job = Job("check", files=("known.json",))
    with pytest.raises(Refusal, match=r"cannot read known.json: "):
        run_many(["recs"], job, BatchOptions(), None)


def test_a_file_of_rules_travels_with_each_verification(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`verify` of several recordings sends the contents of its `--rules` file to each worker."""
    jobs: list[Job] = []

    class Kept(Inline):
        def submit(self, job: Job) -> Future[JobVerdict]:
            """Keeps a job, and returns a clean verdict on it."""
            jobs.append(job)
            future: Future[JobVerdict] = Future()
            future.set_result(job.verdict(0, VerdictKind.CLEAN))
            return future

    monkeypatch.setattr(run_batch, "executor_of", lambda *_: Kept())
    monkeypatch.chdir(tmp_path)
    for text in ('ignore = ["/params/a"]\n', 'ignore = ["/params/b"]\n'):
        Path("rules.toml").write_text(text)
        result = run(
            "verify", RECORDINGS / "hello.db", "--rules=rules.toml", "--jobs=1", "--", "true"
        )
        assert result.exit_code == 0, result.output
    assert jobs[0].digest != jobs[1].digest
    way = packed(jobs[1])
    Path("rules.toml").unlink()
    (tmp_path / "there").mkdir()
    (option,) = unpacked(way, tmp_path / "there")[0].options
    name, _, place = option.partition("=")
    assert (name, Path(place).read_text()) == ("--rules", 'ignore = ["/params/b"]\n')


@pytest.mark.usefixtures("here")
def test_a_batch_ends_as_a_signal_does_also_without_its_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If its terminal is closed, a `check` of several recordings ends by SIGHUP."""

    def fail(_: BatchScreen) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(BatchScreen, "clear", fail)
    monkeypatch.setattr(BatchScreen, "end", fail)
    monkeypatch.setattr(ResultsFile, "add", lambda *_: signal.raise_signal(signal.SIGHUP))
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests run in `nohup`
    try:
        assert run("check", "recs", "--results", "r.jsonl").exit_code == 129
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["check", "recs", "--jobs=1", "--json"], "--json does not work in a batch"),
        (["check", "recs", "--results=x", "--baseline=x"], "--baseline does not work in a batch"),
        (["check", "recs", "--jobs=1", "--junit=no/x"], "cannot write no/x"),
        (["check", "-", "--jobs=1"], "expected no recording on standard input"),
        (["check", "recs", "--rule=nosuch"], "no rule is named 'nosuch'"),
        (["check", "recs", "--jobs=0"], "0 is not in the range"),
        (
            ["check", "recs", "--results=recs"],
            "cannot write: it is a symbolic link",
        ),
        (["check", "none/*.db"], "no recordings in none/*.db"),
        (["check", "none", "--jobs=1"], "no recording named 'none'"),
        (["verify", "recs", "--report=x", "--", "true"], "--report is for one recording"),
        (["verify", "--", "true"], "missing argument 'RECORDING...'"),
        (["verify", "recs", "--"], "missing argument '-- AGENT"),
        (["verify", "recs", "--", ""], "expected an agent's command"),
        (["verify", "recs", "--output=recs/0/0000-clean.jsonl", "--", "true"], "cannot make"),
        (["faults", "sweep", "recs", "--plans=@all", "--client=true", "--json"], "--json is"),
        (["faults", "sweep", "recs", "--plans=nosuch", "--client=true"], "nosuch"),
        (["faults", "sweep", "--plans=@all", "--client=true"], "missing argument 'REC...'"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_use_is_one_line(words: list[str], why: str) -> None:
    """`check`, `verify` and `faults sweep` of a directory refuse wrong arguments by one line.

    Examples are `--json`, an unknown rule, and a file that cannot be written.
    """
    assert why in complaint(*words)


@pytest.mark.parametrize("word", [".", "home"])
def test_new_runs_are_not_recorded_among_those_to_verify(here: Path, word: str) -> None:
    """`verify` of a directory refuses to record new runs into the same directory."""
    (here / "home").mkdir()
    said = complaint("verify", word, "--", "true", home=here / "home")
    assert said.startswith(f"new runs would be recorded in {here}/home, which is in a directory to")


@click.command(cls=BatchCommand)
@click.argument("recording")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--check", is_flag=True)
@click.option("--strict/--lenient", default=True)
@click.option("-i", "--ignore", multiple=True)
@click.option("--report")
@batch_options
@click.pass_context
def example(ctx: click.Context, /, **values: Any) -> tuple[Any, ...]:
    """Returns what a job of a batch gets: the recording, the words around `--`, the options."""
    more, command = split_words(ctx, values["command"])
    return values["recording"], more, command, [*option_words(ctx, ["report"])]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a -- b c", ("a", (), ("b", "c"), [])),
        ("a b c", ("a", (), ("b", "c"), [])),
        ("a b c -- d -- e", ("a", ("b", "c"), ("d", "--", "e"), [])),
        (
            "a --lenient b --check -- d --check",
            ("a", ("b",), ("d", "--check"), ["--check", "--lenient"]),
        ),
        ("-i x a -i=y --report r -- b", ("a", (), ("b",), ["--ignore=x", "--ignore==y"])),
        ("--jobs 3 a --results x -- b", ("a", (), ("b",), [])),
        ("a -i -- b", ("a", (), ("b",), ["--ignore=--"])),
    ],
)
def test_words_before_the_dashes_are_recordings(words: str, expected: tuple[Any, ...]) -> None:
    """In `verify`, words before `--` are recordings; those after `--` are the agent's command."""
    assert example.main(words.split(), standalone_mode=False) == expected


def test_variables_are_repeated_as_options() -> None:
    """A command on several recordings passes options from environment variables to its workers."""
    env = {"X_LENIENT": "1", "X_STRICT": "0", "X_CHECK": "1", "X_IGNORE": "/a /b", "X_JOBS": "3"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        actual = example.main(["a", "b"], standalone_mode=False, auto_envvar_prefix="X")
    assert actual[3] == ["--check", "--lenient", "--ignore=/a", "--ignore=/b"]


def test_a_verdict_is_one_line() -> None:
    """In `verify` of several recordings, each result is one line."""
    verdict = JobVerdict(
        *("a\x1b.db", "verify", "d", 1, VerdictKind.DIFFERS, 0.0),
        first_divergence=FirstDivergence(3, "it left"),
    )
    assert [*lines(verdict, Screen())] == ["differs       a\\x1b.db  #3: it left"]


def test_a_line_of_a_sweep_says_how_each_run_failed() -> None:
    """`faults sweep` of several recordings says for each failed plan how the client ended."""
    runs = (
        {"plan": "@x", "outcome": "crashed", "exit_code": 1, "output": "no module"},
        {"plan": "@y", "outcome": "not reached", "exit_code": 0, "output": ""},
    )
    verdict = JobVerdict("a", "faults sweep", "d", 1, VerdictKind.FAILED, 0.0, findings=runs)
    (line,) = lines(verdict, Screen())
    assert line == "failed        a  @x: crashed with 1: no module; @y: not reached"


def test_lines_are_in_the_order_of_names(capsys: pytest.CaptureFixture[str]) -> None:
    """`verify` of several recordings prints its results sorted by name."""
    screen = BatchScreen("abcd", [], clock=lambda: 0.0)

    def show(name: str) -> list[str]:
        screen.show(
            JobVerdict(
                *(name, "verify", "d", 1, VerdictKind.DIFFERS, 0.0),
                new_recording=f"r.runs/{name}.db",
                first_divergence=FirstDivergence(2, "it left"),
                ending="the agent ended with exit 1: no module",
            )
        )
        return [line.split()[1] for line in capsys.readouterr().out.splitlines()]

    assert [show(name) for name in ("b", "d", "a")] == [[], [], ["a", "b"]]
    screen.end()
    last, summary = capsys.readouterr().out.splitlines()
    assert last == "differs       d  #2: it left; the agent ended with exit 1: no module"
    assert summary == "4 recordings: 3 differ, 1 not done; <1 µs; new runs in r.runs"


def test_the_summary_counts_and_times() -> None:
    """On several recordings, the last line of `verify` counts all results, and has the duration."""
    now = iter([0.0, 754.0, 754.0])
    before = [VerdictKind.CLEAN] * 130 + [VerdictKind.DIFFERS]
    screen = BatchScreen(["a"] * 12, before, clock=lambda: next(now))
    assert screen.summary() == (
        "143 recordings (131 done before): 130 clean, 1 differs, 12 not done"
    )
    screen.show(JobVerdict("a", "verify", "d", 0, VerdictKind.CLEAN, 0.0))
    assert screen.summary() == (
        "143 recordings (131 done before): 131 clean, 1 differs, 11 not done; 12 min 34 s"
    )


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, `verify` of several recordings redraws its progress line below each result."""
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    clock = iter((0.0, 2.0, 2.0)).__next__
    screen = BatchScreen("abc", [VerdictKind.CLEAN] * 13, clock=clock)
    screen.show_progress()
    screen.show(JobVerdict("a", "verify", "d", 1, VerdictKind.DIFFERS, 0.0))
    screen.show(JobVerdict("b", "verify", "d", 0, VerdictKind.CLEAN, 0.0))
    screen.show(JobVerdict("c", "verify", "d", 0, VerdictKind.CLEAN, 0.0))
    bars = [part.removeprefix("acp-proxy: ") for part in shown.getvalue().split("\r\x1b[2K")]
    assert bars == [
        "",
        "13/16",
        "",
        "14/16, 1 not clean, about 4.0 s left",
        "",
        "15/16, 1 not clean, about 1.0 s left",
        "",
    ]
