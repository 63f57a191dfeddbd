"""What one message exercises: its method, kinds, contents and capabilities."""

from collections.abc import Iterator, Mapping
from typing import Any

from acp_proxy.conformance.checked_message import CheckedMessage
from acp_proxy.conformance.coverage_items import (
    AGENT_CAPABILITIES,
    AGENT_CONTENT,
    AGENT_ERRORS,
    AGENT_METHODS,
    BY_AGENT,
    CLIENT_CAPABILITIES,
    CLIENT_ERRORS,
    CLIENT_METHODS,
    CONFIG_OPTIONS,
    ELICITATION_ANSWERS,
    ELICITATIONS,
    LOGIN_METHODS,
    MCP_SERVERS,
    PERMISSION_OPTIONS,
    PERMISSION_OUTCOMES,
    PROMPT_CONTENT,
    SELECTED,
    SESSION_MEMBERS,
    STATES,
    STDIO,
    STOP_REASONS,
    TOOL_CONTENT,
    TOOL_KINDS,
    TOOL_STATUSES,
    UPDATES,
    Items,
    Section,
)
from acp_proxy.protocol.capabilities import CAPABILITIES, normalized
from acp_proxy.protocol.dialects import INITIALIZE, OPENING, PERMISSION, PROMPT
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.permissions import options_of
from acp_proxy.protocol.updates import TOOL_CALLS, UPDATE

Exercised = tuple[Section, str]
Options = tuple[tuple[str, str], ...]
"""The ids and kinds of the options of a permission request."""

_TO_AGENT = Direction.TO_AGENT
_METHODS = {Direction.TO_AGENT: CLIENT_METHODS, Direction.TO_CLIENT: AGENT_METHODS}
_ERRORS = {Direction.TO_AGENT: CLIENT_ERRORS, Direction.TO_CLIENT: AGENT_ERRORS}
_MOST_ITEMS = 1_000
"""Items of a list that are looked at."""
_MEMBERS = ("additionalDirectories", "mcpServers", "systemPrompt")

USES: dict[str, tuple[Exercised, ...]] = {
    # of the client
    "fs.readTextFile": ((AGENT_METHODS, "fs/read_text_file"),),
    "fs.writeTextFile": ((AGENT_METHODS, "fs/write_text_file"),),
    "fs.read": ((AGENT_METHODS, "fs/read_text_file"),),
    "fs.write": ((AGENT_METHODS, "fs/write_text_file"),),
    "terminal": ((AGENT_METHODS, "terminal/create"),),
    "terminal.create": ((AGENT_METHODS, "terminal/create"),),
    "session.compaction": (
        (UPDATES, "compaction_update"),
        (UPDATES, "compaction_summary_chunk"),
    ),
    "session.configOptions.boolean": ((CONFIG_OPTIONS, "boolean"),),
    "session.notices": ((UPDATES, "notice"),),
    "subagents": ((UPDATES, "subagent_update"),),
    "plan": ((UPDATES, "plan_update"), (UPDATES, "plan_removed")),
    "auth.terminal": ((LOGIN_METHODS, "terminal"),),
    "elicitation.form": ((ELICITATIONS, "form"),),
    "elicitation.url": ((ELICITATIONS, "url"),),
    # of the agent
    "loadSession": ((CLIENT_METHODS, "session/load"),),
    **{
        f"{group}.{name}": ((PROMPT_CONTENT, block),)
        for group in ("promptCapabilities", "session.prompt")
        for name, block in (("image", "image"), ("audio", "audio"), ("embeddedContext", "resource"))
    },
    **{
        f"{group}.{transport}": ((MCP_SERVERS, transport),)
        for group in ("mcpCapabilities", "session.mcp")
        for transport in ("stdio", "http", "sse", "acp")
    },
    "mcpCapabilities.servers": ((SESSION_MEMBERS, "mcpServers"),),
    **{
        f"{group}.{name}": tuple((CLIENT_METHODS, f"session/{method}") for method in methods)
        for group in ("sessionCapabilities", "session")
        for name, methods in (
            ("list", ["list"]),
            ("delete", ["delete"]),
            ("resume", ["resume"]),
            ("close", ["close"]),
            ("fork", ["fork"]),
            ("archive", ["archive", "unarchive"]),
            ("status", ["status"]),
            ("title", ["set_title"]),
        )
    },
    **{
        f"{group}.{name}": ((SESSION_MEMBERS, name.partition(".")[0]),)
        for group in ("sessionCapabilities", "session")
        for name in ("additionalDirectories", "systemPrompt", "systemPrompt.mode.override")
    },
    "sessionCapabilities.modes": ((CLIENT_METHODS, "session/set_mode"),),
    "sessionCapabilities.configOptions": ((CLIENT_METHODS, "session/set_config_option"),),
    "auth": ((CLIENT_METHODS, "auth/login"), (CLIENT_METHODS, "auth/logout")),
    "auth.logout": ((CLIENT_METHODS, "logout"),),
    "auth.status": ((CLIENT_METHODS, "auth/status"),),
    "providers": tuple(
        (CLIENT_METHODS, f"providers/{method}") for method in ("list", "set", "disable")
    ),
}
"""What shows that a capability was used; where there is nothing, use cannot be seen."""


