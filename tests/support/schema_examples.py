"""Makes example messages for each variant and each optional member in a schema version.

`generate` yields the smallest value of a type, and then a value for each optional member, each
branch of a union and each value of an enumeration. `conversation` puts an example into a correct
conversation: the handshake announces all capabilities, and sessions and requests exist before they
are named.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from acp_proxy.protocol.jsonrpc import Direction
from tests.support.schema_derivation import Form, named
from tests.tools.schemas import DIALECTS, of_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCHEMAS = sorted(name for names in DIALECTS.values() for name in names)
_DEEPEST = 9
_VALUES: dict[str, Any] = {
    "sessionId": "s1", "senderSessionId": "s1", "recipientSessionId": "s1", "cwd": "/w/p",
    "path": "/w/p/a.py", "oldPath": "/w/p/a.py", "newPath": "/w/p/b.py", "modeId": "m1",
    "currentModeId": "m1", "configId": "c1", "methodId": "login", "toolCallId": "call1",
    "terminalId": "t1", "serverId": "srv", "acpId": "srv", "connectionId": "k1", "data": "AAAA",
    "blob": "AAAA", "uri": "file:///w/p/a.py", "url": "https://example.com/x", "protocolVersion": 1,
    "currentValue": "a", "value": "a", "elicitationId": "e2", "optionId": "yes",
    "additionalDirectories": "/w/q", "command": "/bin/x", "signal": "SIGTERM", "currency": "USD",
    "modelId": "o1",
}  # fmt: skip
"""Values of members with these names; the conversation has opened their ids before."""
_CUSTOM = "_custom"


class Example(NamedTuple):
    """An example of the params or the result of a method."""

    schema: str
    direction: Direction
    """The direction of the request or of the notification."""
    method: str
    is_result: bool
    value: Any
    form: Form


def generate(schema: str) -> Iterator[Example]:
    """Yields examples for all methods of a schema version, always in the same order."""
    types = of_version(schema)
    for is_result, tables in enumerate((types["params"], types["results"])):
        for way, methods in tables.items():
            for method, form in methods.items():
                for value in _variants(types, form, method, 0, ()):
                    yield Example(schema, Direction(way), method, bool(is_result), value, form)


def _variants(
    types: Mapping[str, Any], form: Form, name: str, depth: int, within: tuple[str, ...]
) -> list[Any]:
    """Returns the smallest value of a type, and values that differ from it in one thing."""
    if reference := form.get("$ref"):
        inner = named(reference)
        if depth > _DEEPEST or within.count(inner) > 1:
            return [_smallest(types, form, name)]
        return _variants(types, types["types"][inner], name, depth, (*within, inner))
    for key in ("anyOf", "oneOf"):
        if key in form:
            return [member for branch in form[key]
                    for member in _variants(types, branch, name, depth, within)]  # fmt: skip
    if form.get("type") == "object" and "properties" in form:
        return _objects(types, form, depth, within)
    if "array" in _types(form):
        items = _variants(types, form.get("items", {}), name, depth + 1, within)
        return [[member] for member in items] + _others(types, form, "array") + (
            [] if form.get("minItems") or not depth else [[]]
        )  # fmt: skip
    return _plain(types, form, name)


def _objects(
    types: Mapping[str, Any], form: Form, depth: int, within: tuple[str, ...]
) -> list[dict[str, Any]]:
    properties, required = form["properties"], form.get("required", ())
    least = {name: _smallest(types, properties.get(name, {}), name) for name in required}
    results = [least]
    for name, member in properties.items():
        every = _variants(types, member, name, depth + 1, within)
        results += [{**least, name: value} for value in every if least.get(name, ...) != value]
    return results


def _smallest(types: Mapping[str, Any], form: Form, name: str) -> Any:
    """Returns the smallest value of a type; for a union, that of its first branch."""
    while "$ref" in form:
        form = types["types"][named(form["$ref"])]
    for key in ("anyOf", "oneOf"):
        if key in form:
            return _smallest(types, form[key][0], name)
    if form.get("type") == "object":
        properties = form.get("properties", {})
        required = form.get("required", ())
        return {member: _smallest(types, properties.get(member, {}), member) for member in required}
    if form.get("type") == "array":
        return [_smallest(types, form.get("items", {}), name)]
    return _plain(types, form, name)[0]


def _plain(types: Mapping[str, Any], form: Form, name: str) -> list[Any]:
    if "const" in form:
        return [form["const"]]
    if "enum" in form:
        return [*form["enum"]]
    if "x-known" in form:
        return [*form["x-known"], _CUSTOM]
    if "not" in form:
        return [_CUSTOM]
    if not _types(form):
        return [_VALUES.get(name, {"key": "value"})]
    return [member for kind in _types(form) for member in _of_type(types, form, kind, name)]


def _of_type(types: Mapping[str, Any], form: Form, kind: str, name: str) -> list[Any]:
    low = form.get("minimum", 0)
    named_value = _VALUES.get(name)
    of_kind: dict[str, list[Any]] = {
        "string": [named_value if isinstance(named_value, str) else f"a {name}"],
        "integer": [named_value if isinstance(named_value, int) else max(1, low)],
        "number": [max(1, low)],
        "boolean": [True, False],
        "null": [None],
        "object": [{"key": "value"} if form.get("additionalProperties") is not False else {}],
        "array": [[]],
    }
    if isinstance(others := form.get("additionalProperties"), dict) and kind == "object":
        return [{"key": _smallest(types, others, "value")}]
    return of_kind[kind]


def _types(form: Form) -> list[str]:
    kind = form.get("type", [])
    return [kind] if isinstance(kind, str) else [*kind]


def _others(types: Mapping[str, Any], form: Form, kind: str) -> list[Any]:
    return [
        member
        for name in _types(form)
        if name != kind
        for member in _of_type(types, form, name, "")
    ]


# The conversation around an example

_INFO = {"name": "peer", "version": "1"}
_DOCUMENTS: dict[str, Any] = {f"did{member}": {} for member in ("Open", "Close", "Save", "Focus")}
_NES = {"events": {"document": {**_DOCUMENTS, "didChange": {"syncKind": "full"}}}}
_ELICITATION: dict[str, Any] = {"form": {}, "url": {}}
_PROMPT_MODES: dict[str, Any] = {"mode": {"override": {}}}
_OFFERED: dict[str, Any] = {
    member: {}
    for member in ("delete", "fork", "additionalDirectories", "archive", "status", "title")
} | {"systemPrompt": _PROMPT_MODES}
_KINDS: dict[str, Any] = {"jump": {}, "rename": {}, "searchAndReplace": {}}
_SELECT = {
    "type": "select", "name": "C", "currentValue": "a", "options": [{"value": "a", "name": "A"}],
}  # fmt: skip
_BOOLEAN = {"type": "boolean", "name": "D", "currentValue": True}
_MODES = {"currentModeId": "m1", "availableModes": [{"id": "m1", "name": "M"}]}
_SERVER = {"type": "acp", "name": "t", "serverId": "srv"}
_FORMER_SERVER = {"type": "acp", "name": "t", "id": "srv"}


@cache
def _handshake(is_v2: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    if is_v2:
        session = {
            **_OFFERED,
            "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
            "mcp": {"stdio": {}, "http": {}, "acp": {}},
        }
        capabilities = {"session": session, "auth": {"status": {}}, "providers": {}, "nes": _NES}
        return (
            {"protocolVersion": 2, "info": _INFO, "capabilities": {
                "auth": {"terminal": {}}, "elicitation": _ELICITATION, "nes": _KINDS,
            }},
            {"protocolVersion": 2, "info": _INFO, "capabilities": capabilities,
             "authMethods": [{"type": "agent", "methodId": "login", "name": "L"}]},
        )  # fmt: skip
    session = {**_OFFERED, "list": {}, "resume": {}, "close": {}}
    client = {
        "fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, "plan": {},
        "session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}},
        "auth": {"terminal": True}, "elicitation": _ELICITATION, "subagents": {}, "nes": _KINDS,
    }  # fmt: skip
    agent = {
        "loadSession": True, "sessionCapabilities": session, "providers": {}, "nes": _NES,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True, "acp": True},
        "auth": {"logout": {}, "status": {}},
    }  # fmt: skip
    return (
        {"protocolVersion": 1, "clientCapabilities": client, "clientInfo": _INFO},
        {"protocolVersion": 1, "agentCapabilities": agent, "agentInfo": _INFO,
         "authMethods": [{"id": "login", "name": "L"}]},
    )  # fmt: skip


def conversation(example: Example) -> list[str]:
    """Returns a conversation with an example, in the syntax of `example_checker`."""
    return _Conversation(example).lines()


class _Conversation:
    def __init__(self, example: Example) -> None:
        self._example = example
        self._is_v2 = example.schema.startswith("v2")
        self._lines: list[str] = []
        self._next = 0

    def lines(self) -> list[str]:
        example = self._example
        value, method = json.loads(json.dumps(example.value)), example.method
        if method.endswith("initialize"):
            params, result = _handshake(self._is_v2)
            if not example.is_result:
                params = {**value, "protocolVersion": params["protocolVersion"]}
            else:
                result = {**value, "protocolVersion": params["protocolVersion"]}
            return [self._line("->", 0, method, params), self._line("<-", 0, "result", result)]
        self._begin()
        if example.is_result:
            self._answered(method, value)
        else:
            self._sent(method, value)
        return self._lines

    def _begin(self) -> None:
        params, result = _handshake(self._is_v2)
        self._ask("->", "initialize", params, result)
        name = "configId" if self._is_v2 else "id"
        options = [{name: "c1", **_SELECT}, {name: "c2", **_BOOLEAN}]
        opened: dict[str, Any] = {"sessionId": "s1", "configOptions": options}
        if not self._is_v2:
            opened["modes"] = _MODES
        method = self._example.method
        server = _FORMER_SERVER if "0.29" in self._example.schema else _SERVER
        servers = [server] if method.startswith("mcp/") else []
        self._ask("->", "session/new", {"cwd": "/w/p", "mcpServers": servers}, opened)
        if method.startswith(("nes/", "document/")) and method != "nes/start":
            self._ask("->", "nes/start", {}, {"sessionId": "s2"})
        elif method.startswith("mcp/") and method != "mcp/connect" and self._connects():
            key = "acpId" if "0.29" in self._example.schema else "serverId"
            self._ask("<-", "mcp/connect", {key: "srv"}, {"connectionId": "k1"})

    def _connects(self) -> bool:
        types = of_version(self._example.schema)
        return "mcp/connect" in types["params"][Direction.TO_CLIENT]

    def _prompt(self) -> None:
        """Begins a turn with a tool call and, if the example needs it, a terminal."""
        said = {"sessionId": "s1", "prompt": [{"type": "text", "text": "go"}]}
        if self._is_v2:
            self._ask("->", "session/prompt", said, {})
            self._update("state_update", state="running")
            self._update("user_message", messageId="u1", content=said["prompt"])
        else:
            self._lines.append(self._line("->", self._number(), "session/prompt", said))
            self._update("tool_call", toolCallId="call1", title="T", status="pending")
            if "terminal" in json.dumps(self._example.value) + self._example.method:
                params = {"sessionId": "s1", "command": "make"}
                self._ask("<-", "terminal/create", params, {"terminalId": "t1"})

    def _sent(self, method: str, value: dict[str, Any]) -> None:
        """Adds a message whose params are the example."""
        is_to_agent = self._example.direction is Direction.TO_AGENT
        arrow = "->" if is_to_agent else "<-"
        if not is_to_agent or method in ("session/cancel", "$/cancel_request", "mcp/message"):
            self._prompt()
        if method.startswith(("nes/", "document/")) and "sessionId" in value:
            value["sessionId"] = "s2"
        if method == "session/set_config_option" and value.get("type") == "boolean":
            value["configId"] = "c2"
        if method == "$/cancel_request":
            value["requestId"] = self._open_request(arrow)
        if method == "session/list" and value.get("cursor"):
            self._ask("->", method, {}, {"sessions": [], "nextCursor": value["cursor"]})
        if method == "session/update":
            self._precede(value["update"])
        if method == "elicitation/complete":
            asked = {"sessionId": "s1", "mode": "url", "message": "m", "url": "https://a.example/"}
            asked["elicitationId"] = value["elicitationId"]
            self._ask("<-", "elicitation/create", asked, {"action": "accept"})
        is_request = self._is_request(method)
        number = self._number() if is_request else None
        self._lines.append(self._line(arrow, number, method, value))

    def _open_request(self, arrow: str) -> Any:
        if arrow == "->" and not self._is_v2:
            return self._next - 1 if "t1" not in json.dumps(self._example.value) else self._next - 2
        method, params = "session/list", {}
        if arrow == "<-":
            method = "elicitation/create"
            params = {"sessionId": "s1", "mode": "url", "message": "m",
                      "url": "https://a.example/", "elicitationId": "e1"}  # fmt: skip
        number = self._number()
        self._lines.append(self._line(arrow, number, method, params))
        return number

    def _precede(self, update: dict[str, Any]) -> None:
        """Adds the messages that an update requires before it."""
        kind = update["sessionUpdate"]
        if kind in ("session_message", "session_message_chunk"):
            self._update("subagent_update", sessionId="s3")
        if kind == "config_option_update":
            self._complete(update)
        if kind == "tool_call":
            update["toolCallId"] = "call2"
        if update.get("stopReason") == "cancelled":
            self._lines.append(self._line("->", None, "session/cancel", {"sessionId": "s1"}))

    def _complete(self, holder: Any) -> None:
        """Adds the options and modes of the session to a list in the example."""
        key = "configId" if self._is_v2 else "id"
        if holder and "configOptions" in holder:
            options = [{key: "c1", **_SELECT}, {key: "c2", **_BOOLEAN}]
            holder["configOptions"] = [*(holder["configOptions"] or ()), *options]
        if holder and holder.get("modes"):
            holder["modes"]["availableModes"] += _MODES["availableModes"]

    def _answered(self, method: str, value: Any) -> None:
        """Adds a request, and its response with the example as the result."""
        types = of_version(self._example.schema)
        direction = self._example.direction
        form = types["params"][direction].get(method)
        params = {} if form is None else _smallest(types, form, method)
        asks, answers = ("->", "<-") if direction is Direction.TO_AGENT else ("<-", "->")
        if asks == "<-":
            self._prompt()
        if method.startswith("nes/") and "sessionId" in params:
            params["sessionId"] = "s2"
        if method in ("session/new", "session/fork"):
            value["sessionId"] = "s4"
        if method == "session/set_config_option":
            params = {"sessionId": "s1", "configId": "c1", "value": "a"}
            params |= {"type": "id"} if self._is_v2 else {}
        if method == "terminal/create":
            value["terminalId"] = "t2"
        self._complete(value)
        if method == "session/request_permission":
            params["options"] = [{"optionId": "yes", "name": "Y", "kind": "allow_once"}]
        if method == "session/load":
            params["sessionId"] = "s5"
        number = self._number()
        self._lines.append(self._line(asks, number, method, params))
        if method == "session/load":
            params = {
                "sessionId": "s5",
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": "hi"},
                },
            }
            self._lines.append(self._line("<-", None, "session/update", params))
        if method == "session/prompt" and value.get("stopReason") == "cancelled":
            self._lines.append(self._line("->", None, "session/cancel", {"sessionId": "s1"}))
        self._lines.append(self._line(answers, number, "result", value))

    def _is_request(self, method: str) -> bool:
        if method in ("mcp/message", "proxy/successor"):
            return True
        types = of_version(self._example.schema)
        return method in types["results"][self._example.direction]

    def _update(self, kind: str, **members: Any) -> None:
        params = {"sessionId": "s1", "update": {"sessionUpdate": kind, **members}}
        self._lines.append(self._line("<-", None, "session/update", params))

    def _ask(self, arrow: str, method: str, params: Any, result: Any) -> None:
        number, back = self._number(), "<-" if arrow == "->" else "->"
        self._lines.append(self._line(arrow, number, method, params))
        self._lines.append(self._line(back, number, "result", result))

    def _number(self) -> int:
        self._next += 1
        return self._next - 1

    def _line(self, arrow: str, number: int | None, what: str, value: Any) -> str:
        name = "" if number is None else f"#{number} "
        return f"{arrow} {name}{what} {json.dumps(value)}"
