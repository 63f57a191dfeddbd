"""Tests how reports are written into files, and which files they must not replace."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.output_files import (
    check_report_files,
    spare_recordings,
    write_files,
    write_reports,
    write_text,
)
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, handshake

if TYPE_CHECKING:
    from collections.abc import Iterator

HELLO = Path(__file__).parents[3] / "recordings" / "hello.db"
TOLD = "cannot write a report into the file of a recording: "
SWEEP = ("--plans", "@hung-permission", "--client", f"{sys.executable} {{agent}}")


@pytest.fixture
def golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recording in the current directory, which is the recordings directory, too."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(HELLO, tmp_path / "golden.db"))


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "golden.db", "--report", "golden.db", "--", "true"),
        ("verify", "golden.db", "--junit", "golden.db", "--", "true"),
        ("verify", "latest", "--report", "golden.db", "--", "true"),
        ("verify", "link", "--report", "golden.db", "--", "true"),
        ("verify", "golden.db", "--report", "golden.db.log", "--", "true"),
        ("replay", "golden.db", "--report", "golden.db"),
        ("replay", "golden", "--junit", "here/golden.db"),
        ("replay", "other.db", "golden.db", "--report", "golden.db"),
        ("inspect", "diff", "other.db", "golden", "--junit", "here/golden.db"),
        ("faults", "sweep", "latest", "--junit", "golden.db", *SWEEP),
    ],
)
def test_no_report_takes_the_place_of_a_recording(golden: Path, words: tuple[str, ...]) -> None:
    """A command refuses to write a report over a recording that it reads, even through a link."""
    Path("here").symlink_to(".")
    Path("link").symlink_to("golden.db")
    if "other.db" in words:
        shutil.copy(HELLO, "other.db")
    before = golden.read_bytes()
    there = sorted(Path().iterdir())
    assert complaint(*words, home=golden.parent).startswith(TOLD)
    assert golden.read_bytes() == before
    assert sorted(Path().iterdir()) == there


@pytest.mark.parametrize("option", ["--report", "--junit"])
@pytest.mark.parametrize(
    ("report", "is_there"),
    [
        ("here/new.db", False),
        ("new.db.log", False),
        ("new.db", True),
        ("here/new-2.db", True),
    ],
)
def test_no_report_takes_the_place_of_the_new_run(
    golden: Path, option: str, report: str, is_there: bool
) -> None:
    """`verify` refuses to write a report over the recording that it is about to make."""
    Path("here").symlink_to(".")
    if is_there:
        shutil.copy(HELLO, "new.db")
    there = sorted(Path().iterdir())
    words = ("verify", "golden.db", "-o", "new.db", option, report, "--", "true")
    assert complaint(*words, home=golden.parent) == f"{TOLD}{report}"
    assert sorted(Path().iterdir()) == there


@pytest.mark.parametrize("other", ["other.db", "hard.json", "text.jsonl", "left.db.log"])
def test_no_report_takes_the_place_of_any_other_recording(golden: Path, other: str) -> None:
    """`verify` refuses to write a report over any other recording, or over its capture log."""
    shutil.copy(HELLO, "other.db")
    Path("hard.json").hardlink_to(golden)
    with LogWriter(Path("left.db")) as recorder:
        handshake(recorder)
    run("inspect", "export", golden, "-o", "text.jsonl")
    before = Path(other).read_bytes()
    told = complaint("verify", "golden.db", "--report", other, "--", "true", home=golden.parent)
    assert told == f"{TOLD}{other}"
    assert Path(other).read_bytes() == before
    Path("report").write_text('{"recording": "golden.db"}')
    spare_recordings([Path("report"), Path("none"), Path("/dev/null")], [golden])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can say what stdin is")
def test_a_report_does_not_replace_the_file_on_standard_input(golden: Path) -> None:
    """`verify - --report FILE` refuses to overwrite the file that is its standard input."""
    text = golden.with_name("golden.jsonl")
    run("inspect", "export", golden, "-o", text)
    before = text.read_bytes()
    words = [sys.executable, "-m", "acp_proxy", "verify", "-", "--report", str(text), "--", "true"]
    with text.open("rb") as source:
        result = subprocess.run(words, stdin=source, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"acp-proxy: {TOLD}{text}\n"
    assert text.read_bytes() == before


@pytest.mark.parametrize("command", ["replay", "verify"])
@pytest.mark.parametrize("other", ["both", "here/both", "here/../here/both"])
def test_two_reports_are_not_written_into_one_file(golden: Path, command: str, other: str) -> None:
    """`replay` and `verify` refuse `--report` and `--junit` if both name the same file."""
    Path("here").mkdir()
    Path("here", "both").symlink_to("../both")
    words: list[str | Path] = [command, "--report", "both", "--junit", other, golden]
    told = complaint(*words, *(["--", "true"] if command == "verify" else []))
    assert told == f"cannot write two reports into one file: {golden.with_name('both')}"


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "golden.db", "--report", "place", "--", "true"),
        ("replay", "golden.db", "--junit", "place"),
        ("inspect", "diff", "golden.db", "golden.db", "--junit", "place"),
        ("faults", "sweep", "golden.db", "--junit", "place", *SWEEP),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_a_report_goes_into_a_plain_file(golden: Path, words: tuple[str, ...], kind: str) -> None:
    """A command refuses to write a report to a symbolic link or a pipe, and says which it is."""
    place, target = Path("place"), Path("target")
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(target)
    if kind == "link":
        target.write_text("mine")
    reason = "it is not a plain file" if kind == "pipe" else "it is a symbolic link"
    assert f"cannot write place: {reason}" in complaint(*words, home=golden.parent)
    assert target.exists() == (kind == "link")
    assert kind != "link" or target.read_text() == "mine"


def test_only_the_owner_can_read_a_report(tmp_path: Path) -> None:
    """A report of `--report` or `--junit` has the mode 600, even if it replaces a readable file."""
    umask = os.umask(0)
    try:
        for name in ("new", "old"):
            if name == "old":
                (tmp_path / name).write_text("last week's")
            write_text(tmp_path / name, "today's")
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
            assert (tmp_path / name).read_text() == "today's"
    finally:
        os.umask(umask)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["new", "old"]


def test_a_link_that_is_planted_meanwhile_is_not_followed(tmp_path: Path) -> None:
    """If a report's path became a symbolic link, `write_text` refuses it and keeps the target."""
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / "report").symlink_to(target)
    with pytest.raises(Refusal, match="it is a symbolic link"):
        write_text(tmp_path / "report", "x")
    assert target.read_text() == "mine"


