"""Modes and options: what sessions of earlier connections have, and what has just changed."""

from __future__ import annotations

import json

from tests.judged import check_lines, judge

HANDSHAKE = "a v1 handshake"
LOAD = '-> #1 session/load {"sessionId": "s", "cwd": "/proj/app", "mcpServers": []}'
MESSAGE = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "user_message_chunk",'
    ' "content": {"type": "text", "text": "hi"}}}'
)
SET_MODE = '-> #2 session/set_mode {"sessionId": "s", "modeId": "code"}'


def _option(name: str, *values: str) -> dict[str, object]:
    listed = [{"value": value, "name": value} for value in values]
    return {
        "id": name, "name": name, "type": "select", "currentValue": values[0], "options": listed,
    }  # fmt: skip


def _update(*options: object) -> str:
    update = {"sessionUpdate": "config_option_update", "configOptions": options}
    return f"<- session/update {json.dumps({'sessionId': 's', 'update': update})}"


def _new(result: object) -> list[str]:
    request = '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}'
    return [request, f"<- #1 result {json.dumps(result)}"]


def test_a_loaded_session_may_have_modes_from_before() -> None:
    """The answer to session/load may be null, and the client knows the session already."""
    option = '-> #3 session/set_config_option {"sessionId": "s", "configId": "a", "value": "b"}'
    lines = [LOAD, MESSAGE, "<- #1 result null", SET_MODE, option]
    assert judge(lines, HANDSHAKE) == lines


def test_a_request_that_crosses_an_update_is_not_charged() -> None:
    """What was listed half a second ago may be set."""
    lines = [
        *_new({"sessionId": "s", "configOptions": [_option("a", "x", "y"), _option("b", "x")]}),
        _update(_option("a", "x")),
        '-> #2 session/set_config_option {"sessionId": "s", "configId": "a", "value": "y"}',
        '-> #3 session/set_config_option {"sessionId": "s", "configId": "b", "value": "x"}',
    ]
    for rule, late in (("config.value", 3), ("config.unknown", 4)):
        assert judge(lines, HANDSHAKE, only=rule, gap_ms=100) == lines
        written = [*lines[: late + 1], f"   {rule} by client", *lines[late + 1 :]]
        assert judge(lines, HANDSHAKE, only=rule, gap_ms=600) == written


def test_a_first_request_crosses_nothing() -> None:
    """A client that knows a session has read what the session has."""
    lines = [
        *_new({"sessionId": "s", "configOptions": [_option("a", "x", "y")]}),
        '-> #2 session/set_config_option {"sessionId": "s", "configId": "a", "value": "z"}',
        "   config.value by client",
    ]
    assert judge(lines, HANDSHAKE, gap_ms=1) == lines


def test_an_agent_without_modes_may_name_one() -> None:
    """A mode may be an option only, and older clients are told of it nevertheless."""
    update = '{"sessionUpdate": "current_mode_update", "currentModeId": "code"}'
    lines = [f'<- session/update {{"sessionId": "s", "update": {update}}}']
    assert judge(lines, "a v1 handshake, session s") == lines


def test_odd_lists_break_no_rule_of_modes() -> None:
    """What does not parse is a matter of types, and nothing fails."""
    odd: list[object] = [[{"id": ["a"]}], [None], {}, "ask", [{"id": "a"}, 7]]
    for modes in odd:
        state = {"currentModeId": "b", "availableModes": modes}
        found = check_lines(_new({"sessionId": "s", "modes": state, "configOptions": modes}))
        assert not [one for one in found.findings if one.rule.startswith(("mode.", "config."))]
