"""A filter or search on a report page finds the same as on the command line."""

from __future__ import annotations

import json
import random
import re
import subprocess
from typing import TYPE_CHECKING, Any

from acp_proxy.base.errors import BadFilter
from acp_proxy.cli.explain.search import _hits
from acp_proxy.cli.explain.time_limit import TimeLimit
from acp_proxy.explain.choice import chosen_in
from acp_proxy.explain.search.search import Searcher
from acp_proxy.explain.search.search_patterns import Pattern
from acp_proxy.recording.filters import EVERYTHING
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.reader import RecordingReader
from tests.support.npm_packages import ROOT
from tests.tools import front_end_checks as checks

if TYPE_CHECKING:
    from pathlib import Path

DATA = ROOT / "tests/data"
RECORDINGS = [
    DATA / "filters/odd.jsonl",  # batches, odd numbers and texts, lines that are not messages
    DATA / "text_form/faults.jsonl",
    ROOT / "recordings/tour.db",
    ROOT / "recordings/terminal.db",
    ROOT / "recordings/cancelled.db",
]
_TERMS = (DATA / "filters/filters.txt").read_text(encoding="utf-8").strip("\n").split("\n")
_SEARCHES = (
    "hello", "a", "the", "strasse", "Straße", "straße", "😀 smile", "quoted", "istanbul", "i", "ı",
    "K", "ſ", "ẞ", "é", "σ", 'ted" text', "Strasse strAße", 'tool_call",', "a\tb", "\\n", "e a",
    "session/update", "session\\/update", "start", "half", "two", "half second",
    "fourthmore", "exit", "notes", ".py", "s ", "no such text", "greeting", "GREETING", "你好", "e",
    "Hello! Grüße", "demo/greeting.txt", "terminal-1", '"method"', "{", " ", "\\u",
    "readTextFile", '"readTextFile"', "text", '"text"', "tool_call", "2.0", "initialize", "true",
)  # fmt: skip


def test_a_report_finds_what_the_command_line_finds(npm_packages: Path) -> None:
    """The scripts of a report page find the same frames as filters of `log` and as `search`."""
    filters = _filters()
    asked = [(path, filters, list(_SEARCHES)) for path in RECORDINGS]
    expected, given = [], []
    for path, texts, sought in asked:
        with RecordingReader(path, unredacted=True) as reader:
            expected.append(_found(reader, texts, sought))
            parts = report_blocks(reader, ReportOptions())
            blocks = {block.name: b"".join(block.parts).decode() for block in parts}
            given.append({"blocks": blocks, "filters": texts, "searches": sought})
    for (path, texts, sought), ours, theirs in zip(
        asked, _answered(npm_packages, given), expected, strict=True
    ):
        for kind, questions in (("filters", texts), ("searches", sought)):
            for question, result, wanted in zip(questions, ours[kind], theirs[kind], strict=True):
                result, wanted = map(_mistake, (result, wanted))
                assert result == wanted, f"{path.name}: {question}"


def _mistake(answer: Any) -> Any:
    """Returns an answer; of an error message, only the part before the first quoted word."""
    return re.split("['\"]", answer)[0] if isinstance(answer, str) else answer


def _filters() -> list[str]:
    """Returns filters from the manual and a list, and random ones, some of them invalid."""
    manual = re.findall(r"^\| `([^`]+)`", (ROOT / "docs/filters.md").read_text(), re.MULTILINE)
    chance = random.Random(18)
    words = [*_TERMS, *manual, "and", "or", "not", "(", ")", "or", "not", "(", ")"]
    mixed = [" ".join(chance.choices(words, k=chance.randint(2, 7))) for _ in range(150)]
    damaged = [_damaged(chance, chance.choice(_TERMS)) for _ in range(150)]
    return ["", *_TERMS, *manual, *mixed, *damaged]


def _damaged(chance: random.Random, text: str) -> str:
    at = chance.randrange(len(text) + 1)
    return (
        text[:at] + chance.choice(["", ":", "x", '"', "|", "*", "\x1c", "ſ", "ß"]) + text[at + 1 :]
    )


def _found(reader: RecordingReader, filters: list[str], sought: list[str]) -> dict[str, Any]:
    rows: list[list[int] | str] = []
    for text in filters:
        try:
            rows.append([row["seq"] for row in reader.rows(chosen_in(reader, text))])
        except BadFilter as e:
            rows.append(str(e))
    hits = []
    for text in sought:
        result = _hits(reader, Searcher(Pattern(text)), EVERYTHING, TimeLimit(), with_ends=False)
        hits.append([hit.place.seq for hit in result])
    return {"filters": rows, "searches": hits}


def _answered(npm_packages: Path, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    command = [checks.node(npm_packages), str(checks.CHECKED / "answer_filters.mjs")]
    result = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    answers: list[dict[str, Any]] = json.loads(result.stdout)
    return answers
