"""Tests how `verify` compares and denies permission requests in each dialect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.playback.shared.divergence import DivergenceKind
from tests.support.permission_playbook import (
    END,
    LS,
    REJECT,
    RM,
    START,
    STARTED,
    asking,
    options,
    outcome,
    permission,
    selected,
)
from tests.support.verify_playbook import LiveAgent, verify

if TYPE_CHECKING:
    from tests.support.playbook import Record

GRANTED = '#7 result {"granted": true, "scope": "always"}'
DENIED = '{"jsonrpc":"2.0","id":7,"result":{"granted":false}}'
OFFERED = options("y:allow_once", "n:reject_once")


def draft_ask(**params: Any) -> str:
    """Returns a permission request of the 1.0 draft."""
    return f"#7 session/request_permission {json.dumps({'sessionId': 's', **params})}"


def announce(call: Any = "c", update: Any = "tool_call", **members: Any) -> str:
    """Returns an update of v1 that announces or changes a tool call."""
    value = {"sessionUpdate": update, "toolCallId": call, **members}
    return f"session/update {json.dumps({'sessionId': 's', 'update': value})}"


def draft_announce(call: str = "c", **members: Any) -> str:
    """Returns an update of the 1.0 draft that announces or changes a tool call."""
    params = {"sessionId": "s", "type": "tool_call", "data": {"id": call, **members}}
    return f"session/update {json.dumps(params)}"


def bare(call: str = "c", token: int = 0) -> str:
    """Returns a permission request that has only the id of its tool call."""
    params = f'{{"sessionId": "s", "toolCall": {{"toolCallId": "{call}"}}, "options": {OFFERED}}}'
    return f"#{token} session/request_permission {params}"


def drafted(record: Record, lines: str) -> LiveAgent:
    """Begins a verification of a recording of the 1.0 draft, up to its prompt."""
    start = START.replace('{"protocolVersion": 1}', '{"protocolVersion": 1, "capabilities": {}}')
    recorded = record(f"{start}\n{lines}\n<- {END}")
    assert recorded.script().dialect == "draft-1.0"
    return verify(recorded).check(STARTED)


READ = {"operation": "file_read", "resource": "/p/a"}


@pytest.mark.parametrize(
    "came",
    [
        {"operation": "terminal_execute", "resource": "rm -rf /"},
        {**READ, "operation": "file_delete"},
        {**READ, "resource": "/p/b"},
        {**READ, "resource": "/p/../a"},
        {"operation": "file_read"},
        {"resource": "/p/a"},
        {**READ, "host": "evil.example"},
        {**READ, "toolCallId": "c"},
        {},
    ],
)
def test_a_draft_request_for_something_else_is_not_granted(
    record: Record, came: dict[str, Any]
) -> None:
    """In the 1.0 draft, `verify` denies a permission request for an unrecorded operation."""
    live = drafted(record, f"<- {draft_ask(**READ)}\n-> {GRANTED}")
    live.check(f"""
        <- {draft_announce(tool="terminal/create", input={"command": "rm -rf /"})}
        <- {draft_ask(**came)}
        -> {DENIED}
        <- {draft_ask(**READ)}
        -> 7
        <- {END}
        -> end
    """)
    assert live.mismatches == ["permission-differs primary in s 6"]


@pytest.mark.parametrize("more", [{}, {"reason": "because"}, {"toolCallId": "unknown"}])
def test_a_draft_request_for_the_same_is_granted(record: Record, more: dict[str, Any]) -> None:
    """In the 1.0 draft, `verify` grants the recorded operation even if its ids differ."""
    live = drafted(record, f"<- {draft_ask(**READ, reason='to see')}\n-> {GRANTED}")
    live.check(f"<- {draft_ask(**READ, **more)}\n-> 7\n<- {END}\n-> end")
    assert live.mismatches == []


def test_a_draft_request_covers_what_its_tool_call_announced(record: Record) -> None:
    """In the 1.0 draft, `verify` grants permission only if the tool call has the recorded input."""
    mcp = {"operation": "mcp_tool", "toolCallId": "c"}
    conversation = f"""
        <- {draft_announce(tool="search", input={"q": "parser"})}
        <- {draft_ask(**mcp)}
        -> {GRANTED}
    """
    live = drafted(record, conversation)
    live.check(f"<- 6\n<- {draft_ask(**mcp)}\n-> 8\n<- {END}\n-> end")
    assert live.mismatches == []
    live = drafted(record, conversation)
    evil = draft_announce(tool="search", input={"q": "passwords"})
    live.check(f"<- {evil}\n<- {draft_ask(**mcp)}\n-> {DENIED}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 7"]


def test_a_draft_operation_without_a_resource_names_nothing(record: Record) -> None:
    """In the 1.0 draft, `verify` grants no permission for an operation without a resource."""
    live = drafted(record, f"<- {draft_ask(operation='network_access')}\n-> {GRANTED}")
    live.check(f"<- {draft_ask(operation='network_access')}\n-> {DENIED}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 6"]


def test_a_draft_denial_is_repeated(record: Record) -> None:
    """In the 1.0 draft, `verify` denies any permission request in place of a denied one."""
    live = drafted(record, f'<- {draft_ask(**READ)}\n-> #7 result {{"granted": false}}')
    live.check(f"<- {draft_ask(operation='file_delete', resource='/')}\n-> 7\n<- {END}\n-> end")
    assert live.mismatches == []


def test_a_draft_request_in_a_cancelled_turn_is_denied(record: Record) -> None:
    """In the 1.0 draft, `verify` denies a permission request in a cancelled turn."""
    conversation = f'-> session/cancel {{"sessionId": "s"}}\n<- {draft_ask(**READ)}\n-> {GRANTED}'
    start = START.replace('{"protocolVersion": 1}', '{"protocolVersion": 1, "capabilities": {}}')
    live = verify(record(f"{start}\n{conversation}\n<- {END}")).check(f"{STARTED}\n-> 6")
    other = draft_ask(operation="file_delete", resource="/")
    live.check(f"<- {other}\n-> {DENIED}\n<- {END}\n-> end")
    assert (live.mismatches, live.informed) == ([], ["late in s"])


BARE = f"""
    <- {announce(**LS)}
    <- {bare()}
    -> {selected("y")}
