"""Version 2: corners beside the examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.judged import check_lines, judge

HANDSHAKE = "a v2 handshake"
SESSION = f"{HANDSHAKE}, session s"
TURN = f"{SESSION}, a prompt"


def update(kind: str, **members: Any) -> str:
    """An update of session ``s``."""
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}}
    return f"<- session/update {json.dumps(params)}"


def state(name: str, **members: Any) -> str:
    """A state of session ``s``."""
    return update("state_update", state=name, **members)


def prompt(number: int) -> list[str]:
    """A prompt, and its acceptance."""
    text = '{"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]}'
    return [f"-> #{number} session/prompt {text}", f"<- #{number} result {{}}"]


SAID = update("agent_message", messageId="m", content=[])
ENDED = state("idle", stopReason="end_turn")
CANCEL = '-> session/cancel {"sessionId": "s"}'


def found(lines: list[str], rule: str, after: str = SESSION) -> list[str]:
    """The findings of a rule, without the lines."""
    return [line.strip() for line in judge(lines, after, rule) if line.startswith(" ")]


@pytest.mark.parametrize(
    "lines",
    [
        [*prompt(2), state("running"), *prompt(3), ENDED],  # the second joins the work
        [prompt(2)[0], ENDED],  # which tells of what was before
        [prompt(2)[0], '<- #2 error {"code": 1, "message": "x"}'],
        [prompt(2)[0], '<- #2 result {"stopReason": "end_turn"}'],  # it has a rule of its own
        [*prompt(2), update("user_message_chunk", messageId="m", content={}), ENDED],
        [prompt(2)[0], update("user_message", messageId="m"), prompt(2)[1], ENDED],
    ],
)
def test_the_last_prompt_is_reported_or_not_accepted(lines: list[str]) -> None:
    """What is accepted while work goes on may be reported later."""
    expected = ["v2.user-message by agent"] if lines[-1] == ENDED and len(lines) == 6 else []
    assert found(lines, "v2.user-message") == expected


def test_a_prompt_that_joins_unknown_work() -> None:
    """In a session that was running before, or that was resumed, idle may be about that."""
    assert found([state("running"), *prompt(2), SAID, ENDED], "v2.user-message") == []
    resumed = [
        '-> #1 session/resume {"sessionId": "s", "cwd": "/"}',
        "<- #1 result {}",
        *prompt(2),
        SAID,
        ENDED,
    ]
    for rule in ("v2.user-message", "v2.running"):
        assert found(resumed, rule, HANDSHAKE) == []
        again = [*resumed, *prompt(3), SAID, ENDED]
        assert found(again, rule, HANDSHAKE) == [f"{rule} by agent"]
    assert found([*prompt(2), ENDED], "v2.user-message", HANDSHAKE) == []


def test_a_cancelled_prompt_should_be_reported() -> None:
    """The agent may have stopped before it could."""
    lines = [*prompt(2), CANCEL, state("idle", stopReason="cancelled")]
    assert found(lines, "v2.user-message") == ["v2.user-message by agent (warning)"]


@pytest.mark.parametrize(
    "lines",
    [
        [*prompt(2), ENDED],  # nothing was done
        [*prompt(2), SAID, state("idle")],  # in the background
        [*prompt(2), state("requires_action"), SAID, ENDED],
        [*prompt(2), update("usage_update", used=1, size=2), ENDED],
        [*prompt(2), CANCEL, state("idle", stopReason="cancelled")],
    ],
)
def test_only_foreground_work_is_running(lines: list[str]) -> None:
    """Work in the background needs no state."""
    assert found(lines, "v2.running") == []


@pytest.mark.parametrize(
    ("lines", "is_right"),
    [
        ([state("idle")], True),
        ([state("running"), state("idle")], False),
        ([state("requires_action"), state("idle", stopReason=None)], False),
        ([state("running"), ENDED, state("idle")], True),
        ([state("_paused"), state("idle")], True),
        ([update("state_update"), state("idle")], True),
    ],
)
def test_idle_after_work_has_a_reason(lines: list[str], is_right: bool) -> None:
    """Idle may also be said of a session that has done nothing."""
    assert found(lines, "v2.idle-reason") == ([] if is_right else ["v2.idle-reason by agent"])


def test_an_end_may_cross_the_cancel() -> None:
    """The first message after it is a warning, and so is an end without a reason none."""
    rule = "v2.cancelled"
    assert found([CANCEL, ENDED], rule, TURN) == [f"{rule} by agent (warning)"]
    assert found([CANCEL, SAID, ENDED], rule, TURN) == [f"{rule} by agent"]
    assert found([CANCEL, SAID, state("idle")], rule, TURN) == []
    assert found([CANCEL, SAID, "== client leaves"], rule, TURN) == []
    assert found([prompt(2)[0], CANCEL, "== agent exits"], rule) == []
    assert found(["== agent exits"], rule, TURN) == []
    close = '-> #3 session/close {"sessionId": "s"}'
    assert found([close, "== agent exits"], rule, TURN) == []


@pytest.mark.parametrize(
    ("line", "places"),
    [
        (state("thinking"), ["/params/update/state"]),
        (state("_thinking"), []),
        (state("idle", stopReason="tired"), ["/params/update/stopReason"]),
        (state("idle", stopReason="_tired"), []),
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
def test_names_that_are_not_defined(line: str, places: list[str]) -> None:
    """Wherever the schema leaves them open, by their places."""
    handshake = [
        '-> #0 initialize {"protocolVersion": 2, "info": {"name": "e", "version": "1"}}',
        '<- #0 result {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}',
    ]
    result = check_lines([*handshake, line])
    assert [one.place for one in result.findings if one.rule == "v2.custom-value"] == places


def test_names_in_results_are_checked() -> None:
    """Those of the client too."""
    lines = [
        '<- #0 session/request_permission {"sessionId": "s", "title": "t", "options": []}',
        '-> #0 result {"outcome": {"outcome": "later"}}',
    ]
    assert found(lines, "v2.custom-value", TURN) == ["v2.custom-value by client"]


def test_what_only_other_dialects_have_is_not_asked_for() -> None:
    """While a dialect is not known, or it is v1."""
    lines = [state("thinking"), update("agent_message_chunk", content={"type": "text"})]
    everything = check_lines(lines[1:]).findings
    assert not [one for one in everything if one.rule.startswith(("v2.", "s4."))]
    assert found(lines, "v2.message-id", "a v1 handshake, session s") == []


@pytest.mark.parametrize(
    ("server", "is_right"),
    [
        ({"type": "stdio"}, True),
        ({"type": None}, False),
        ({}, False),
        ({"type": "_ws"}, True),
        ({"type": 7}, True),
    ],
)
def test_servers_have_a_type(server: dict[str, Any], is_right: bool) -> None:
    """What type it may be is a rule of the others."""
    new = json.dumps({"cwd": "/", "mcpServers": [server, 7]})
    expected = [] if is_right else ["v2.mcp-type by client"]
    assert found([f"-> #1 session/new {new}"], "v2.mcp-type", HANDSHAKE) == expected
