"""Playback compares messages as JSON values, and names a difference by its pointer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer, shown
from acp_proxy.protocol.json_text import json_or_none, pointer
from acp_proxy.protocol.typed_places import Place
from tests.support.cases import each_case


def differing(old: Any, new: Any, *ignored: str, method: str = "m") -> list[str]:
    """Returns the pointers to differences between the params of two messages."""
    result = Comparer(Bindings(), ignored).params(method, {"params": old}, {"params": new}, {})
    return [difference.pointer for difference in result.differences]


@each_case(
    ("old", "new", "pointers"),
    [
        ({"a": 1, "b": [1, 2]}, {"b": [1, 2], "a": 1.0}, []),
        ({"a": 10**400}, {"a": 1e300}, ["/params/a"]),
        ({"a": [1, 2]}, {"a": [2, 1]}, ["/params/a/0", "/params/a/1"]),
        ({"a": [1]}, {"a": [1, 2]}, ["/params/a/1"]),
        ({"a": True}, {"a": 1}, ["/params/a"]),
        ({"a": None}, {}, ["/params/a"]),
        ({"a": 1}, {"a": "1"}, ["/params/a"]),
        ({"a": {}}, {"a": []}, ["/params/a"]),
        ({"a": {"_meta": 1}}, {"a": {"_meta": 2}, "_meta": {}}, []),
        ({"/": {"~": 1}}, {"/": {"~": 2}}, ["/params/~1/~0"]),
        (None, {}, ["/params"]),
    ],
)
def test_values_are_compared_as_json(old: Any, new: Any, pointers: list[str]) -> None:
    """A replay compares JSON values without regard to the order of keys."""
    assert differing(old, new) == pointers


@pytest.mark.parametrize(
    ("ignored", "pointers"),
    [
        (("/params/a/b",), ["/params/a/c"]),
        (("/params/a",), []),
        (("/params/*/b", "/params/a/c"), []),
        (("/*/*/b",), ["/params/a/c"]),
        (("/params/a~1b",), ["/params/a/b", "/params/a/c"]),
        (("/params/a/b/c",), ["/params/a/b", "/params/a/c"]),
    ],
)
def test_ignored_pointers_cover_what_is_below_them(
    ignored: tuple[str, ...], pointers: list[str]
) -> None:
    """A replay ignores everything below an ignored JSON pointer."""
    assert differing({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 2}}, *ignored) == pointers


def test_in_a_handshake_only_version_and_capabilities_count() -> None:
    """A replay compares only the version and the capabilities of `initialize`."""
    for method in ("initialize", "_proxy/initialize", "proxy/initialize"):
        assert differing({"clientInfo": 1}, {"info": 2}, method=method) == []
        assert differing({"protocolVersion": 1}, {"protocolVersion": 2}, method=method) == [
            "/params/protocolVersion"
        ]
        assert differing({"capabilities": {"x": {}}}, {}, method=method) == [
            "/params/capabilities/x"
        ]
        assert differing({"capabilities": {}}, {}, method=method) == []


def test_false_and_missing_capabilities_are_equal() -> None:
    """In a replay, a false capability matches a missing capability."""
    old = {"clientCapabilities": {"fs": {"readTextFile": True}, "terminal": False}}
    new = {"clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}}}
    assert differing(old, {**new, "clientCapabilities": {"fs": {"readTextFile": True}}}) == [
        "/params/clientCapabilities/terminal"
    ]
    assert (
        differing(old, {"clientCapabilities": {"fs": {"readTextFile": True}}}, method="initialize")
        == []
    )
    result = Comparer(Bindings()).params("initialize", {"params": old}, {"params": new}, {})
    assert [(item.pointer, item.recorded, item.live) for item in result.differences] == [
        (
            "/params/clientCapabilities/fs",
            '{"readTextFile": true}',
            '{"readTextFile": false, "writeTextFile": false}',
        )
    ]


def test_a_value_that_the_client_may_choose_is_proposed() -> None:
    """A replay accepts another directory of the client, and binds it to the recorded directory."""
    bindings = Bindings()
    comparer = Comparer(bindings)
    places = {"params": {"cwd": Place.ROOT}}
    old, new = {"params": {"cwd": "/a"}}, {"params": {"cwd": "/b"}}
    result = comparer.params("m", old, new, places)
    assert result.proposals == [(Place.ROOT, "/a", "/b")]
    assert result.is_match
    assert not result.is_equal
    assert comparer.params("m", old, old, places).is_equal
    bindings.bind(Place.ROOT, "/a", "/c")
    result = comparer.params("m", old, new, places)
    assert not result.is_match
    assert [(d.pointer, d.recorded, d.live) for d in result.conflicts] == [
        ("/params/cwd", '"/a", which is "/c" already', '"/b"')
    ]
    assert not comparer.params("m", old, {"params": {"cwd": 3}}, places).is_match


def test_results_and_errors_are_compared() -> None:
    """A replay treats a result and an error as different, and two equal results as equal."""
    comparer = Comparer(Bindings())
    actual = comparer.results({"result": {"a": 1}}, {"error": {"code": 1}}, {})
    assert [difference.pointer for difference in actual.differences] == ["/result", "/error"]
    assert comparer.results({"result": None}, {"result": None}, {}).is_equal


def test_deep_values_differ() -> None:
    """A replay treats equal values as different if they are nested 5000 levels deep."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    assert differing(deep, deep) == ["/params"]
    assert shown(deep) == "(nested too deeply)"


def test_a_line_that_is_not_json_has_no_value() -> None:
    """A replay does not compare a line as JSON if it is not JSON or is nested too deeply."""
    for line in (b"{", b"\xff", b"[" * 10**6, b"9" * 10**4):
        assert json_or_none(line) is None
    assert json_or_none(b'{"a":1}') == {"a": 1}


def test_long_values_are_cut() -> None:
    """The report of a replay shows the beginning of a long value, and the value's length."""
    assert shown("é") == '"é"'
    assert shown("x" * 1000).endswith("… (1002 characters)")
    assert json.loads(shown({"a": None})) == {"a": None}


def test_pointers_are_those_of_the_rfc() -> None:
    """JSON pointers in the report of a replay are escaped as RFC 6901 demands."""
    assert pointer(("params", "a/b", "~", "0")) == "/params/a~1b/~0/0"
    assert pointer(()) == ""