def options_in(seen: CheckedMessage) -> Options:
    """Returns the options that a permission request offers, to read its answer later."""
    return tuple(
        (one["optionId"], kind)
        for one in options_of(seen.value)[:_MOST_ITEMS]
        if isinstance(one.get("optionId"), str) and isinstance(kind := one.get("kind"), str)
    )


def exercised(
    seen: CheckedMessage, offered: Options, items: Mapping[str, Items]
) -> Iterator[Exercised]:
    """Yields the items that a message exercises, each with its section, some several times.

    Args:
        seen: the message, decoded.
        offered: of the answer to a permission request, the options of the request.
        items: those of the dialect.
    """
    kind, method = seen.message.kind, seen.method
    if kind in (Kind.REQUEST, Kind.NOTIFICATION):
        if method is None:
            return
        yield _METHODS[seen.direction], method
        if method == UPDATE:
            yield from _update(seen)
        elif method in INITIALIZE:
            yield from _capabilities(seen.params, CLIENT_CAPABILITIES, items)
        elif method in OPENING:
            yield from _opening(seen.params)
        elif method == PROMPT:
            yield from _types(PROMPT_CONTENT, seen.params.get("prompt", seen.params.get("content")))
        elif method == PERMISSION:
            yield from ((PERMISSION_OPTIONS, kind) for _, kind in options_in(seen))
            call = seen.params.get("toolCall", member(seen.params, "subject", "toolCall"))
            yield from _call(call if isinstance(call, dict) else {})
        elif method == "elicitation/create":
            yield from _word(ELICITATIONS, seen.params.get("mode"))
    elif kind is Kind.ERROR:
        if seen.message.error_code is not None:
            yield _ERRORS[seen.direction], str(seen.message.error_code)
    elif kind is Kind.RESPONSE and seen.answered is not None:
        yield from _result(seen, offered, items)


def _result(
    seen: CheckedMessage, offered: Options, items: Mapping[str, Items]
) -> Iterator[Exercised]:
    method, result = seen.method, seen.result
    if method in INITIALIZE:
        yield from _capabilities(result, AGENT_CAPABILITIES, items)
        yield from _types(LOGIN_METHODS, result.get("authMethods"), BY_AGENT)
    elif method == PROMPT:
        yield from _word(STOP_REASONS, result.get("stopReason"))
    elif method == PERMISSION:
        yield from _outcome(result, offered)
    elif method == "elicitation/create":
        yield from _word(ELICITATION_ANSWERS, result.get("action"))
    elif method in OPENING or method == "session/set_config_option":
        yield from _types(CONFIG_OPTIONS, result.get("configOptions"))


