"""The schema check compares params and results with the types of their dialect."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.check.schema_check import DialectSchema
from acp_proxy.check.schema_problems import ABSENT, MOST, Mismatch, SchemaProblem
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.jsonrpc import Direction
from tests.support import protocol_documents
from tests.support.cases import each_case

if TYPE_CHECKING:
    from tests.support.protocol_documents import Example

TO_AGENT, TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT
SCHEMAS = {dialect: DialectSchema.of_dialect(dialect) for dialect in (V1, V2, DRAFT)}
NEW = {"cwd": "/", "mcpServers": []}
NULL_RESULTS = ("fs/write_text_file", "session/load")
"""Methods whose result is null in the reference, but an empty object in the schema."""


def wrong_params(
    dialect: str, way: Direction, method: str, value: Any = ABSENT
) -> list[SchemaProblem]:
    """Returns the problems of params."""
    return SCHEMAS[dialect].compare(way, method, False, value).problems


def wrong_result(dialect: str, way: Direction, method: str, value: Any) -> list[SchemaProblem]:
    """Returns the problems of a result."""
    return SCHEMAS[dialect].compare(way, method, True, value).problems


def extra(
    dialect: str, way: Direction, method: str, value: Any, *, is_result: bool = False
) -> list[str]:
    """Returns the members of a message that no type defines."""
    return SCHEMAS[dialect].compare(way, method, is_result, value).extra


def judged(example: Example, dialect: str) -> tuple[list[str], list[str]]:
    """Returns the problems of a message, and its members that no type defines."""
    schema, message, direction = SCHEMAS[dialect], example.message, example.direction
    if "result" in message:
        comparison = schema.compare(direction.other, example.method, True, message["result"])
    elif "method" in message:
        comparison = schema.compare(direction, example.method, False, message.get("params", ABSENT))
    else:
        return [], []
    return [str(problem) for problem in comparison.problems], comparison.extra


def updated(dialect: str = V1, **update: Any) -> list[str]:
    """Returns the problems of a session update."""
    value = {"sessionId": "s", "update": update}
    return [str(problem) for problem in wrong_params(dialect, TO_CLIENT, "session/update", value)]


@each_case("example", protocol_documents.official(), ids=lambda case: case.method)
def test_official_examples_are_judged_as_the_verdict_says(example: Example) -> None:
    """The schema check finds a mistake in exactly those ACP examples that are marked as invalid."""
    is_null = example.method in NULL_RESULTS and example.message.get("result", 0) is None
    assert bool(judged(example, V1)[0]) == (example.valid_v1_schema is False and not is_null)


def test_the_slips_of_the_reference_are_named_exactly() -> None:
    """In the examples of ACP's specification, the schema check finds exactly the known mistakes."""
    assert [
        words
        for example in protocol_documents.official()
        for problems in judged(example, V1)
        for words in problems
    ] == [
        "/result/clientCapabilities",
        "/result/agentCapabilities/mcp",
        "/params/update/currentModeId: expected string, got nothing",
        "/params/update/modeId",
        '/params/toolCall/content/0/type: expected "content", "diff" or "terminal", got "text"',
        "/result/clientCapabilities",
    ]


@each_case("example", protocol_documents.draft(), ids=lambda case: case.method)
def test_examples_of_the_draft_are_right(example: Example) -> None:
    """Every example of the 1.0 draft is valid under the draft's schema."""
    assert judged(example, DRAFT) == ([], [])


@pytest.mark.parametrize(
    ("direction", "method", "params", "told"),
    [
        (TO_AGENT, "session/new", {}, "/params/workingDirectory: expected string, got nothing"),
        (
            TO_AGENT,
            "terminal/output",
            {"terminalId": "t"},
            "/params/data: expected string, got nothing",
        ),
        (TO_CLIENT, "terminal/create", {"command": 1}, "/params/command: expected string, got 1"),
        (
            TO_AGENT,
            "session/prompt",
            {"sessionId": "s", "content": [{"type": "image"}]},
            "/params/content/0/source: expected object, got nothing",
        ),
    ],
)
def test_the_draft_requires_what_its_tables_require(
    direction: Direction, method: str, params: Any, told: str
) -> None:
    """The draft's schema requires the params that the tables of the 1.0 draft call required."""
    assert [*map(str, wrong_params(DRAFT, direction, method, params))] == [told]


