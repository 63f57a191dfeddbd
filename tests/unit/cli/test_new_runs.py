"""New runs of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.cli.new_runs import new_names

if TYPE_CHECKING:
    from pathlib import Path


def test_new_runs_have_names_that_nothing_has(tmp_path: Path) -> None:
    """So what is there after a process was killed is what it has recorded, and may be removed."""
    for name in ("a.db", "b.db.log"):
        (tmp_path / name).touch()
    new_name = new_names(("agent",), tmp_path)
    found = [new_name(path) for path in ("x/a.db", "x/b.jsonl", "x/c.db", "y/c.db", "y/a-2.db")]
    expected = ["a-2.db", "b-2.db", "c.db", "c.2.db", "a-2-2.db"]
    assert found == [str(tmp_path / one) for one in expected]