"""
"""A recording with a permission for an announced tool call, as in the specification's example."""


def test_an_id_stands_for_what_was_announced(record: Record) -> None:
    """If a permission request has only a tool call's id, `verify` compares the call's updates.

    Permission is granted if the updates announce the recorded action.
    """
    for first in (
        [announce(call="other", **LS)],
        [announce("other", title="?"), announce("other", "tool_call_update", **LS)],
        [announce("other", **{**RM, "title": "x"}), announce("other", "tool_call_update", **LS)],
        [announce("other", **LS), announce("other", "tool_call_update", status="in_progress")],
        [announce("other", **LS), announce("third", **RM)],
    ):
        live = asking(record, BARE)
        sent = "\n".join(f"<- {update}" for update in first)
        live.check(f"{sent}\n<- {bare('other')}\n-> 8\n<- {END}\n-> end")
        assert live.mismatches == []


def test_an_id_for_something_else_is_refused(record: Record) -> None:
    """If a tool call is announced otherwise than recorded, `verify` denies its permission."""
    elsewhere = announce("c", **LS).replace('"sessionId": "s"', '"sessionId": "t"')
    for first in (
        [announce(**RM)],
        [announce(**LS), announce(update="tool_call_update", rawInput={"command": "rm"})],
        [announce(**LS), announce(update="tool_call_update", locations=[{"path": "/etc"}])],
        [announce(**LS), announce(update="tool_call_update", status="completed")],
        [announce("other", **LS), announce(**RM)],
        [elsewhere],
        [],
    ):
        live = asking(record, BARE)
        sent = "\n".join(f"<- {update}" for update in first)
        live.check(f"{sent}\n<- {bare()}\n-> {outcome('n')}\n<- {END}\n-> end")
        assert live.mismatches == ["permission-differs primary in s 7"]


def test_an_id_that_was_never_announced_is_refused_even_unchanged(record: Record) -> None:
    """`verify` denies a permission request for a tool call that the agent never announced."""
    live = asking(record, f"<- {bare()}\n-> {selected('y')}")
    live.check(f"<- {bare()}\n-> {outcome('n')}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 6"]
    assert "named no command" in live.divergences[0].summary


def test_a_request_may_repeat_what_was_announced(record: Record) -> None:
    """`verify` permits a full tool call if the recorded permission request has only its id."""
    live = asking(record, BARE)
    live.check(f"<- {permission({**LS, 'toolCallId': 'c'})}\n-> 8\n<- {END}\n-> end")
    assert live.mismatches == []


