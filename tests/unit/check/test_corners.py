"""Tests conversations for special cases of rules, with their findings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.jsonrpc import Direction
from tests.support import protocol_documents
from tests.support.cases import each_case
from tests.support.example_checker import before, check_lines, judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.protocol_documents import Example

DATA = Path(__file__).parents[2] / "data/conformance/corners"
_SETTING = re.compile(r"(after|only|gap) (.+?)(?: ms)?")


def corners(path: Path) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """Yields the conversations of a file, each with its name, preceding messages, rule and gap.

    A section has a title, and one or more conversations with blank lines between them. Before its
    lines, a conversation states what changes from the one before: the preceding messages, the only
    rule that counts, and the time between two messages.
    """
    for section in re.split(r"\n\n(?=# )", path.read_text("utf-8").strip()):
        title, _, text = section.partition("\n")
        settings = {"after": "nothing", "only": "all", "gap": "1000"}
        for number, conversation in enumerate(text.split("\n\n")):
            lines = conversation.splitlines()
            while setting := _SETTING.fullmatch(lines[0]):
                settings[setting[1]] = setting[2]
                del lines[0]
            yield f"{title.removeprefix('# ').partition(':')[0]} {number}", lines, dict(settings)


@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")), ids=lambda path: path.stem)
def test_what_stands_below_a_message_is_found(path: Path) -> None:
    """For each corner case in the tests' data, `check` has exactly the findings noted below it."""
    for name, lines, settings in corners(path):
        after = settings["after"].replace("nothing", "")
        only = None if settings["only"] == "all" else settings["only"]
        assert judge(lines, after, only, float(settings["gap"])) == lines, name


@each_case(
    "example",
    [*protocol_documents.official(), *protocol_documents.draft()],
    ids=lambda case: case.method,
)
def test_every_example_of_the_documents_ends_a_conversation(example: Example) -> None:
    """The tests of `check` have a conversation for each example message of ACP's documents.

    If an example breaks the v1 schema, `check` reports a broken rule.
    """
    arrow = "->" if example.direction is Direction.TO_AGENT else "<-"
    line = f"{arrow} {json.dumps(example.message)}\n"
    _, is_there, after = (DATA / "documents.txt").read_text("utf-8").partition(line)
    assert is_there
    if example.valid_v1_schema is False and example.message.get("result", {}) is not None:
        assert re.search(r"^   (?!init\.info)\S+ by ", after.partition("\n\n")[0], re.MULTILINE)


@each_case(
    ("name", "is_secret"),
    [
        ("password", True),
        ("dbPassword", True),
        ("api_key", True),
        ("OPENAI_API_KEY", True),
        ("token", True),
        ("GitHub access token", True),
        ("Password for the database", True),
        ("Passphrase (optional)", True),
        ("client_secret", True),
        ("maxTokens", False),
        ("token name", False),
        ("password hint", False),
        ("passwordManager", False),
        ("keyboard", False),
        ("How do you store the API key", False),
        ("secretary", False),
        ("user name", False),
    ],
)
def test_texts_that_ask_for_secrets_are_recognized(name: str, is_secret: bool) -> None:
    """In a form, `check` takes `api_key` for a name of a secret, but not `maxTokens`."""
    for label, form in (
        (name, {"type": "string"}),
        ("x", {"type": "string", "title": name}),
    ):
        schema = {"type": "object", "properties": {label: form}}
        params = json.dumps({"mode": "form", "message": "m", "requestedSchema": schema})
        line = f"<- #0 elicitation/create {params}"
        expected = ["   elicit.secret-form by agent"] if is_secret else []
        assert judge([line], "a v1 handshake", "elicit.secret-form") == [line, *expected]
        line = line.replace('"string"', '"boolean"')
        assert judge([line], "a v1 handshake", "elicit.secret-form") == [line]


@pytest.mark.parametrize("modes", [[{"id": ["a"]}], [None], {}, "ask", [{"id": "a"}, 7]])
def test_odd_lists_break_no_rule_of_modes(modes: object) -> None:
    """If a list of modes has items of a wrong JSON type, `check` reports no breach about modes."""
    state = {"currentModeId": "b", "availableModes": modes}
    opened = {"sessionId": "s", "modes": state, "configOptions": modes}
    lines = [
        *before("a v1 handshake"),
        '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
        f"<- #1 result {json.dumps(opened)}",
    ]
    findings = check_lines(lines).findings
    assert not [finding for finding in findings if finding.rule.startswith(("mode.", "config."))]


def test_the_last_announcement_of_a_tool_call_is_named() -> None:
    """If a tool call is announced again, the finding of `check` names the previous announcement."""
    call = (
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call",'
        ' "toolCallId": "c", "title": "Run", "status": "completed"}}'
    )
    lines = [call, call, call.replace("completed", "pending")]
    findings = check_lines([*before("a v1 handshake, session s, a prompt"), *lines]).findings
    assert [finding.related for finding in findings] == [(6,), (7,)]


def update(kind: str, **members: Any) -> str:
    """Returns an update of session ``s`` in version 2."""
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}}
    return f"<- session/update {json.dumps(params)}"


@each_case(
    ("line", "places"),
    [
        (update("state_update", state="thinking"), ["/params/update/state"]),
        (update("state_update", state="_thinking"), []),
        (
            update("state_update", state="idle", stopReason="tired"),
            ["/params/update/stopReason"],
        ),
        (update("state_update", state="idle", stopReason="_tired"), []),
        (update("tool_call_update", toolCallId="c", status="denied"), ["/params/update/status"]),
        (update("tool_call_update", toolCallId="c", status=None), []),
        (update("tool_call_update", toolCallId="c", status=[]), []),
        (update("dance", status="x"), []),  # a rule for all dialects
        (
            update("agent_message", messageId="m", content=[{"type": "video"}, {"type": "_v"}]),
            ["/params/update/content/0/type"],
        ),
        (
            update("plan_update", plan={"type": "tree", "planId": "p"}),
            ["/params/update/plan/type"],
        ),
        (update("agent_message", messageId="m", content="video"), []),
        ('-> #9 session/new {"cwd": "/", "mcpServers": [{"type": "ws"}]}', []),
        ("<- session/update 7", []),
        ('<- _x/y {"update": {"sessionUpdate": "x"}}', []),
    ],
)
def test_names_that_version_2_leaves_open_are_found_by_their_places(
    line: str, places: list[str]
) -> None:
    """In v2, `check` reports names that ACP does not define, unless they begin with `_`."""
    findings = check_lines([*before("a v2 handshake"), line]).findings
    assert [finding.place for finding in findings if finding.rule == "v2.custom-value"] == places


def test_what_only_other_dialects_have_is_not_asked_for() -> None:
    """Before the dialect is known, `check` applies only rules that hold in all dialects."""
    lines = [
        update("state_update", state="thinking"),
        update("agent_message_chunk", content={"type": "text"}),
    ]
    everything = check_lines(lines[1:]).findings
    assert not [name for name in everything if name.rule.startswith(("v2.", "s4."))]
    assert judge(lines, "a v1 handshake, session s", "v2.message-id") == lines