def test_the_draft_requires_members_of_results() -> None:
    """The draft's schema requires each member that the 1.0 draft requires of a result."""
    told = wrong_result(DRAFT, TO_AGENT, "session/set_mode", {"currentMode": "plan"})
    assert [*map(str, told)] == ["/result/previousMode: expected a value, got nothing"]
    exited = {"exitCode": None, "signal": "SIGTERM"}
    assert wrong_result(DRAFT, TO_CLIENT, "terminal/wait_for_exit", exited) == []
    video = {"sessionId": "s", "content": [{"type": "video"}]}
    assert wrong_params(DRAFT, TO_AGENT, "session/prompt", video) == []


def test_unknown_methods_are_no_problem() -> None:
    """The schema check accepts messages with unknown methods."""
    for dialect, schema in SCHEMAS.items():
        assert schema.compare(TO_AGENT, "no/method", False, 1).fits, dialect
        assert schema.compare(TO_CLIENT, "session/prompt", True, 1).fits
        assert schema.compare(TO_AGENT, "_x", False, {"a": 1}).fits
        assert schema.knows(TO_AGENT, "session/prompt")
        assert schema.knows(TO_AGENT, "session/prompt", is_result=True)
        assert not schema.knows(TO_CLIENT, "session/prompt")
        assert not schema.knows(TO_AGENT, "session/cancel", is_result=True)


def test_params_may_be_absent_where_none_are_required() -> None:
    """The schema check reads missing params as an empty JSON object."""
    for value in (ABSENT, None, {}):
        assert wrong_params(V1, TO_AGENT, "logout", value) == []
    (missing,) = wrong_params(V1, TO_AGENT, "session/new")
    assert str(missing) == "/params: expected object, got nothing"
    assert missing.mismatch is Mismatch.MISSING
    (null,) = wrong_params(V1, TO_AGENT, "session/new", None)
    assert str(null) == "/params: expected object, got null"


def test_null_is_a_result_without_members() -> None:
    """The schema check accepts a null result only if all members of the result are optional."""
    assert wrong_result(V1, TO_AGENT, "session/load", None) == []
    (problem,) = wrong_result(V1, TO_AGENT, "session/new", None)
    assert str(problem) == "/result: expected object, got null"


def test_null_metadata_is_accepted() -> None:
    """The schema check accepts a null `_meta`, in params and in content blocks."""
    block = {"type": "text", "text": "", "_meta": None}
    params = {"sessionId": "s", "prompt": [block], "_meta": None}
    assert wrong_params(V1, TO_AGENT, "session/prompt", params) == []


def test_null_is_reported_by_a_kind_of_its_own_where_readers_take_it_as_the_default() -> None:
    """If `mcpServers` is null, the schema check reports `Mismatch.NULL`, not a wrong type."""
    (problem,) = wrong_params(V1, TO_AGENT, "session/new", {"cwd": "/", "mcpServers": None})
    assert str(problem) == "/params/mcpServers: expected array, got null"
    assert problem.mismatch is Mismatch.NULL


def test_nullable_members_may_be_null() -> None:
    """The schema check accepts null as a JSON member only if the member's type allows null."""
    assert updated(sessionUpdate="tool_call_update", toolCallId="c", status=None) == []
    assert updated(sessionUpdate="tool_call", toolCallId="c", title="t", status=None) == [
        '/params/update/status: expected "pending", "in_progress", "completed" or "failed", '
        "got null"
    ]


def test_the_problem_is_looked_for_in_the_branch_of_the_discriminator() -> None:
    """If a JSON object names its kind, the schema check reports differences from this kind only."""
    assert updated(sessionUpdate="agent_message_chunk", content={"type": "text"}) == [
        "/params/update/content/text: expected string, got nothing"
    ]
    assert updated(V2, sessionUpdate="state_update", state="idle", stopReason=1) == [
        "/params/update/stopReason: expected string or null, got 1"
    ]
    selected = {"outcome": {"outcome": "selected"}}
    problems = wrong_result(V1, TO_CLIENT, "session/request_permission", selected)
    assert [*map(str, problems)] == ["/result/outcome/optionId: expected string, got nothing"]


def test_an_unknown_branch_is_a_problem_only_in_a_closed_union() -> None:
    """The schema check reports an unknown kind of update in v1, but not in v2."""
    value = {"sessionId": "s", "update": {"sessionUpdate": "dance"}}
    (problem,) = wrong_params(V1, TO_CLIENT, "session/update", value)
    assert (problem.pointer, problem.got, problem.mismatch) == (
        "/params/update/sessionUpdate",
        '"dance"',
        Mismatch.WRONG,
    )
    assert wrong_params(V2, TO_CLIENT, "session/update", value) == []
    assert extra(V2, TO_CLIENT, "session/update", value) == []


