"""`results merge` reads files of anybody, and writes one report of them."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.batches import results_file
from acp_proxy.batches.results import ResultsHeader, VerdictKind
from tests.commands import complaint, run
from tests.verdicts import FINDING, header, lines, verdict, write

SHARDS = {
    "1/3": [
        verdict("chats/a.db"),
        verdict("chats/d.db", VerdictKind.DIFFERS, "end_turn → max_tokens"),
    ],
    "2/3": [verdict("chats/b.db", VerdictKind.STALLED, error="nothing came for 30 s", attempt=3)],
    "3/3": [verdict("chats/c.db")],
}


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Writes three files into the current directory and returns their names."""
    monkeypatch.chdir(tmp_path)
    for shard, verdicts in SHARDS.items():
        first = header(shard, len(verdicts), total=4)
        write(tmp_path / f"{shard[0]}.jsonl", first, *verdicts)
    return ["1.jsonl", "2.jsonl", "3.jsonl"]


def test_the_screen_shows_what_is_not_clean(shards: list[str]) -> None:
    """A line each, and how all of it went."""
    result = run("results", "merge", *shards)
    assert result.exit_code == 3
    assert result.stdout.splitlines() == [
        "! chats/b.db  stalled  nothing came for 30 s",
        "✗ chats/d.db  differs  #13: end_turn → max_tokens",
        "✗ verify: 2 of 4 recordings are not clean; differs: 1, stalled: 1",
    ]
    result = run("results", "merge", shards[2], "--partial")
    assert (result.exit_code, result.stdout) == (0, "✓ verify: 1 recording, clean\n")
    result = run("results", "merge", *shards[::2])
    assert result.exit_code == 3
    assert result.stdout.splitlines()[1:] == [
        "! shard 2/3 is not among the files",
        "✗ verify: 1 of 3 recordings is not clean, 1 is missing; differs: 1",
    ]


@pytest.mark.parametrize(
    ("first", "broken", "expected"),
    [
        (header(None, 2), (0, 0), "✓ verify: 2 recordings, all clean"),
        (header("1/2", 2, total=11), (0, 0),
         "✗ verify: 2 of 11 recordings are clean, 9 are missing"),
        (header("1/2", 2, total=2), (0,), "✗ verify: 1 of 2 recordings is clean, 1 is missing"),
        (header(None, None), (0, 0), "✗ verify: 2 recordings are clean, results are missing"),
        (header(None, 2), (0, 3),
         "✓ verify: 2 recordings, 1 has findings, of which none counts as a failure"),
        (header(None, 3), (1, 3), "✗ verify: 2 of 3 recordings are clean, 2 have findings, of which"
         " none counts as a failure, 1 is missing"),
    ],
)  # fmt: skip
def test_the_last_line_is_true(
    tmp_path: Path, first: ResultsHeader, broken: tuple[int, ...], expected: str
) -> None:
    """The words "all clean" need that no recording is missing and nothing was found."""
    found = (verdict(f"{n}.db", broken=count) for n, count in enumerate(broken))
    file = write(tmp_path / "r.jsonl", first, *found)
    result = run("results", "merge", str(file), "--markdown", str(tmp_path / "r.md"))
    assert " ".join(result.stdout.splitlines()[-1].split()) in (expected, expected[-80:])
    sign, _, said = expected.partition(" ")
    assert f"### {sign} acp-proxy {said}\n" in (tmp_path / "r.md").read_text("utf-8")


def test_the_reports_of_shards_are_those_of_the_whole(shards: list[str]) -> None:
    """Written at once, from a pattern that no shell has expanded, and from the merged file."""
    names = ("junit", "markdown", "output")
    texts: list[list[str]] = []
    for words in (["[1-3].jsonl"], shards[::-1], ["0.output"]):
        files = [Path(f"{len(texts)}.{name}") for name in names]
        options = [
            word for name, file in zip(names, files, strict=True) for word in (f"--{name}", file)
        ]
        assert run("results", "merge", *words, *options).exit_code == 3
        texts.append([file.read_text("utf-8") for file in files])
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert texts[0] == texts[1] == texts[2]
    junit, markdown, output = texts[0]
    assert ET.fromstring(junit.encode()).get("failures") == "2"
    assert markdown.startswith("<!-- acp-proxy -->\n")
    assert len(output.splitlines()) == 5


def test_json_has_counts(shards: list[str]) -> None:
    """And what is missing; on one line."""
    result = run("results", "merge", *shards[1:], "--json")
    assert json.loads(result.stdout) == {
        "verdict": "incomplete",
        "exit": 3,
        "command": "verify",
        "recordings": 4,
        "verdicts": 2,
        "counts": {"clean": 1, "stalled": 1},
        "missing": [{"shard": "1/3", "recordings": None, "verdicts": 0}],
        "conflicts": 0,
        "findings": 0,
        "seconds": 3.0,
    }
    assert result.stdout.count("\n") == 1
    github = run("results", "merge", *shards, "--github").stdout.splitlines()
    assert [line.partition(" ")[0] for line in github] == ["::error", "::error"]


def test_a_half_written_line_means_stopped(shards: list[str]) -> None:
    """A file whose writer was killed."""
    whole = lines(header("1/3", 2, total=4), SHARDS["1/3"])
    Path(shards[0]).write_bytes(whole[:-20])
    result = run("results", "merge", *shards)
    assert "! shard 1/3 stopped after 1 of 2 recordings" in result.stdout.splitlines()
    for end in (0, 20):
        Path(shards[0]).write_bytes(whole[:end])
        result = run("results", "merge", *shards)
        assert result.exit_code == 3
        assert result.stdout.splitlines()[1:3] == [
            "! a file ends within its first line, and has no verdicts",
            "! shard 1/3 is not among the files",
        ]


