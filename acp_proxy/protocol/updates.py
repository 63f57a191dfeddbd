"""The kinds of session updates in every dialect, and the statuses of a tool call."""

from typing import Any

UPDATE = "session/update"
"""The method of every session update."""

USER_TEXT, AGENT_TEXT = "user_message_chunk", "agent_message_chunk"
THOUGHT_CHUNKS = ("agent_thought_chunk", "thought_message_chunk")
CHUNKS = frozenset(
    {
        USER_TEXT, AGENT_TEXT, *THOUGHT_CHUNKS, "compaction_summary_chunk", "session_message_chunk",
    }
)  # fmt: skip
"""Updates that are a piece of a message, a thought or a summary."""

WHOLE_THOUGHT = "agent_thought"
WHOLE_MESSAGES = ("user_message", "agent_message", WHOLE_THOUGHT)
"""v2 updates with a whole message, which replace the pieces streamed before."""

NEW_CALL = "tool_call"
TOOL_CALLS = (NEW_CALL, "tool_call_update")
"""Kinds of updates that announce or change a tool call."""
CONTENT_CHUNK = "tool_call_content_chunk"
"""Adds an item to the content of a tool call (v2)."""
CALL_UPDATES = (*TOOL_CALLS, CONTENT_CHUNK)
"""All kinds of updates about a tool call."""
PLANS = ("plan", "plan_update")
"""Updates that contain or change a plan."""

STATE_UPDATES = (
    "available_commands_update",
    "available_commands",
    "session_info_update",
    "usage_update",
)
"""Updates that describe the state of the session beside the conversation. Their times and
repetitions differ between any two runs."""

NEW_CHILD = "subagent_update"
"""Announces a child session, in a message of its parent; no request opens the child."""
SUBAGENTS = (NEW_CHILD, "session_message", "session_message_chunk")
"""Updates about child sessions, and about messages between sessions."""

V1_UPDATES = frozenset({"tool_call", "plan", "current_mode_update"})
"""Updates that v2 does not have; the draft has some of them, in another envelope."""
V2_UPDATES = frozenset(
    {
        "state_update", *WHOLE_MESSAGES,
        CONTENT_CHUNK, "terminal_update", "terminal_output_chunk",
    }
)  # fmt: skip
"""Updates that only v2 has."""

MESSAGES = frozenset({USER_TEXT, AGENT_TEXT, *THOUGHT_CHUNKS, *WHOLE_MESSAGES})
"""Updates that are a message or a thought, or a piece of one."""
WITH_CONTENT = MESSAGES | {*CALL_UPDATES}
"""Updates that have content."""
WORK = WITH_CONTENT | {*PLANS, "plan_removed"}
"""Updates that belong to the work of a turn. Commands, modes, options, titles, usage, notices and
custom updates may come at any time."""
TURN_OUTPUT = WORK - {USER_TEXT, "user_message", "plan_removed"}
"""`WORK` without an echo of the user's message; these come only within a turn."""

RUNNING = ("pending", "in_progress", "awaiting_permission")
"""The statuses of a tool call that is not over."""
FAILED = frozenset({"failed", "denied"})
FINAL = FAILED | {"completed", "cancelled"}
"""The statuses of a tool call that never change again."""


def kind_and_update(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the kind of an update and its members, from the envelope of any dialect.

    Args:
        params: the decoded params of ``session/update``.

    Returns:
        An empty kind if there is none, and empty members if they are not an object.
    """
    update = params.get("update")
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    if kind is None and "update" not in params:  # draft-1.0
        update, kind = params.get("data"), params.get("type")
    members = update if isinstance(update, dict) else {}
    return (kind, members) if isinstance(kind, str) else ("", members)
