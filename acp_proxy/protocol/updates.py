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
"""Updates that contain a piece of a message, a thought or a summary."""

WHOLE_THOUGHT = "agent_thought"
WHOLE_MESSAGES = ("user_message", "agent_message", WHOLE_THOUGHT)
"""Updates of v2 that contain a whole message. A whole message replaces the pieces that were
streamed before."""

NEW_CALL = "tool_call"
TOOL_CALLS = (NEW_CALL, "tool_call_update")
"""Updates that announce or change a tool call."""
CONTENT_CHUNK = "tool_call_content_chunk"
"""The update that adds an item to the content of a tool call (v2)."""
CALL_UPDATES = (*TOOL_CALLS, CONTENT_CHUNK)
"""All updates about a tool call."""
PLANS = ("plan", "plan_update")
"""Updates that contain or change a plan."""

USAGE = "usage_update"
"""The update with the size of the context, and the cost of the session so far."""
STATE_UPDATES = ("available_commands_update", "available_commands", "session_info_update", USAGE)
"""Updates that describe the state of the session, not the conversation. Their number and their
times differ between any two runs."""

NEW_CHILD = "subagent_update"
"""The update with which a parent session announces a child session. No request opens a child
session."""
SUBAGENTS = (NEW_CHILD, "session_message", "session_message_chunk")
"""Updates about child sessions, and about messages between sessions."""

V1_UPDATES = frozenset({"tool_call", "plan", "current_mode_update"})
"""Updates that v1 has and v2 does not. The draft has some of these updates in another envelope."""
V2_UPDATES = frozenset(
    {
        "state_update", *WHOLE_MESSAGES,
        CONTENT_CHUNK, "terminal_update", "terminal_output_chunk",
    }
)  # fmt: skip
"""Updates that only v2 has."""

MESSAGES = frozenset({USER_TEXT, AGENT_TEXT, *THOUGHT_CHUNKS, *WHOLE_MESSAGES})
"""Updates that contain a message or a thought, whole or in part."""
WITH_CONTENT = MESSAGES | {*CALL_UPDATES}
"""Updates with a ``content`` member."""
WORK = WITH_CONTENT | {*PLANS, "plan_removed"}
"""Updates that belong to the work of a turn. All other updates, such as commands, modes, titles and
usage, may be sent at any time."""
TURN_OUTPUT = WORK - {USER_TEXT, "user_message", "plan_removed"}
"""The updates of `WORK` that are sent only within a turn. Removed plans and echoes of the user's
message are left out."""

RUNNING = ("pending", "in_progress", "awaiting_permission")
"""The statuses of a tool call that is not over."""
FAILED = frozenset({"failed", "denied"})
"""The final statuses of a tool call that failed or was denied."""
FINAL = FAILED | {"completed", "cancelled"}
"""The final statuses of a tool call: they never change again."""


def kind_and_update(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Returns the kind and the members of a session update, in the envelope of any dialect.

    Args:
        params: the decoded params of ``session/update``.

    Returns:
        The kind (empty if there is none) and the members (empty if the update is not an object).
    """
    update = params.get("update")
    kind = update.get("sessionUpdate") if isinstance(update, dict) else None
    if kind is None and "update" not in params:  # draft-1.0
        update, kind = params.get("data"), params.get("type")
    members = update if isinstance(update, dict) else {}
    return (kind, members) if isinstance(kind, str) else ("", members)