HEADER, VERDICT = lines(header(), [verdict("a.db")]).splitlines(keepends=True)


def changed(line: bytes, **members: Any) -> bytes:
    """Returns a line with other members."""
    return json.dumps(json.loads(line) | members).encode() + b"\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"", ""),
        (b"\n", "line 1: "),
        (VERDICT, "line 1: "),
        (changed(HEADER, acp_proxy_results=2), "line 1: "),
        (changed(HEADER, command="rm"), "line 1: "),
        (changed(HEADER, shard="8/7"), "line 1: "),
        (changed(HEADER, words=7), "line 1: "),
        (changed(HEADER, words=[7]), "line 1: "),
        (changed(HEADER, shards={"shard": "1/2"}), "line 1: "),
        (HEADER + b"x" * 20_000 + b"\n", "line 2: expected at most 9999 bytes"),
        (HEADER + changed(VERDICT, seconds=float("nan")), "line 2: "),
        (HEADER + changed(VERDICT, findings="ab"), "line 2: "),
        (HEADER + VERDICT + b"{}\n", "line 3: "),
        (HEADER + VERDICT + b"[" * 100_000 + b"\n", "line 3: "),
        (HEADER + b"\xff\x00\n" + VERDICT, "line 2: "),
        (HEADER + changed(VERDICT, exit=4), "line 2: "),
        (HEADER + changed(VERDICT, kind=["clean"]), "line 2: "),
        (HEADER + changed(VERDICT, recording=7), "line 2: "),
        (HEADER + changed(VERDICT, seconds="1"), "line 2: "),
        (HEADER + changed(VERDICT, digest="e"), "line 2: "),
        (HEADER + changed(VERDICT, first_divergence="x"), "line 2: "),
        (changed(HEADER, command="check")
         + changed(VERDICT, command="check", findings=[FINDING | {"line": -1}]), "line 2: "),
    ],
)  # fmt: skip
def test_a_bad_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes, place: str
) -> None:
    """In one line, with the file; nothing is written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(results_file, "LONGEST_LINE", 9_999 if len(text) < 90_000 else 999_999)
    Path("x.jsonl").write_bytes(text)
    found = complaint("results", "merge", "x.jsonl", "--junit", "junit.xml")
    assert found.startswith(f"cannot use x.jsonl as a results file: {place}")
    assert not Path("junit.xml").exists()


def test_what_is_no_file_is_refused(shards: list[str], tmp_path: Path) -> None:
    """Without waiting for a pipe."""
    os.mkfifo(tmp_path / "pipe")
    for path in ("pipe", ".", "absent.jsonl"):
        assert complaint("results", "merge", path).startswith(
            f"cannot use {path} as a results file"
        )
    assert complaint("results", "merge", "*.none").startswith("no file matches *.none")
    write(tmp_path / "other.jsonl", header(digest="e"))
    found = complaint("results", "merge", *shards, "other.jsonl")
    assert found.startswith("other.jsonl has results of other options than 1.jsonl")
    assert complaint("results", "merge", *shards, "--json", "--github").endswith("one of them")


def test_different_versions_are_named(shards: list[str], tmp_path: Path) -> None:
    """They may disagree; in one line, also of a file that was merged before, and no error."""
    line = "different versions of acp-proxy have written the results: "
    options = ("--markdown", "x.md", "-o", "merged.jsonl")
    assert run("results", "merge", *shards, *options).stderr == ""
    assert line not in Path("x.md").read_text()
    write(tmp_path / "3.jsonl", header("3/3", 1, total=4, version="0.2.0"), *SHARDS["3/3"])
    for files in (shards, shards[::-1], ["merged.jsonl"]):
        found = run("results", "merge", *files, *options)
        assert (found.exit_code, found.stderr) == (3, f"acp-proxy: {line}0.1.0, 0.2.0\n")
        assert f"\n{line}<code>0.1.0</code>, <code>0.2.0</code>\n" in Path("x.md").read_text()


def test_no_recording_is_replaced(shards: list[str], tmp_path: Path) -> None:
    """Nor anything else that is no plain file."""
    recording = tmp_path / "run.jsonl"
    recording.write_bytes((Path(__file__).parents[4] / "recordings/hello.db").read_bytes())
    before = recording.read_bytes()
    found = complaint("results", "merge", *shards, "-o", recording)
    assert found.startswith("cannot write a report into the file of a recording")
    assert recording.read_bytes() == before
    assert complaint("results", "merge", *shards, "--junit", "no/x.xml").startswith("cannot write")


@pytest.mark.parametrize("text", ["\x1b[2J\u202e\n::error::x", "\ud800"])
def test_text_commands_no_terminal(tmp_path: Path, text: str) -> None:
    """Whatever a file holds, in any form."""
    one = verdict(
        f"{text}.db", VerdictKind.DIFFERS, text, error=text, new_recording=text, node=text
    )
    path = write(tmp_path / "x.jsonl", header(None, 1, words=(text,), version=text), one)
    for form in ("--partial", "--json", "--github"):
        result = run("results", "merge", path, form)
        assert result.exit_code == 1
        assert all(line.isprintable() for line in result.output.splitlines())
        assert result.output.count("\n") == (2 if form == "--partial" else 1)