def test_a_missing_discriminator_is_named() -> None:
    """If a JSON object lacks the member that names its kind, the schema check names the member."""
    problems = wrong_result(V1, TO_CLIENT, "session/request_permission", {"outcome": {}})
    assert [*map(str, problems)] == [
        '/result/outcome/outcome: expected "cancelled" or "selected", got nothing'
    ]


def test_one_of_two_members_is_missing() -> None:
    """If a resource lacks both `text` and `blob`, the schema check reports only one problem."""
    block = {"type": "resource", "resource": {"uri": "file:///a"}}
    params = {"sessionId": "s", "prompt": [block]}
    problems = wrong_params(V1, TO_AGENT, "session/prompt", params)
    assert [*map(str, problems)] == [
        "/params/prompt/0/resource: expected member text or blob, got neither"
    ]


def test_a_union_may_have_one_branch_without_a_discriminator() -> None:
    """The schema check treats an MCP server without a type as a stdio server."""
    stdio = {"name": "n", "command": "c", "args": [], "env": []}
    for server in (stdio, {**stdio, "type": "stdio"}):
        params = {"cwd": "/", "mcpServers": [server]}
        assert wrong_params(V1, TO_AGENT, "session/new", params) == []
        assert extra(V1, TO_AGENT, "session/new", params) == []
    wrong = {"cwd": "/", "mcpServers": [{"type": "http", "name": "n", "url": "u"}, {"name": 1}]}
    assert [*map(str, wrong_params(V1, TO_AGENT, "session/new", wrong))] == [
        "/params/mcpServers/0/headers: expected array, got nothing",
        "/params/mcpServers/1/command: expected string, got nothing",
        "/params/mcpServers/1/args: expected array, got nothing",
        "/params/mcpServers/1/env: expected array, got nothing",
        "/params/mcpServers/1/name: expected string, got 1",
    ]


def test_unstable_types_are_right_too() -> None:
    """The schema check requires `cwd` in `session/fork`, which only unstable ACP defines."""
    assert wrong_params(V1, TO_AGENT, "session/fork", {"sessionId": "s", "cwd": "/"}) == []
    (problem,) = wrong_params(V1, TO_AGENT, "session/fork", {"sessionId": "s"})
    assert str(problem) == "/params/cwd: expected string, got nothing"
    plan = {"type": "items", "planId": "p", "entries": []}
    assert updated(sessionUpdate="plan_update", plan=plan) == []
    del plan["planId"]
    assert updated(sessionUpdate="plan_update", plan=plan) == [
        "/params/update/plan: expected member planId or id, got neither"
    ]


@pytest.mark.parametrize("name", [17, {}, ["x"]])
def test_a_member_is_typed_by_the_version_that_has_it(name: Any) -> None:
    """The schema check takes only text or null as a tool call's `name`, new in later v1 schemas."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t"}
    assert updated(**call, name="edit_file") == updated(**call, name=None) == []
    (problem,) = updated(**call, name=name)
    assert problem.startswith("/params/update/name: expected string or null, got")


def test_the_type_of_an_unstable_member_holds_for_a_stable_result() -> None:
    """The schema check refuses a text as `usage` of a prompt's result, by ACP's unstable schema."""
    (problem,) = wrong_result(
        V1, TO_AGENT, "session/prompt", {"stopReason": "end_turn", "usage": "many"}
    )
    assert str(problem) == "/result/usage: expected object or null, got string"


def test_members_that_no_type_names_are_extra() -> None:
    """The schema check reports JSON members that no type of the schema defines."""
    value = {
        "cwd": 1,
        "mcpServers": [{"name": "n", "command": "c", "args": [], "env": [], "~/": 1}],
        "model": "m",
        "_meta": {"free": 1},
    }
    extras = extra(V1, TO_AGENT, "session/new", value)
    assert extras == ["/params/mcpServers/0/~0~1", "/params/model"]


def test_former_types_are_right_too() -> None:
    """The schema check accepts types that later versions of ACP have removed."""
    models = {"currentModelId": "m", "availableModels": [{"modelId": "m", "name": "M"}]}
    result = {"sessionId": "s", "models": models}
    assert wrong_result(V1, TO_AGENT, "session/new", result) == []
    assert extra(V1, TO_AGENT, "session/new", result, is_result=True) == []
    message = {"connectionId": "c", "method": "tools/list"}
    assert wrong_params(V1, TO_CLIENT, "mcp/message", message) == []
    assert wrong_result(V2, TO_AGENT, "session/prompt", {}) == []


def test_members_of_the_unstable_schema_are_not_extra() -> None:
    """The schema check accepts a JSON member that any version of the schema defines."""
    capabilities = {"plan": {}, "fs": {"watch": True}}
    value = {"protocolVersion": 1, "clientCapabilities": capabilities}
    assert extra(V1, TO_AGENT, "initialize", value) == ["/params/clientCapabilities/fs/watch"]


def test_what_is_free_stays_free() -> None:
    """The schema check accepts any JSON members in `rawInput` and `rawOutput`."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "rawInput": {"a": {}}}
    value: dict[str, Any] = {"sessionId": "s", "update": call}
    assert extra(V1, TO_CLIENT, "session/update", value) == []
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "x": 1}},
        "additionalProperties": False,
    }
    value = {"message": "m", "mode": "form", "sessionId": "s", "requestedSchema": schema}
    assert wrong_params(V1, TO_CLIENT, "elicitation/create", value) == []
    assert extra(V1, TO_CLIENT, "elicitation/create", value) == []
    value["requestId"] = 1
    assert extra(V1, TO_CLIENT, "elicitation/create", value) == []


