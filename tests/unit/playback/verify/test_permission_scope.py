"""Tests which members of a permission request `verify` compares to identify the action."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Difference
from acp_proxy.playback.verify.permission_scope import (
    differences,
    moved,
    names_something,
    scope,
    title_of,
)
from acp_proxy.protocol.typed_places import Place
from tests.support.cases import each_case

CALL = {"toolCallId": "c", "kind": "edit", "rawInput": {"path": "/p/f"}}


def asking(call: dict[str, Any], **params: Any) -> dict[str, Any]:
    """A permission request of v1."""
    return {"params": {"sessionId": "s", "toolCall": call, "options": [], **params}}


@pytest.mark.parametrize(
    "noise",
    [
        {"title": "T"},
        {"status": "pending"},
        {"toolCallId": "other"},
        {"_meta": {"x": 1}},
        {"content": []},
        {"rawInput": {"path": "/p/f", "callId": "x", "started_at": 1.7e9}},
    ],
)
def test_members_that_do_not_describe_the_action_do_not_count(noise: dict[str, Any]) -> None:
    """`verify` repeats a recorded permission even if the tool call's title or id differs."""
    assert scope(asking({**CALL, **noise}), {}) == scope(asking(CALL), {})


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "read"},
        {"rawInput": {"path": "/p/g"}},
        {"rawInput": {"path": "/p/f", "started_at": 7}},
        {"rawInput": {"path": "/p/f", "force": True}},
        {"content": [{"type": "diff", "path": "/p/f"}]},
        {"locations": [{"path": "/p/g"}]},
        {"unknown": 1},
    ],
)
def test_a_different_action_is_not_permitted(change: dict[str, Any]) -> None:
    """`verify` repeats no recorded permission if the action's kind, path or input differs."""
    assert scope(asking({**CALL, **change}), {}) != scope(asking(CALL), {})


def test_announced_members_belong_to_the_request() -> None:
    """`verify` adds what a tool call's updates contain to a permission request for the call."""
    announced = {"kind": "read", "rawInput": {"path": "/p/f"}, "title": "T"}
    call = {"toolCallId": "c", "kind": "edit", "rawInput": None}
    assert scope(asking(call), announced) == scope(asking(CALL), {})


def test_the_line_of_a_location_does_not_count() -> None:
    """`verify` repeats a recorded permission even if the line number of a location differs."""
    at = [scope(asking({**CALL, "locations": [{"path": "/p", "line": n}]}), {}) for n in (1, 2)]
    assert at[0] == at[1] != scope(asking(CALL), {})


def test_the_line_of_the_location_of_a_draft_does_not_count() -> None:
    """In the 1.0 draft, `verify` repeats a permission even if a line number differs."""
    at = [scope(asking({**CALL, "location": {"path": "/p", "line": n}}), {}) for n in (1, 2)]
    assert at[0] == at[1] == scope(asking({**CALL, "location": {"path": "/p"}}), {})
    assert at[0] != scope(asking({**CALL, "location": {"path": "/q"}}), {})
    assert scope(asking({**CALL, "location": "/p"}), {}) != at[0]


def test_a_text_beside_a_command_does_not_count() -> None:
    """`verify` repeats a permission for the same command, even if its description differs."""
    with_command = [{"rawInput": {"command": "ls", "description": text}} for text in "ab"]
    without = [{"rawInput": {"path": "/p", "description": text}} for text in "ab"]
    assert scope(asking(with_command[0]), {}) == scope(asking(with_command[1]), {})
    assert scope(asking(without[0]), {}) != scope(asking(without[1]), {})


def test_a_live_directory_may_stand_for_a_recorded_one() -> None:
    """`verify` repeats a permission for the same path below the live working directory."""
    bindings = Bindings(roots={"/old": "/new"})
    recorded, live, other = (
        scope(asking({"kind": "edit", "rawInput": {"path": path}}), {})
        for path in ("/old/f", "/new/f", "/new/g")
    )
    assert differences(recorded, live, bindings) == ()
    place = "/params/toolCall/rawInput/path"
    assert differences(recorded, other, bindings) == (
        Difference(place, '"/new/f"', '"/new/g"', '"/old/f"'),
    )
    assert moved(recorded, bindings) == live


def test_a_scope_that_cannot_be_read_equals_none() -> None:
    """`verify` repeats no permission if the recorded or the live request is nested too deeply."""
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    unreadable = scope(asking({"rawInput": deep}), {})
    assert unreadable is None
    difference = Difference("/params", "(nested too deeply)", "(nested too deeply)")
    assert differences(unreadable, unreadable, Bindings()) == (difference,)
    assert differences({"params": {}}, None, Bindings()) == (difference,)
    assert differences(None, {"params": {}}, Bindings()) == (difference,)