def test_a_tool_call_that_changes_before_the_answer_is_refused(record: Record) -> None:
    """If a tool call changes before its permission is answered, `verify` denies permission."""
    slow = (
        f"<- {announce(**LS)}\n<- {bare()}\n<- #9 _x/wait {{}}\n-> #9 result 1\n-> {selected('y')}"
    )
    live = asking(record, slow)
    live.check(f"""
        <- {announce(**LS)}
        <- {bare()}
        <- {announce(update="tool_call_update", rawInput={"command": "rm"})}
        .. 2s
        -> {outcome("n")}
        <- #9 _x/wait {{}}
        -> 9
        <- {END}
        -> end
    """)
    assert live.mismatches == ["permission-differs primary in s 7"]
    actual = next(
        divergence
        for divergence in live.divergences
        if divergence.kind is DivergenceKind.PERMISSION_DIFFERS
    )
    assert actual.summary.startswith('the agent changed the tool call "ls" after')
    assert "session/request_permission" in (actual.came or "")
    assert '"rm"' in [divergence.live for divergence in actual.differences]


def v2_command(command: str = "ls", cwd: str = "/p", **more: Any) -> str:
    """Returns a permission request of v2 for a command."""
    subject = {"type": "command", "command": command, "cwd": cwd, **more}
    params = {"sessionId": "s", "title": "Run it?", "subject": subject}
    return f'#0 session/request_permission {json.dumps(params)[:-1]}, "options": {OFFERED}}}'


@pytest.mark.parametrize(
    ("came", "is_same"),
    [
        (v2_command(), True),
        (v2_command().replace("Run it?", "Sure?"), True),
        (v2_command(toolCallId="c"), True),
        (v2_command("ls -R"), False),
        (v2_command(cwd="/"), False),
        (v2_command(env={"A": "1"}), False),
        (v2_command().replace("command", "tool_call", 1), False),
    ],
)
def test_a_command_of_v2_and_its_directory_must_be_as_recorded(
    record: Record, came: str, *, is_same: bool
) -> None:
    """In v2, `verify` permits a command only in the recorded directory."""
    live = asking(record, f"<- {v2_command()}\n-> {selected('y')}")
    answer = "7" if is_same else outcome("n")
    live.check(f"<- {came}\n-> {answer}\n<- {END}\n-> end")
    assert live.mismatches == ([] if is_same else ["permission-differs primary in s 6"])


def member(what: str) -> str:
    """Returns a request as an object for a JSON-RPC batch."""
    token, method, params = what.removeprefix("#").split(" ", 2)
    return f'{{"jsonrpc":"2.0","id":{token},"method":"{method}","params":{params}}}'


def test_only_recorded_actions_are_granted_in_a_batch(record: Record) -> None:
    """Of the permission requests in a JSON-RPC batch, `verify` grants only the recorded ones."""
    item, two = permission(LS, token=1), permission({**LS, "rawInput": {"command": "pwd"}}, token=2)
    yes = '{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}'
    conversation = f"<- [{member(item)},{member(two)}]\n-> [{yes % 1},{yes % 2}]"
    live = asking(record, conversation).check(f"<- 6\n-> 7\n<- {END}\n-> end")
    assert live.mismatches == []
    live = asking(record, conversation)
    live.check(f"""
        <- [{member(item)},{member(permission(RM, token=2))}]
        -> {outcome("n", 2)}
        .. 2s
        -> [{yes % 1}]
        <- {END}
        -> end
    """)
    assert live.mismatches == ["permission-differs primary in s 6"]


def test_an_option_of_another_kind_is_not_chosen_in_a_batch(record: Record) -> None:
    """In a JSON-RPC batch, `verify` chooses no option of a different kind than recorded."""
    item, two = permission(LS, token=1), permission({**LS, "rawInput": {"command": "pwd"}}, token=2)
    yes = '{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}'
    live = asking(record, f"<- [{member(item)},{member(two)}]\n-> [{yes % 1},{yes % 2}]")
    wider = permission({**LS, "rawInput": {"command": "pwd"}}, "y:allow_always", REJECT, token=2)
    live.check(f"""
        <- [{member(item)},{member(wider)}]
        -> {outcome(None, 2)}
        -> [{yes % 1}]
        <- {END}
        -> end
    """)
    assert live.mismatches == ["outcome-differs primary in s 7"]


def test_an_option_that_always_allows_must_have_the_same_name(record: Record) -> None:
    """`verify` chooses an `allow_always` option only if the option has the recorded name."""
    always = ("a:allow_always:Always allow ls", "n:reject_once")
    for offered, answer in (
        ("a:allow_always:Always allow ls", "7"),
        ("b:allow_always:Always allow ls", selected("b")),
        ("b:allow_always:Always allow anything", outcome(None)),
    ):
        live = asking(record, f"<- {permission(LS, *always)}\n-> {selected('a')}")
        live.check(f"<- {permission(LS, offered, REJECT)}\n-> {answer}\n<- {END}\n-> end")
