"""For `diff`, two runs of a real agent are equal, and two agents are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions, Expect
from acp_proxy.store.reader import RecordingReader

PAIRS = Path(__file__).parents[2] / "data" / "pairs"
FIRST = sorted(PAIRS.glob("*.a.jsonl"))


def differences(a: Path, b: Path, **options: object) -> int:
    """Returns the number of differences."""
    with RecordingReader(a) as of_a, RecordingReader(b) as of_b:
        return diff(of_a, of_b, DiffOptions(**options)).counts.total  # type: ignore[arg-type]


@pytest.mark.parametrize("expect", Expect)
@pytest.mark.parametrize("path", FIRST, ids=lambda path: path.name.partition(".")[0])
def test_two_runs_of_an_agent_are_equal(path: Path, expect: Expect) -> None:
    """With the default rules, `diff` finds no difference between two runs of a real agent."""
    assert differences(path, path.with_name(path.name.replace(".a.", ".b.")), expect=expect) == 0


@pytest.mark.parametrize("path", FIRST, ids=lambda path: path.name.partition(".")[0])
def test_exactly_they_are_not(path: Path) -> None:
    """`diff --exact` finds differences between two runs of an agent."""
    assert differences(path, path.with_name(path.name.replace(".a.", ".b.")), exact=True) > 3


def test_two_agents_are_different() -> None:
    """`diff` finds many differences between recordings of two different agents."""
    a, b = (PAIRS / f"{name}-edit.a.jsonl" for name in ("gemini", "vibe"))
    assert differences(a, b) > 10
    assert differences(a, b, expect=Expect.OUTCOME) > 1