def test_a_member_whose_name_is_no_text_is_extra() -> None:
    """The schema check reports a JSON member whose name contains half a surrogate pair."""
    value = {**NEW, "\ud800": 1}
    assert wrong_params(V1, TO_AGENT, "session/new", value) == []
    assert extra(V1, TO_AGENT, "session/new", value) == ["/params/\ud800"]
    problems = wrong_params(V1, TO_AGENT, "session/new", {"\ud800": 1})
    assert [problem.pointer for problem in problems] == ["/params/cwd", "/params/mcpServers"]


@pytest.mark.parametrize("levels", [200, 300, 900])
def test_a_message_may_be_nested_deeply(levels: int) -> None:
    """If `rawInput` has 900 levels, the schema check still finds problems beside it."""
    deep: Any = "\ud800"
    for _ in range(levels):
        deep = {"in": deep}
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "t", "rawInput": deep}
    assert updated(**call) == []
    assert updated(**{**call, "title": 1, "x": 1}) == [
        "/params/update/title: expected string, got 1"
    ]
    value = {"sessionId": "s", "update": {**call, "x": 1}}
    assert extra(V1, TO_CLIENT, "session/update", value) == ["/params/update/x"]


def test_many_problems_are_not_all_named() -> None:
    """The schema check names at most 100 problems of one message."""
    servers = [1] * 100_000
    assert len(wrong_params(V1, TO_AGENT, "session/new", {**NEW, "mcpServers": servers})) == MOST
    others = {f"h{number}": number for number in range(2_000)}
    assert len(extra(V1, TO_AGENT, "session/new", {**NEW, **others})) == MOST


def test_what_is_wrong_far_behind_in_a_list_is_found() -> None:
    """The schema check finds a problem near the end of a list of thousands of items."""
    servers = [{"name": "n", "command": "c", "args": [], "env": []}] * 5_000
    (problem,) = wrong_params(V1, TO_AGENT, "session/new", {**NEW, "mcpServers": [*servers, 1]})
    assert str(problem) == "/params/mcpServers/5000: expected object, got 1"


def test_names_that_a_type_leaves_open_are_told_apart() -> None:
    """In v2, the schema check accepts names that begin with `_`, but lists them as undefined."""
    state = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "_tired"}
    value = {"sessionId": "s", "update": state}
    comparison = SCHEMAS[V2].compare(TO_CLIENT, "session/update", False, value)
    assert comparison.fits
    assert comparison.unnamed == [("/params/update/stopReason", "_tired")]


def test_the_validator_is_imported_with_the_first_check() -> None:
    """`check` imports the library for JSON schemas only when it loads the first schema."""
    script = (
        "import sys; from acp_proxy.check.schema_check import *\n"
        "schema = DialectSchema.of_dialect('v1'); print('jsonschema_rs' in sys.modules, end=' ')\n"
        "schema.load(); print('jsonschema_rs' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert told.stdout == b"False True\n"


@pytest.mark.parametrize("source", ["v1", "v1-unstable", "v2", "draft-1.0"])
def test_hand_written_messages_are_right(source: str) -> None:
    """The schema check accepts the valid messages written by hand, each in its dialect."""
    dialect = source.removesuffix("-unstable")
    examples = [example for example in protocol_documents.schemas() if example.source == source]
    assert [problems for example in examples if any(problems := judged(example, dialect))] == []
