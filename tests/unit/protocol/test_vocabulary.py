"""The table of typed values covers every id and path in the specifications' examples."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.json_text import params_of, parts_of
from acp_proxy.protocol.typed_places import Place, places_of
from acp_proxy.protocol.vocabulary import TABLE, Position, Role, pointers, positions
from tests.support.cases import each_case
from tests.support.protocol_documents import ROOT, Example, draft, official, schemas

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = re.compile(
    r"(^id|Id|[pP]ath|uri|Uri|url|Url|cwd|[dD]irector(y|ies)|At|[tT]imestamp\w*|duration"
    r"|credentials|headers|env|apiKey|token|mcpServers|sessionId)$"
)
"""Keys that suggest an id, a path, a URI, a time or a credential."""
_VALUES = re.compile(
    r"(/[a-z]|file:|\w+://|\d{4}-\d\d-\d\dT|sess_|call_|tc_|term_|plan_|step_|Bearer |sk-)"
)
"""Texts that look like such a value."""

_NO_TYPE = {
    **dict.fromkeys(
        ("modeId", "currentModeId", "modelId", "currentModelId"), "an agent's own word"
    ),
    **dict.fromkeys(("methodId", "configId", "providerId", "optionId"), "an agent's own word"),
    **dict.fromkeys(("rawInput", "rawOutput", "input"), "what a tool takes and gives, of any form"),
    **dict.fromkeys(("availableModes", "authMethods", "configOptions"), "an agent's own words"),
    "languageId": "a word of the editors",
    "sessionUpdate": "the kind of an update",
    "remoteUrl": "of the repository, wherever it was checked out",
    "icons": "a picture",
    "serverId": "the client's name for a server, as in its configuration",
    "acpId": "the same in the proposal",
    "_meta": "unknown",
}
"""Keys without typed values at or below them, and why."""

_ANYBODYS = ("_", "proxy/successor")
"""Methods that the protocol does not define, and an envelope."""

_TEXTS = {"text", "content", "stdout", "stderr", "data", "message", "method", "tool"}
"""Keys of texts, which may begin with any characters."""


@cache
def _all() -> list[Example]:
    return [*official(), *draft(), *schemas(), *_of_fragments()]


def _of_fragments() -> Iterator[Example]:
    """Yields whole messages for examples that are only fragments of messages."""
    for name in ("fragments-official.jsonl", "fragments-seed004.jsonl"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            shown = json.loads(line)
            value = shown["value"]
            match shown["fragment"]:
                case "content_block":
                    yield _request("session/prompt", {"prompt": [value], "content": [value]})
                case "mcp_server":
                    yield _request("session/new", {"mcpServers": [value]})
                case "mcp_transport":
                    yield _request("session/new", {"mcpServers": [{"transport": value}]})
                case "tool_call_content":
                    yield _request("session/update", {"update": {"content": [value]}})
                case "tool_call_location":
                    yield _request("session/update", {"update": {"locations": [value]}})
                case "session_update":
                    yield _request("session/update", value)


def _request(method: str, params: dict[str, Any]) -> Example:
    example = official()[0]
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return Example("a fragment", example.direction, "request", method, message)


def _typed(example: Example) -> Iterator[str]:
    """Yields the places of an example that look like ids or paths."""
    for pointer, value in _leaves(example.message, ""):
        parts = [part for part in parts_of(pointer) if part != "*"]
        if set(parts) & _NO_TYPE.keys():
            continue
        is_named = any(map(_NAMES.search, parts)) and value not in (None, True, False)
        looks_so = isinstance(value, str) and _VALUES.match(value) and parts[-1] not in _TEXTS
        if is_named or looks_so:
            yield pointer


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{pointer}/{key.replace('/', '~1')}")
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, f"{pointer}/*")
    else:
        yield pointer, value


def _is_known(pointer: str, rows: tuple[Position, ...]) -> bool:
    return any(f"{pointer}/".startswith(f"{row.pointer}/") for row in rows)


@each_case("method", sorted({e.method for e in _all() if not e.method.startswith(_ANYBODYS)}))
def test_every_typed_value_of_the_documents_has_a_role(method: str) -> None:
    """The table of typed values covers every id and path in ACP's examples."""
    for example in _all():
        if example.method == method:
            rows = positions(method, is_response=example.kind == "response")
            unknown = [pointer for pointer in _typed(example) if not _is_known(pointer, rows)]
            assert not unknown, (example.source, example.message)


def test_every_row_is_reached() -> None:
    """Each entry of the table of typed values applies to messages of at least one method."""
    for row in TABLE:
        for method in row.methods or ("any",):
            name = f"{method}x" if method.endswith("/") else method
            assert row in positions(name, is_response=row.is_in_response)
    assert {row.role for row in TABLE} == {*Role}


@pytest.mark.parametrize("is_response", [False, True])
def test_a_place_has_one_role_in_messages_of_a_method(is_response: bool) -> None:
    """In the table of typed values, a place in the messages of a method has only one type."""
    for method in {method for row in TABLE for method in row.methods}:
        roles: dict[str, Role] = {}
        for row in positions(method, is_response=is_response):
            assert roles.setdefault(row.pointer, row.role) is row.role, (method, row.pointer)


def test_pointers_come_once() -> None:
    """The table of typed values lists no place in a method's messages twice."""
    places = pointers(Role.TERMINAL)
    assert len(places) == len({*places})
    assert "/params/data/output/terminalId" in places


def test_replay_knows_the_places_of_all_dialects() -> None:
    """The table of typed values, which replays use, has the ids and paths of all dialects."""
    places = places_of("notification", "session/update")["params"]
    assert places["data"]["output"]["path"] is Place.PATH
    assert places["data"]["output"]["terminalId"] is Place.TERMINAL
    assert places["update"]["content"]["*"]["content"]["source"]["url"] is Place.URI
    assert places["update"]["content"]["terminalId"] is Place.TERMINAL
    assert "toolCallId" not in places["update"]
    assert places_of("request", "fs/create_directory")["params"]["path"] is Place.PATH
    assert places_of("request", "authenticate")["params"]["credentials"] is Place.FREE
    assert places_of("request", None)["params"] == {"sessionId": Place.SESSION}
    assert places_of("blank", None) == {}


@pytest.mark.parametrize("message", [None, [], {"params": [1]}, {}])
def test_params_that_are_not_an_object_are_empty(message: Any) -> None:
    """`params_of` returns an empty object if a message has no params, or params in a list."""
    assert params_of(message) == {}
