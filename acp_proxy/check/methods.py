"""The methods of each dialect: who may send them, and whether they are requests.

The methods come from the current schema with its unstable part, and from sections 5 and 6 of the
1.0 draft.
"""

from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.updates import SUBAGENTS, V1_UPDATES, V2_UPDATES

REQUEST, NOTIFICATION = "request", "notification"
Method = tuple[Direction, str]

_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT


def _table(text: str) -> dict[Method, str]:
    """Reads a table of methods.

    The methods of a line go to the agent (``>``), to the client (``<``), or in both directions
    (``<>``). A ``!`` after the name of a method marks a request.
    """
    kinds: dict[Method, str] = {}
    for line in filter(None, text.splitlines()):
        arrow, *names = line.split()
        directions = {">": (_TO_AGENT,), "<": (_TO_CLIENT,), "<>": (_TO_AGENT, _TO_CLIENT)}[arrow]
        for name in names:
            kind = REQUEST if name.endswith("!") else NOTIFICATION
            kinds.update({(direction, name.rstrip("!")): kind for direction in directions})
    return kinds


_OFFICIAL = """
> initialize! _proxy/initialize! proxy/initialize!
> session/new! session/resume! session/list! session/delete! session/close! session/fork!
> session/prompt! session/cancel session/set_config_option!
> session/archive! session/unarchive! session/set_title! session/status! auth/status!
< session/update session/request_permission! elicitation/create! elicitation/complete
< auth/status_update
<> $/cancel_request mcp/message!
> providers/list! providers/set! providers/disable!
> nes/start! nes/suggest! nes/close! nes/accept nes/reject
> document/didOpen document/didChange document/didClose document/didSave document/didFocus
< mcp/connect! mcp/disconnect!
<> _proxy/successor! proxy/successor!
"""
METHODS: dict[str, dict[Method, str]] = {
    V1: _table(f"""{_OFFICIAL}
> authenticate! logout! session/load! session/set_mode! session/set_model!
< fs/read_text_file! fs/write_text_file!
< terminal/create! terminal/output! terminal/wait_for_exit! terminal/kill! terminal/release!
"""),
    V2: _table(f"""{_OFFICIAL}
> auth/login! auth/logout!
"""),
    DRAFT: _table("""
> initialize! authenticate! session/new! session/load! session/prompt! session/cancel
> session/set_mode! session/set_config_option! terminal/output!
< session/update session/request_permission! fs/read_text_file! fs/write_text_file!
< terminal/create! terminal/wait_for_exit! terminal/kill! terminal/release!
<> _mcp/request!
"""),
}
"""The kind of each method: request or notification. A method in `EITHER_KIND` may be either."""

EITHER_KIND = frozenset({"mcp/message", "_proxy/successor", "proxy/successor"})
"""Methods that may be requests or notifications, depending on the message that they contain."""
_BOTH = frozenset(
    {
        "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call_update",
        "available_commands_update", "config_option_update", "session_info_update",
        "usage_update", "plan_update", "plan_removed", "notice", "compaction_update",
        "compaction_summary_chunk", *SUBAGENTS,
    }
)  # fmt: skip
UPDATE_KINDS = {
    V1: _BOTH | V1_UPDATES,
    V2: _BOTH | V2_UPDATES,
    DRAFT: frozenset(
        {
            "plan", "agent_message_chunk", "user_message_chunk", "thought_message_chunk",
            "tool_call", "tool_call_update", "available_commands", "current_mode_update",
            "config_option_update",
        }
    ),
}  # fmt: skip
"""The kinds of session updates of each dialect. Unstable kinds are included."""


def kind_of(dialect: str | None, direction: Direction, method: str) -> str | None:
    """Returns whether a method is a request or a notification; None for an undefined method.

    Args:
        dialect: the dialect; None for an unknown dialect, which defines no method.
        direction: the direction of the message.
        method: the name of the method.
    """
    return METHODS.get(dialect or "", {}).get((direction, method))


def is_custom(method: str) -> bool:
    """Whether a method is an extension, or a JSON-RPC method that a peer is allowed to ignore."""
    return method.startswith(("_", "$/"))
