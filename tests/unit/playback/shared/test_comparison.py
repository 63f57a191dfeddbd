"""Messages are compared as JSON values, and differ at a pointer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer, shown
from acp_proxy.protocol.json_text import json_or_none, pointer
from acp_proxy.protocol.typed_places import Place


def differing(old: Any, new: Any, *ignored: str, method: str = "m") -> list[str]:
    """The pointers at which the params of two messages differ."""
    found = Comparer(Bindings(), ignored).params(method, {"params": old}, {"params": new}, {})
    return [difference.pointer for difference in found.differences]


@pytest.mark.parametrize(
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
    """Neither the order of keys nor the spelling of numbers is a difference."""
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
    """A pointer to something deeper does not cover what is above it."""
    assert differing({"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 2}}, *ignored) == pointers


def test_in_a_handshake_only_version_and_capabilities_count() -> None:
    """Also as a proxy chain spells them, and under v2's name for capabilities."""
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
    """A difference is still shown as it was written."""
    old = {"clientCapabilities": {"fs": {"readTextFile": True}, "terminal": False}}
    new = {"clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}}}
    assert differing(old, {**new, "clientCapabilities": {"fs": {"readTextFile": True}}}) == [
        "/params/clientCapabilities/terminal"
    ]
    assert (
        differing(old, {"clientCapabilities": {"fs": {"readTextFile": True}}}, method="initialize")
        == []
    )
    found = Comparer(Bindings()).params("initialize", {"params": old}, {"params": new}, {})
    assert [(one.pointer, one.recorded, one.live) for one in found.differences] == [
        (
            "/params/clientCapabilities/fs",
            '{"readTextFile": true}',
            '{"readTextFile": false, "writeTextFile": false}',
        )
    ]


def test_a_value_that_the_client_may_choose_is_proposed() -> None:
    """A directory that is not bound is a proposal; bound to another one it is a conflict."""
    bindings = Bindings()
    comparer = Comparer(bindings)
    places = {"params": {"cwd": Place.ROOT}}
    old, new = {"params": {"cwd": "/a"}}, {"params": {"cwd": "/b"}}
    found = comparer.params("m", old, new, places)
    assert found.proposals == [(Place.ROOT, "/a", "/b")]
    assert found.is_match
    assert not found.is_equal
    assert comparer.params("m", old, old, places).is_equal
    bindings.bind(Place.ROOT, "/a", "/c")
    found = comparer.params("m", old, new, places)
    assert not found.is_match
    assert [(d.pointer, d.recorded, d.live) for d in found.conflicts] == [
        ("/params/cwd", '"/a", which is "/c" already', '"/b"')
    ]
    assert not comparer.params("m", old, {"params": {"cwd": 3}}, places).is_match


def test_results_and_errors_are_compared() -> None:
    """A result differs from an error."""
    comparer = Comparer(Bindings())
    found = comparer.results({"result": {"a": 1}}, {"error": {"code": 1}}, {})
    assert [difference.pointer for difference in found.differences] == ["/result", "/error"]
    assert comparer.results({"result": None}, {"result": None}, {}).is_equal


def test_deep_values_differ() -> None:
    """They raise nothing."""
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    assert differing(deep, deep) == ["/params"]
    assert shown(deep) == "(nested too deeply)"


def test_a_line_that_is_not_json_has_no_value() -> None:
    """Nor has one that is too deep, or a number with too many digits."""
    for line in (b"{", b"\xff", b"[" * 10**6, b"9" * 10**4):
        assert json_or_none(line) is None
    assert json_or_none(b'{"a":1}') == {"a": 1}


def test_long_values_are_cut() -> None:
    """Their length is shown."""
    assert shown("é") == '"é"'
    assert shown("x" * 1000).endswith("… (1002 characters)")
    assert json.loads(shown({"a": None})) == {"a": None}


def test_pointers_are_those_of_the_rfc() -> None:
    """RFC 6901 escapes a slash and a tilde."""
    assert pointer(("params", "a/b", "~", "0")) == "/params/a~1b/~0/0"
    assert pointer(()) == ""
