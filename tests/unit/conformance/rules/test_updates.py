"""Updates: plans of several turns, history that repeats message ids, and texts with a slash."""

from __future__ import annotations

import json

import pytest

from tests.judged import judge

SESSION = "a v1 handshake, session s"
TURN = f"{SESSION}, a prompt"
END = '<- #2 result {"stopReason": "end_turn"}'
COMMANDS = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "available_commands_update",'
    ' "availableCommands": [{"name": "web", "description": "Search"}]}}'
)


def _plan(**entries: str) -> str:
    """A plan by the statuses of its entries."""
    listed = [
        {"content": text, "priority": "low", "status": status} for text, status in entries.items()
    ]
    update = {"sessionUpdate": "plan", "entries": listed}
    return f"<- session/update {json.dumps({'sessionId': 's', 'update': update})}"


def _chunk(name: str) -> str:
    """A chunk of a message."""
    content = {"type": "text", "text": "a"}
    update = {"sessionUpdate": "agent_message_chunk", "messageId": name, "content": content}
    return f"<- session/update {json.dumps({'sessionId': 's', 'update': update})}"


def _prompt(text: str, number: int = 2) -> str:
    params = {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}
    return f"-> #{number} session/prompt {json.dumps(params)}"


def test_each_turn_has_its_plan() -> None:
    """A later turn may plan again what was done."""
    lines = [_plan(test="completed"), END, _prompt("again", 3), _plan(test="pending")]
    assert judge(lines, TURN) == lines


def test_entries_that_say_the_same_are_not_compared() -> None:
    """Of two entries with one text it is not known which has changed."""
    two = _plan(test="completed").replace('"entries": [', '"entries": [{"content": "test", ', 1)
    twice = two.replace('"test", {', '"test", "priority": "low", "status": "pending"}, {')
    lines = [twice, _plan(test="pending"), twice]
    assert judge(lines, TURN) == lines


def test_a_plan_may_be_replaced() -> None:
    """A plan that shares nothing with the one before it is another plan."""
    lines = [_plan(read="pending"), _plan(test="pending"), _plan(read="pending", test="pending")]
    assert judge(lines, TURN) == lines


def test_each_entry_that_was_left_out_is_reported_once() -> None:
    """An agent that sends only what has changed leaves out entries again and again."""
    lines = [
        _plan(a="pending", b="pending", c="pending"),
        _plan(a="completed"),
        "   plan.partial by agent",
        _plan(a="completed", b="pending"),
        _plan(b="completed"),
    ]
    assert judge(lines, TURN) == lines


def test_history_repeats_message_ids() -> None:
    """A session that is loaded is replayed with the ids that it had."""
    load = '-> #3 session/load {"sessionId": "s", "cwd": "/proj/app", "mcpServers": []}'
    lines = [_chunk("a"), _chunk("b"), END, load, _chunk("a"), _chunk("b"), "<- #3 result {}"]
    assert judge(lines, TURN) == lines


@pytest.mark.parametrize("text", ["/home/ed/a.py is broken", "/ is full", "a /find", "/", "/1"])
def test_a_text_may_begin_with_a_slash(text: str) -> None:
    """A path is no command."""
    lines = [COMMANDS, _prompt(text)]
    assert judge(lines, SESSION) == lines


def test_a_session_without_commands_has_none_to_miss() -> None:
    """Where nothing was advertised, a slash is text."""
    lines = [_prompt("/find herons")]
    assert judge(lines, SESSION) == lines


def test_the_draft_knows_other_kinds() -> None:
    """What only the other version has is one mistake, and has its own rule."""
    update = '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update"}}'
    found = judge([update], TURN)
    assert "   update.unknown by agent" not in found
    assert "   init.version-behaviour by agent" in found
