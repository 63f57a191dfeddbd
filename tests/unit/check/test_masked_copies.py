"""A masked copy of a recording breaks no rule that its original keeps."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.checker import Checker
from acp_proxy.check.judgement import check_whole, merged
from acp_proxy.store.queries.masked_rows import Level
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.example_checker import before, text_form_of
from tests.support.shipped_recordings import REPORTS, SHIPPED

DATA = Path(__file__).parents[2] / "data"
SELECTION = [
    *SHIPPED,
    *sorted((DATA / "conformance/healthy").glob("*.jsonl")),
    *sorted(captures.ROOT.glob("*.jsonl"))[:3],
    *sorted(REPORTS.glob("*.jsonl"))[::6],
]
LEVELS = {
    "secrets": Level(),
    "private": Level(private=True),
    "paths": Level(paths=(("params", "cwd"), ("params", "update", "entries"), ("params", "path"))),
}


def _found(path: Path, level: Level | None) -> Counter[tuple[str, int, str | None]]:
    with RecordingReader(path, level=level) as reader:
        findings, _ = merged(check_whole(reader), chosen_rules((), ()))
    return Counter((finding.rule, finding.seq, finding.by) for finding in findings)


@pytest.mark.parametrize("path", SELECTION, ids=lambda path: path.stem)
def test_masking_makes_no_finding(path: Path) -> None:
    """`check` finds nothing in a masked copy of a recording beyond the original's findings."""
    original = _found(path, None)
    for name, level in LEVELS.items():
        assert _found(path, level) - original == Counter(), name


def _blanked() -> list[str]:
    """Returns the lines of a conversation whose private texts are replaced by the letter x."""
    lines = before("a v1 handshake, session s")
    entry = {"content": "xxx", "priority": "xxxxxx", "status": "pending"}
    diff = {"type": "diff", "path": "xxxxxxxx", "newText": "x"}
    updates: list[dict[str, Any]] = [
        {"sessionUpdate": "plan", "entries": [entry]},
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "xxx", "content": [diff],
         "status": "completed"},
        *[{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "xx"}}] * 3,
    ]  # fmt: skip
    for number, update in enumerate(updates, 10):
        prompt = [{"type": "text", "text": "x" * number}]
        lines += [
            f"-> #{number} session/prompt {json.dumps({'sessionId': 's', 'prompt': prompt})}",
            f"<- session/update {json.dumps({'sessionId': 's', 'update': update})}",
            f'<- #{number} result {{"stopReason": "end_turn"}}',
        ]
    return lines


@pytest.mark.parametrize(
    ("redaction", "broken"),
    [
        ("secrets", {"plan.entry", "tool.path-absolute", "turn.no-text", "turn.repeated"}),
        ("private", {"turn.no-text"}),
    ],
)
def test_a_text_that_stands_for_another_is_not_judged(redaction: str, broken: set[str]) -> None:
    """If a recording's private texts are masked, `check` does not judge the masked values."""
    header, *rest = text_form_of(_blanked())
    first = json.loads(header)
    first["recording"]["redaction"] = redaction
    lines = [json.dumps(first).encode() + b"\n", *rest]
    with RecordingReader(Path("blanked.jsonl"), iter(lines)) as reader:
        result = Checker(reader).read()
    assert {item.rule for item in result.findings} == broken
    reasons = [item.reason for item in result.unchecked]
    assert reasons == (["its private texts are masked"] if redaction == "private" else [])
