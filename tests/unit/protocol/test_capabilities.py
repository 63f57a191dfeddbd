"""A handshake has one normal form, whichever way a missing capability is written."""

from __future__ import annotations

from typing import Any

from acp_proxy.protocol.capabilities import normalized
from tests.support.cases import each_case


@each_case(
    ("said", "meant"),
    [
        ({}, {}),
        ({"terminal": False}, {}),
        ({"terminal": None, "fs": {}}, {}),
        ({"fs": {"readTextFile": True, "writeTextFile": False}}, {"fs": {"readTextFile": True}}),
        ({"fs": {"readTextFile": False, "writeTextFile": False}}, {}),
        ({"terminal": {"create": False, "maxConcurrent": 5}}, {"terminal": {"maxConcurrent": 5}}),
        ({"sessionCapabilities": {"list": {}}}, {"sessionCapabilities": {"list": {}}}),
        ({"elicitation": {"form": {}, "url": None}}, {"elicitation": {"form": {}}}),
        ({"auth": {}}, {"auth": {}}),
        ({"auth": {"terminal": False}}, {}),
        ({"session": {"prompt": {"image": None}}}, {"session": {"prompt": {}}}),
        ({"_custom": {"codeAnalysis": False, "x": {"y": 0}}}, {"_custom": {"x": {"y": 0}}}),
    ],
)
def test_unsupported_capabilities_are_left_out(said: dict[str, Any], meant: dict[str, Any]) -> None:
    """To compare handshakes, acp-proxy treats false and null capabilities as missing."""
    for name in ("clientCapabilities", "agentCapabilities", "capabilities"):
        rest = {"protocolVersion": 1, "clientInfo": {"name": "x", "title": None}}
        assert normalized({**rest, name: said}) == {**rest, **({name: meant} if meant else {})}


def test_only_capabilities_are_normalized() -> None:
    """To compare handshakes, acp-proxy treats `false` as missing only among the capabilities."""
    said = {"requiredClientCapabilities": {"fs": {"read": False}}, "capabilities": {"x": False}}
    assert normalized(said) == {"requiredClientCapabilities": {"fs": {"read": False}}}
    assert said["capabilities"] == {"x": False}
    assert normalized(None) is None
    assert normalized([False]) == [False]
