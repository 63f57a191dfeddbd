"""``acp-proxy export`` writes the text form, the bytes, parts of both, and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.explain.log.sequence_diagram import MOST
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, record_conversation
from tests.support.text_recordings import rows_of_text, run_with, text_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording with all kinds of frames."""
    return record_conversation(tmp_path / "x.db")


def test_the_text_form_is_the_default(path: Path) -> None:
    """`export` without options prints the whole recording in its text form (JSON Lines)."""
    result = run("inspect", "export", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == text_of(path)
    assert run("inspect", "export", path, "--format", "jsonl").stdout_bytes == text_of(path)


def test_a_text_can_be_exported_again(path: Path, tmp_path: Path) -> None:
    """`export` of a recording in text form prints the text form unchanged."""
    text = text_of(path)
    (tmp_path / "y.jsonl").write_bytes(text)
    assert run("inspect", "export", tmp_path / "y.jsonl").stdout_bytes == text
    assert run_with(text, "inspect", "export", "-").stdout_bytes == text


def test_raw_has_the_bytes_of_the_lines(tmp_path: Path) -> None:
    """`export --format raw` prints the bytes of all streams, or of one stream with `--dir`."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(1, b"\xff\0\r\nab")
        recorder.chunk(2, b"\n\r\n")
        recorder.chunk(3, b"\x1b[31m\n")
        recorder.chunk(1, b"c")
        recorder.finish()
    export = ("inspect", "export", recorder.path, "--format", "raw")
    assert run(*export, "--dir", "to-agent").stdout_bytes == b"\xff\0\r\nabc"
    assert run(*export, "--dir", "to-client").stdout_bytes == b"\n\r\n"
    assert run(*export, "--dir", "stderr").stdout_bytes == b"\x1b[31m\n"
    assert run(*export).stdout_bytes == b"\xff\0\r\n\n\r\n\x1b[31m\nabc"
    assert run(*export, "kind:blank").stdout_bytes == b"\n\r\n"


def test_a_partial_export_begins_with_its_filter(path: Path) -> None:
    """`export` with a filter and `--dir` prints frames that match both, and names the filter."""
    result = run("inspect", "export", path, "kind:request or kind:stderr", "--dir", "to-agent")
    first, *rest = result.stdout.splitlines()
    assert first == "# Not the whole recording, only: kind:request or kind:stderr dir:to-agent"
    assert [json.loads(line).get("stream") for line in rest] == [None, *["to-agent"] * 4]
    numbers = [row["seq"] for row in rows_of_text(result.stdout_bytes)["frames"]]
    assert numbers == [2, 4, 6, 16]
    newline = run("inspect", "export", path, 'text:"a\nb"')
    assert newline.stdout.splitlines()[0].endswith(r'text:"a\nb"')


def test_a_file_is_made_whole_and_private(path: Path, tmp_path: Path) -> None:
    """`export -o` writes the complete text form to a file that only its owner can read."""
    made = tmp_path / "made.jsonl"
    result = run("inspect", "export", path, "-o", made)
    assert (result.exit_code, result.output) == (0, "")
    assert made.read_bytes() == text_of(path)
    assert made.stat().st_mode & 0o777 == 0o600
    assert run("inspect", "export", path, "-o", "-").stdout_bytes == text_of(path)


def test_a_file_is_replaced_only_by_force(path: Path, tmp_path: Path) -> None:
    """`export` replaces an existing file only with --force."""
    made = tmp_path / "made.jsonl"
    made.write_text("mine")
    said = complaint("inspect", "export", path, "-o", made)
    assert said == f"{made} exists; expected the path of a new file, or --force to replace it"
    assert made.read_text() == "mine"
    assert run("inspect", "export", path, "-o", made, "--force").exit_code == 0
    assert made.read_bytes() == text_of(path)
    said = complaint("inspect", "export", path, "--force", "-o", tmp_path)
    assert said == f"cannot write {tmp_path}: it is not a plain file"
    said = complaint("inspect", "export", path, "-o", tmp_path / "none" / "x")
    assert said.endswith("no such file or directory")


def test_a_text_may_replace_itself(path: Path, tmp_path: Path) -> None:
    """`export --force -o` can replace a recording in text form by its own export."""
    made = tmp_path / "made.jsonl"
    made.write_bytes(text_of(path).replace(b"\n", b"\n# remark\n"))
    assert run("inspect", "export", made, "--force", "-o", made).exit_code == 0
    assert made.read_bytes() == text_of(path)


def test_a_damaged_recording_leaves_no_file(path: Path, tmp_path: Path) -> None:
    """`export` of a damaged recording leaves no partial file."""
    content = bytearray(path.read_bytes())
    content[4096 * 3 :] = b"\xaa" * (len(content) - 4096 * 3)
    path.write_bytes(content)
    assert "damaged" in complaint("inspect", "export", path, "-o", tmp_path / "made.jsonl")
    assert list(tmp_path.iterdir()) == [path]


def test_a_wrong_option_is_refused(path: Path) -> None:
    """`export` refuses an unknown format and an invalid filter."""
    assert "'csv' is not one of" in complaint("inspect", "export", path, "--format", "csv")
    assert "bad filter at column 1" in complaint("inspect", "export", path, "knid:x")


@pytest.mark.parametrize("command", ["show", "log", "list"])
@pytest.mark.parametrize("json_", [True, False])
def test_the_text_form_is_shown_like_its_database(
    tmp_path: Path, command: str, json_: bool
) -> None:
    """`show`, `log` and `list` print the same for a database and for its text form."""
    said = []
    for form in ("db", "jsonl"):
        home = tmp_path / form
        home.mkdir()
        path = record_conversation(home / "x.db")
        if form == "jsonl":
            (home / "x.jsonl").write_bytes(text_of(path))
            path.unlink()
        words = ["inspect", command, home if command == "list" else "x", *["--json"] * json_]
        result = run(*words, home=home)
        assert result.exit_code == 0, result.output
        output = result.output.replace(f"{home}/x.{form}", "PATH").replace(str(home), "HOME")
        if command == "list":
            size = (home / f"x.{form}").stat().st_size
            output = output.replace(str(size), "SIZE")
            output = "".join(c for c in output if json_ or not (c.isdigit() or c in " .kB"))
        said.append(output)
    assert said[0] == said[1]


def test_a_diagram_says_what_is_left_out(path: Path, tmp_path: Path) -> None:
    """If `export` shortens a Mermaid diagram, the diagram says how many messages it leaves out."""
    whole = run("inspect", "export", path, "--format", "mermaid")
    assert (whole.exit_code, whole.stderr) == (0, "")
    assert f"[default: {MOST}]" in run("inspect", "export", "--help").stdout
    assert whole.stdout.startswith("sequenceDiagram\n    title x\n")
    result = run("inspect", "export", path, "kind:request", "--dir", "to-agent", "--format",
                 "mermaid", "--max", "1", "-o", tmp_path / "x.mmd")  # fmt: skip
    assert result.stderr == (
        "acp-proxy: 3 frames and events are left out: choose fewer with a FILTER such as turn:2,"
        " or raise --max\n"
    )
    lines = (tmp_path / "x.mmd").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "%% Not the whole recording, only: kind:request dir:to-agent"
    assert lines[-1].endswith(": 3 frames and events are left out (--max 1)")
    assert "--max is for --format mermaid" in complaint("inspect", "export", path, "--max", "1")
