"""Tests which facts are known about an imported recording."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from attrs import evolve

from acp_proxy.base.errors import DamagedRecording, UnreadableRecording
from acp_proxy.check.catalogue import rules
from acp_proxy.explain.origins import MEMBERS
from acp_proxy.recording.recording import (
    Fact,
    NamedAnswer,
    Origin,
    Recording,
    needs,
    origin_values,
    read_origin,
)
from acp_proxy.store.copies.text_import import import_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.text_recordings import assert_comes_back, rows_of_recording

FACTS: set[Fact] = {*get_args(Fact)}
PACKAGE = Path(__file__).parents[3] / "acp_proxy"
ORIGIN = Origin("jetbrains", ("ending", "times"), None, 3, 0, 2)
EXCHANGE = (
    {"stream": "to-agent", "message": {"jsonrpc": "2.0", "id": 0, "method": "session/prompt",
                                       "params": {"sessionId": "s"}}},
    {"stream": "to-client", "after_ms": 5,
     "message": {"jsonrpc": "2.0", "id": 0, "result": {"stopReason": "end_turn"}}},
)  # fmt: skip


def a_recording(origin: Origin | None) -> Recording:
    """Returns a recording with an origin."""
    return Recording("0", "x", "0", "2025-01-01T00:00:00Z", origin=origin)


def imported(tmp_path: Path, **origin: Any) -> Path:
    """Makes a database of one exchange whose text form has an origin."""
    row = {"id": "0", "name": "x", "tool_version": "0", "started_at": "2025-01-01T00:00:00Z"}
    header = {"acp_proxy": 1, "recording": row | {"origin": {"source": "zed", **origin}}}
    lines = (json.dumps(line).encode() + b"\n" for line in (header, *EXCHANGE))
    return import_text_form(lines, tmp_path / "x.jsonl", tmp_path)


def test_nothing_is_lost_without_an_origin() -> None:
    """A recording that acp-proxy itself made lacks none of the facts that an import may lack."""
    recording = a_recording(None)
    assert recording.knows(*FACTS)


def test_lost_facts_are_unknown() -> None:
    """If an imported log lacks times, all facts that need times are unknown, such as durations."""
    recording = a_recording(ORIGIN)
    assert {fact for fact in FACTS if not recording.knows(fact)} == {
        "date", "directions", "durations", "ending", "times",
    }  # fmt: skip
    recording = a_recording(Origin("zed", inferred_times=1))
    assert {fact for fact in FACTS if not recording.knows(fact)} == {"durations"}


def test_a_function_that_needs_a_lost_fact_is_skipped() -> None:
    """If an import lacks a needed fact, a function with `@needs(..., unknown=X)` returns X."""

    @needs("bytes", "times", unknown="not known")
    def size(_of: object, text: str, *, unit: str) -> str:
        return f"{text} {unit}"

    assert size(a_recording(ORIGIN), "5", unit="B") == "not known"
    for origin in (None, Origin("zed", ("date",))):
        assert size(a_recording(origin), "5", unit="B") == "5 B"
    assert size(None, "5", unit="B") == "5 B"


def modules_with(pattern: str) -> set[str]:
    """Returns the modules and templates of the package with a match of a pattern."""
    paths = (path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".j2"))
    return {path.relative_to(PACKAGE).as_posix() for path in paths
            if re.search(pattern, path.read_text(encoding="utf-8"))}  # fmt: skip


def test_only_these_modules_read_lost_facts() -> None:
    """Only the modules that this test lists ask which facts an imported log lacks."""
    assert modules_with(r"origin\.(lost|unknown)\b") == {
        "recording/recording.py", "explain/origins.py", "check/catalogue.py",
        "cli/explain/show_screen.py", "cli/store/import_.py",
    }  # fmt: skip
    assert modules_with(r"(recording|one)\.knows\(") == {
        # Here the declaration or a table of declarations is read,
        "recording/recording.py", "explain/origins.py", "explain/audit/audit.py",
        "explain/show/checks.py", "cli/opening.py", "cli/explain/log_screen.py",
        # and here something else is done where something was lost.
        "check/checker.py", "diff/connection_diff.py", "explain/message_pass.py",
        "explain/show/frame_pass.py", "explain/tokens.py",
        "report/front_end/templates/about.html.j2", "web/live_page.py",
        "store/queries/recorded_steps.py", "store/indexing/row_writer.py",
    }  # fmt: skip


def test_every_fact_is_needed_by_something() -> None:
    """Each fact that an import may lack is needed somewhere, except `command` and `zone`."""
    by_functions = {fact for fact in FACTS if modules_with(rf'(needs|knows)\([^)]*"{fact}"')}
    by_members = {fact for needed in MEMBERS for fact in needed}
    by_rules = {word for rule in rules().values() for word in rule.lost_if or ()}
    assert FACTS - by_functions - by_members - by_rules == {"command", "zone"}


def test_an_origin_is_read_as_it_was_written() -> None:
    """The stored origin of an import is read back, even without its optional members."""
    assert read_origin(json.loads(json.dumps(origin_values(ORIGIN)))) == ORIGIN
    assert read_origin({"source": "zed"}) == Origin("zed")
    earlier = {"source": "zed", "lost": ["answers", "middle", "times"]}
    assert read_origin(earlier) == Origin("zed", ("middle", "times"))
    named = evolve(ORIGIN, named_answers=(NamedAnswer(3, "session/load"),))
    assert read_origin(json.loads(json.dumps(origin_values(named)))) == named


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        {},
        {"lost": []},
        {"source": "A shell"},
        {"source": "zed", "taste": 1},
        {"source": "zed", "lost": "times"},
        {"source": "zed", "lost": ["taste"]},
        {"source": "zed", "lost": [[]]},
        {"source": "zed", "skipped": -1},
        {"source": "zed", "skipped": True},
        {"source": "zed", "resolution_ns": 1 << 53},
        {"source": "zed", "inferred_times": "1"},
        {"source": "zed", "named_answers": {}},
        {"source": "zed", "named_answers": [{"seq": 1}]},
        {"source": "zed", "named_answers": [{"seq": 0, "method": "a/b"}]},
        {"source": "zed", "named_answers": [{"seq": 1, "method": "a b"}]},
    ],
)
def test_an_invalid_origin_is_refused(tmp_path: Path, wrong: Any) -> None:
    """`import` refuses a text form with an invalid origin; commands refuse such a database."""
    with pytest.raises(ValueError, match=r"origin|lost"):
        read_origin(wrong)
    path = imported(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE recording SET origin = ?", (json.dumps(wrong),))
    with pytest.raises(DamagedRecording), RecordingReader(path) as reader:
        _ = reader.recording
    if isinstance(wrong, dict) and "source" in wrong:
        wrong = {name: value for name, value in wrong.items() if name != "source"}
        with pytest.raises(UnreadableRecording, match="line 1: "):
            imported(tmp_path, **({"source": "A shell"} | wrong))


def test_an_origin_comes_back(tmp_path: Path) -> None:
    """The origin of an imported recording is the same after an export and an import."""
    path = imported(tmp_path, lost=["ending"], resolution_ns=1000, skipped=2)
    assert_comes_back(path)
    rows = rows_of_recording(path)
    assert json.loads(rows["recording"][0]["origin"]) == {
        "source": "zed", "lost": ["ending"], "resolution_ns": 1000, "inferred_directions": 0,
        "inferred_times": 0, "skipped": 2,
    }  # fmt: skip
    assert rows["exchanges"][0]["latency_ns"] == rows["turns"][0]["duration_ns"] == 5_000_000


@pytest.mark.parametrize("lost", [{"lost": ["times"]}, {"inferred_times": 1}], ids=str)
def test_no_rows_have_durations_that_nobody_knows(tmp_path: Path, lost: dict[str, Any]) -> None:
    """If an imported log lacks times, latencies and durations in the database are null."""
    path = imported(tmp_path, **lost)
    assert_comes_back(path)
    rows = rows_of_recording(path)
    assert "latency_ns" not in rows["exchanges"][0]
    assert "duration_ns" not in rows["turns"][0]