@pytest.mark.parametrize("terminal", ["term-2", 7])
def test_a_value_that_a_client_may_choose_has_to_be_the_same(terminal: Any) -> None:
    """If a tool call shows another terminal than recorded, `verify` repeats no permission."""
    recorded, live = (
        scope(asking({"content": [{"type": "terminal", "terminalId": item}]}), {})
        for item in ("term-1", terminal)
    )
    (result,) = differences(recorded, live, Bindings())
    assert (result.recorded, result.live) == ('"term-1"', json.dumps(terminal))
    if terminal == "term-2":
        assert result.pointer == "/params (terminal)"
    bound = Bindings()
    bound.bind(Place.TERMINAL, "term-1", "term-2")
    assert (differences(recorded, live, bound) == ()) == (terminal == "term-2")


@each_case(
    ("call", "expected"),
    [
        ({"kind": "edit"}, False),
        ({"kind": "edit", "rawInput": {"force": True, "tool": "x"}}, False),
        ({"kind": "edit", "rawInput": {"description": "edits a file"}}, False),
        ({"kind": "edit", "content": [{"type": "content"}]}, False),
        ({"kind": "edit", "content": [{"type": "diff", "path": "/p"}]}, True),
        ({"kind": "edit", "rawInput": {"path": "/p"}}, True),
        ({"kind": "edit", "rawInput": {"/p": True}}, True),
        ({"kind": "edit", "content": {"type": "diff", "path": "/p"}}, True),
        ({"kind": "edit", "content": {"changes": [{"path": "/p"}]}}, True),
        ({"kind": "edit", "rawInput": {"tool": ["x"]}}, False),
        ({"kind": "edit", "rawInput": {"paths": ["/p"]}}, True),
    ],
)
def test_a_scope_names_what_the_action_applies_to_or_not(
    call: dict[str, Any], expected: bool
) -> None:
    """`verify` repeats no permission if the request names neither a path nor a command."""
    assert names_something(scope(asking(call), {})) == expected


@each_case("kind", ["execute", "other", "custom", None])
@each_case(
    "where",
    [
        {"locations": [{"path": "/p"}]},
        {"rawInput": {"cwd": "/p", "timeout_ms": 3, "title": "T"}},
        {"rawInput": {"work_dir": {"workdir": "/p"}, "timeout": 3}},
    ],
)
def test_a_place_does_not_identify_a_command(kind: str | None, where: dict[str, Any]) -> None:
    """`verify` repeats no permission for a command if the request names only a directory."""
    call = {"toolCallId": "c", "kind": kind, **where}
    assert not names_something(scope(asking(call), {}))
    assert names_something(scope(asking({**call, "rawInput": {"cmd": "ls"}}), {}))
    if "locations" in where:
        assert names_something(scope(asking({**call, "kind": "edit"}), {}))


def test_members_of_the_params_may_name_what_the_action_applies_to() -> None:
    """`verify` also accepts a path beside the tool call as the object of a permission request."""
    for name in ("toolCall", "subject"):
        assert not names_something({"params": {name: {"kind": "edit"}}})
        assert names_something({"params": {name: {"kind": "edit"}, "path": "/p"}})


@each_case(
    ("params", "announced", "title"),
    [
        ({"toolCall": {"title": "A"}}, {"title": "B"}, "A"),
        ({"subject": {"toolCall": {"title": "A"}}, "title": "B"}, {}, "A"),
        ({"title": "B"}, {}, "B"),
        ({}, {"title": "C"}, "C"),
        ({"operation": "read", "resource": "/p"}, {}, "read /p"),
        ({"operation": "read"}, {}, "read"),
        ({}, {"rawInput": {"command": ["ls", "-l"]}}, '["ls", "-l"]'),
        ({"subject": {"command": "ls"}}, {}, "ls"),
        ({"command": "ls"}, {}, "ls"),
        ({"toolCall": {"title": 7}}, {}, ""),
        ({}, {"rawInput": {"command": ["é"]}}, '["é"]'),
        ({}, {}, ""),
    ],
)
def test_reports_name_a_request(
    params: dict[str, Any], announced: dict[str, Any], title: str
) -> None:
    """Reports of `verify` name a permission request by its title, operation or command."""
    assert title_of({"params": params}, announced) == title
