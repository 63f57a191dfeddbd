"""`audit` accepts any recording, in each form of its output."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.explain.audit.paths import locate, mentions
from tests.support.command_line import run
from tests.support.drawn_messages import STEPS, recorded


@given(steps=STEPS)
def test_any_recording_has_an_audit(steps: list[tuple[int, Any]]) -> None:
    """`audit` accepts a recording of any messages, and prints no control characters."""
    with recorded(steps) as path:
        for form in ([], ["turn:1"]):
            shown = run("inspect", "audit", path, *form)
            assert shown.exit_code == 0
            assert shown.stdout.replace("\n", "").isprintable()
        audit = json.loads(run("inspect", "audit", "--json", path).stdout)
    actions = audit["actions"]
    assert [action["id"] for action in actions] == [*range(1, len(actions) + 1)]
    assert [action["seq"] for action in actions] == sorted(action["seq"] for action in actions)
    for action in actions:
        assert set(action["perhaps_same_as"]) <= {other["id"] for other in actions} - {action["id"]}
        assert (action["source"] == "client") == bool(action["requests"])
        if action["status"] in ("done", "started") and action["requests"]:
            assert "result" in [other["outcome"] for other in action["requests"]]
    for finding in audit["findings"]:
        assert finding["text"].isprintable()
        assert finding["seqs"] == [actions[number - 1]["seq"] for number in finding["actions"]]
    assert sum(sum(kind.values()) for kind in audit["counts"].values()) == len(actions)


@given(path=st.text(), directories=st.lists(st.text(max_size=5), max_size=2))
def test_any_path_has_a_place(path: str, directories: list[str]) -> None:
    """`audit` accepts any path, and calls none inside if the session's directories are unknown."""
    place = locate(path, directories)
    assert len(place.shown) <= 2000
    if not directories:
        assert place.place != "inside"
    mentions(path, directories)