def test_a_device_may_take_two_reports() -> None:
    """A command may write both `--report` and `--junit` to /dev/null."""
    check_report_files(Path("/dev/null"), Path("/dev/null"), None)
    write_text(Path("/dev/null"), "x")


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """If a report's path is a directory, `write_text` refuses it with an error of one line."""
    with pytest.raises(Refusal, match=r"^cannot write .*: it is not a plain file$"):
        write_text(tmp_path, "x")


def test_a_report_that_fails_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If one of a command's reports cannot be written, `write_reports` still writes the others."""
    assert write_reports((None, lambda: pytest.fail("made")))
    assert not write_reports((tmp_path, lambda: "x"), (tmp_path / "x", lambda: "hé"))
    assert (tmp_path / "x").read_text(encoding="utf-8") == "hé"
    assert capsys.readouterr() == (
        "",
        f"acp-proxy: cannot write {tmp_path}: it is not a plain file\n",
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
def test_a_replay_writes_the_reports_that_it_can(golden: Path) -> None:
    """If `replay --report` fails on a full disk, the report of `--junit` is still written."""
    words = [sys.executable, "-m", "acp_proxy", "replay", str(golden), "--report", "/dev/full"]
    result = subprocess.run(
        [*words, "--junit", "x.xml"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert result.returncode == 1
    first, *_ = result.stderr.splitlines()
    assert first == "acp-proxy: cannot write /dev/full: no space left on device"
    assert Path("x.xml").read_text(encoding="utf-8").startswith("<?xml")


def test_a_file_name_that_is_too_long_is_refused() -> None:
    """If a report's file name has 300 letters, `check_report_files` refuses it as too long."""
    name = "x" * 300
    with pytest.raises(Refusal, match=f"^cannot write {name}: file name too long$"):
        check_report_files(Path(name))


def test_a_failed_file_leaves_nothing(tmp_path: Path) -> None:
    """If a command is interrupted while it writes a report or export, no partial file remains."""

    def fail() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_files({tmp_path / "first": [b"whole"], tmp_path / "x": fail()}, force=False)
    assert not list(tmp_path.iterdir())

    def late() -> Iterator[bytes]:
        yield b"late"
        (tmp_path / "x").write_text("first")

    with pytest.raises(Refusal, match="exists"):
        write_files({tmp_path / "x": late()}, force=False)
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]
    assert (tmp_path / "x").read_text() == "first"