def _outcome(result: dict[str, Any], offered: Options) -> Iterator[Exercised]:
    if isinstance(granted := result.get("granted"), bool):
        yield PERMISSION_OUTCOMES, "granted" if granted else "denied"
        return
    outcome, wanted = member(result, "outcome", "outcome"), member(result, "outcome", "optionId")
    if outcome == SELECTED:
        outcome = next((kind for name, kind in offered if name == wanted), SELECTED)
    yield from _word(PERMISSION_OUTCOMES, outcome)


def _update(seen: CheckedMessage) -> Iterator[Exercised]:
    yield from _word(UPDATES, seen.update_kind or seen.message.update)
    update = seen.update
    if seen.update_kind in TOOL_CALLS:
        yield from _call(update)
    elif seen.update_kind == "tool_call_content_chunk":
        yield from _tool_content([update.get("content")])
    elif seen.update_kind == "state_update":
        yield from _word(STATES, update.get("state"))
        yield from _word(STOP_REASONS, update.get("stopReason"))
    elif seen.update_kind == "config_option_update":
        yield from _types(CONFIG_OPTIONS, update.get("configOptions"))
    else:
        content = update.get("content")
        if isinstance(content, str) and "update" not in seen.params:  # draft-1.0
            yield AGENT_CONTENT, "text"
        yield from _types(AGENT_CONTENT, content if isinstance(content, list) else [content])


def _call(call: dict[str, Any]) -> Iterator[Exercised]:
    yield from _word(TOOL_KINDS, call.get("kind"))
    yield from _word(TOOL_STATUSES, call.get("status"))
    yield from _tool_content(call.get("content", call.get("output")))


def _tool_content(content: Any) -> Iterator[Exercised]:
    """Yields what the content of a tool call is; in the 1.0 draft its output is one such item."""
    every = content if isinstance(content, list) else [content]
    yield from _types(TOOL_CONTENT, every)
    blocks = [one.get("content") for one in every[:_MOST_ITEMS] if isinstance(one, dict)]
    yield from _types(AGENT_CONTENT, blocks)


def _opening(params: dict[str, Any]) -> Iterator[Exercised]:
    servers = params.get("mcpServers")
    for one in servers[:_MOST_ITEMS] if isinstance(servers, list) else []:
        if isinstance(one, dict):
            yield from _word(
                MCP_SERVERS, member(one, "transport", "type") or one.get("type", STDIO)
            )
    yield from ((SESSION_MEMBERS, name) for name in _MEMBERS if params.get(name))


def _capabilities(
    handshake: dict[str, Any], section: Section, items: Mapping[str, Items]
) -> Iterator[Exercised]:
    try:
        supported = normalized(handshake)
    except RecursionError:
        return
    groups = {
        ".".join(parts[:count])
        for parts in (name.split(".") for name in items[section.name])
        for count in range(1, len(parts))
    }
    for root in CAPABILITIES:
        announced = supported.get(root)
        if isinstance(announced, dict):
            for name in _paths(announced, "", groups):
                if name not in groups or name in items[section.name]:  # no empty group
                    yield section, name


def _paths(announced: dict[str, Any], above: str, groups: set[str]) -> Iterator[str]:
    for key, value in announced.items():
        name = above + key
        if isinstance(value, dict) and value and (name in groups or name == "_meta"):
            yield from _paths(value, f"{name}.", groups)
        elif value != [] and name != "_meta":
            yield name


def _types(section: Section, values: Any, default: str | None = None) -> Iterator[Exercised]:
    for one in values[:_MOST_ITEMS] if isinstance(values, list) else []:
        if isinstance(one, dict):
            yield from _word(section, one.get("type", default))


def _word(section: Section, value: Any) -> Iterator[Exercised]:
    if isinstance(value, str):
        yield section, value
