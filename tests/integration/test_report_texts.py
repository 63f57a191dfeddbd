"""A report shows the same texts as the transcript of its recording."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.cli.opening import open_recording
from acp_proxy.explain.transcript.entries import (
    EntryKind,
    TextForm,
    TextLimits,
    TranscriptEntry,
)
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.report_model import ReportOptions
from tests.support.npm_packages import ROOT
from tests.tools import front_end_checks as checks

if TYPE_CHECKING:
    from pathlib import Path

_COMPARED = {
    EntryKind.PROMPT, EntryKind.MESSAGE, EntryKind.THOUGHT, EntryKind.STDERR, EntryKind.PLAN,
    EntryKind.TOOL_CALL, EntryKind.PERMISSION, EntryKind.TERMINAL,
}  # fmt: skip
_WHOLE = TextLimits(None, LAST_NUMBER)


def _shown(entry: TranscriptEntry, name: str) -> Any:
    """Returns a member of a transcript entry in the form in which the page has it."""
    if name == "texts":
        blocks = [block for block in entry.blocks if block.form is TextForm.TEXT]
        return [block.text.start for block in blocks if block.label != "input"]
    if name == "choices":
        return [{"name": c.name, "detail": c.detail, "state": c.state} for c in entry.choices]
    return getattr(entry, name)


@pytest.mark.parametrize(
    "name",
    [
        "recordings/tour.db",
        "recordings/edit-rejected.db",
        "tests/data/captures/codex-acp-2.6.0.jsonl",
        "tests/data/captures/mistral-vibe-3.0.2.jsonl",
    ],
)
def test_a_report_shows_what_the_transcript_says(name: str, npm_packages: Path) -> None:
    """A report page shows the same texts as `transcript`."""
    with open_recording(str(ROOT / name)) as reader:
        entries = [
            entry
            for entry in TranscriptReader(reader, limits=_WHOLE).read()
            if isinstance(entry, TranscriptEntry) and entry.kind in _COMPARED
        ]
        blocks = report_blocks(reader, ReportOptions())
        data = {block.name: b"".join(block.parts).decode() for block in blocks}
    wanted = [{"kind": entry.kind, "seq": entry.seq} for entry in entries]
    command = [checks.node(npm_packages), str(checks.CHECKED / "entries.mjs")]
    text = json.dumps({"blocks": data, "wanted": wanted})
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    texts: list[dict[str, Any]] = json.loads(result.stdout)
    expected = [
        {name: _shown(entry, name) for name in shown}
        for entry, shown in zip(entries, texts, strict=True)
    ]
    assert texts == expected
