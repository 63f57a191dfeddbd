"""A plan of faults on a report page fires for the chosen message, and for no other."""

from __future__ import annotations

import json
import subprocess
import tomllib
from typing import TYPE_CHECKING, Any

from acp_proxy.faults.fault import Fired
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.plan import structure_plan
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording.filters import EVERYTHING
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.reader import RecordingReader
from tests.integration.test_report_filters import RECORDINGS
from tests.support.command_line import run
from tests.tools import front_end_checks as checks

if TYPE_CHECKING:
    from pathlib import Path


def test_each_plan_fires_for_its_message_alone(npm_packages: Path, tmp_path: Path) -> None:
    """Each plan of faults that a report page makes for a message fires at this message alone."""
    plans_of = _plans(npm_packages, RECORDINGS)
    for path, plans in zip(RECORDINGS, plans_of, strict=True):
        with RecordingReader(path, unredacted=True) as reader:
            frames = _frames(reader)
        assert {seq for seq, *_ in plans} == {seq for seq, *_ in frames}, path.name
        for seq, kind, text in plans:
            assert _fired(text, frames) == [seq], (path.name, kind, text)
    file = tmp_path / "plan.toml"
    for _, kind, text in plans_of[0]:
        file.write_text(text, encoding="utf-8")
        result = run("faults", "explain", str(file))
        assert result.exit_code == 0, (kind, result.output)


def _plans(npm_packages: Path, paths: list[Path]) -> list[list[tuple[int, str, str]]]:
    """Returns for each recording its plans, each with the number of a message and its kind."""
    given = []
    for path in paths:
        with RecordingReader(path, unredacted=True) as reader:
            parts = report_blocks(reader, ReportOptions())
            given.append({block.name: b"".join(block.parts).decode() for block in parts})
    command = [checks.node(npm_packages), str(checks.CHECKED / "write_fault_plans.mjs")]
    result = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    plans: list[list[tuple[int, str, str]]] = json.loads(result.stdout)
    return plans


_Frame = tuple[int, Direction, bytes, bytes]


def _frames(reader: RecordingReader) -> list[_Frame]:
    """Returns the number, the direction, the line and the newline of each message."""
    rows = [row for row in reader.rows(EVERYTHING) if row.get("stream") in {*Direction}]
    return [
        (row["seq"], Direction(row["stream"]), b"".join(reader.pieces(row["seq"])), b"\n")
        for row in rows
        if row["delivered"] != "none"
    ]


def _fired(text: str, frames: list[_Frame]) -> list[int]:
    """Returns the numbers of the messages that a plan has changed or dropped."""
    value: dict[str, Any] = tomllib.loads(text)
    engine = FaultEngine(structure_plan(value, "plan.toml"), 1, 0)
    fired = []
    for at, (seq, direction, raw, newline) in enumerate(frames):
        outputs = engine.receive(direction, raw, newline, at)
        fired += [seq for output in outputs if isinstance(output, Fired)]
    return fired
