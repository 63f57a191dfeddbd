"""What a dialect has that a recording may exercise: methods, kinds, statuses, capabilities.

The items of v1 and v2 are derived from the types in `schemas/`: each section says at which place of
a message its values stand. Those of the 1.0 draft, which has no schema, are listed here.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cache

from attrs import frozen

from acp_proxy.conformance.checked_message import AGENT, CLIENT
from acp_proxy.conformance.draft_types import DRAFT_TYPES
from acp_proxy.conformance.message_types import MessageTypes, packaged
from acp_proxy.conformance.methods import METHODS
from acp_proxy.conformance.schema_check import PACKAGED
from acp_proxy.conformance.schema_derivation import Form, named
from acp_proxy.inspection.describe.errors import named_codes
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.protocol.peers import Direction


class Standing(StrEnum):
    """What the specification says of an item."""

    STABLE = "stable"
    """The dialect has it."""
    UNSTABLE = "unstable"
    """The unstable part of the dialect has it."""
    FORMER = "former"
    """The unstable part had it once."""
    EXTENSION = "extension"
    """Its name begins with an underscore, or with a dollar sign and a slash."""
    UNKNOWN = "unknown"
    """The specification does not have it."""


@frozen
class Section:
    """Items of one sort."""

    name: str
    by: str
    """Who sends them: client or agent."""
    places: tuple[tuple[Direction, str, str], ...] = ()
    """Where the values stand in v1 and v2: the direction of a request or notification, its method,
    and a path that begins with ``params`` or ``result``. In it ``*`` is any item, and ``=tag`` the
    branch of a union."""
    default: tuple[str, ...] = ()
    """Values that are meant where a type has none."""
    draft: tuple[str, ...] = ()
    """The values in the 1.0 draft."""
    has_gaps: bool = True
    """Whether it matters which of its items were not seen."""


_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT
_UPDATE, _PERMISSION = "session/update", "session/request_permission"
_CALLS = ("tool_call", "tool_call_update")


def _in_calls(path: str) -> tuple[tuple[Direction, str, str], ...]:
    return tuple((_TO_CLIENT, _UPDATE, f"params/update/={call}/{path}") for call in _CALLS)


CLIENT_METHODS, AGENT_METHODS = Section("client methods", CLIENT), Section("agent methods", AGENT)
UPDATES = Section(
    "session updates",
    AGENT,
    ((_TO_CLIENT, _UPDATE, "params/update/sessionUpdate"),),
    draft=(
        "plan", "agent_message_chunk", "user_message_chunk", "thought_message_chunk", "tool_call",
        "tool_call_update", "available_commands", "current_mode_update", "config_option_update",
    ),
)  # fmt: skip
STOP_REASONS = Section(
    "stop reasons",
    AGENT,
    (
        (_TO_AGENT, "session/prompt", "result/stopReason"),
        (_TO_CLIENT, _UPDATE, "params/update/=state_update/stopReason"),
    ),
    draft=("end_turn", "cancelled", "max_tokens", "error"),
)
STATES = Section(
    "session states", AGENT, ((_TO_CLIENT, _UPDATE, "params/update/=state_update/state"),)
)
_BLOCKS = ("text", "image", "audio", "resource_link", "resource")
PROMPT_CONTENT = Section(
    "prompt content",
    CLIENT,
    ((_TO_AGENT, "session/prompt", "params/prompt/*/type"),),
    draft=_BLOCKS,
)
AGENT_CONTENT = Section(
    "agent content",
    AGENT,
    ((_TO_CLIENT, _UPDATE, "params/update/=agent_message_chunk/content/type"),),
    draft=("text",),
)
TOOL_KINDS = Section("tool kinds", AGENT, _in_calls("kind"))
TOOL_STATUSES = Section(
    "tool statuses",
    AGENT,
    _in_calls("status"),
    draft=(
        "pending", "awaiting_permission", "in_progress", "completed", "failed", "denied",
        "cancelled",
    ),
)  # fmt: skip
TOOL_CONTENT = Section(
    "tool content", AGENT, _in_calls("content/*/type"), draft=("text", "diff", "terminal")
)
_OPTIONS = (_TO_CLIENT, _PERMISSION, "params/options/*/kind")
PERMISSION_OPTIONS = Section("permission options", AGENT, (_OPTIONS,))
SELECTED = "selected"
"""The outcome of a permission that stands for the kind of the selected option."""
PERMISSION_OUTCOMES = Section(
    "permission outcomes",
    CLIENT,
    (_OPTIONS, (_TO_CLIENT, _PERMISSION, "result/outcome/outcome")),
    draft=("granted", "denied"),
)
ELICITATIONS = Section(
    "elicitation modes", AGENT, ((_TO_CLIENT, "elicitation/create", "params/mode"),)
)
ELICITATION_ANSWERS = Section(
    "elicitation answers", CLIENT, ((_TO_CLIENT, "elicitation/create", "result/action"),)
)
CONFIG_OPTIONS = Section(
    "config options", AGENT, ((_TO_AGENT, "session/new", "result/configOptions/*/type"),)
)
STDIO, BY_AGENT = "stdio", "agent"
"""The types of an MCP server and of a way to log in that have none."""
MCP_SERVERS = Section(
    "MCP servers",
    CLIENT,
    ((_TO_AGENT, "session/new", "params/mcpServers/*/type"),),
    (STDIO,),
    (STDIO, "http", "sse", "acp"),
)
LOGIN_METHODS = Section(
    "login methods",
    AGENT,
    ((_TO_AGENT, "initialize", "result/authMethods/*/type"),),
    (BY_AGENT,),
)
CLIENT_CAPABILITIES = Section(
    "client capabilities",
    CLIENT,
    draft=(
        "fs.read", "fs.write", "fs.watch", "terminal.create", "terminal.interactive",
        "terminal.maxConcurrent",
    ),
)  # fmt: skip
AGENT_CAPABILITIES = Section(
    "agent capabilities",
    AGENT,
    draft=(
        "loadSession", "promptCapabilities.streaming", "promptCapabilities.cancellation",
        "promptCapabilities.attachments", "mcpCapabilities.servers", "mcpCapabilities.transport",
        "sessionCapabilities.modes", "sessionCapabilities.configOptions",
        "sessionCapabilities.persistence",
    ),
)  # fmt: skip
CLIENT_ERRORS = Section("client errors", CLIENT, has_gaps=False)
AGENT_ERRORS = Section("agent errors", AGENT, has_gaps=False)

SECTIONS = (
    CLIENT_METHODS, AGENT_METHODS, UPDATES, STOP_REASONS, STATES, PROMPT_CONTENT, AGENT_CONTENT,
    TOOL_KINDS, TOOL_STATUSES, TOOL_CONTENT, PERMISSION_OPTIONS, PERMISSION_OUTCOMES, ELICITATIONS,
    ELICITATION_ANSWERS, CONFIG_OPTIONS, MCP_SERVERS, LOGIN_METHODS, CLIENT_CAPABILITIES,
    AGENT_CAPABILITIES, CLIENT_ERRORS, AGENT_ERRORS,
)  # fmt: skip
"""All of them, in the order in which they are shown."""
CAPABILITIES = (CLIENT_CAPABILITIES, AGENT_CAPABILITIES)
ERRORS = (CLIENT_ERRORS, AGENT_ERRORS)
SESSION_MEMBERS = Section("session members", CLIENT, has_gaps=False)
"""Members of requests that open a session; only the use of capabilities is told from them."""

Items = Mapping[str, Standing]
_METHOD_SECTIONS = {_TO_AGENT: CLIENT_METHODS, _TO_CLIENT: AGENT_METHODS}


@cache
def items_of(dialect: str | None) -> Mapping[str, Items]:
    """Returns the items of a dialect by the names of their sections.

    Args:
        dialect: ``v1``, ``v2`` or ``draft-1.0``; None for the items of all of them.
    """
    found: dict[str, dict[str, Standing]] = {section.name: {} for section in SECTIONS}
    if dialect is None:
        for one in (V1, V2, DRAFT):
            for name, items in items_of(one).items():
                found[name] = {**items, **found[name]}
        return found
    for section in ERRORS:
        codes = map(str, named_codes(dialect))
        found[section.name].update(dict.fromkeys(codes, Standing.STABLE))
    if dialect == DRAFT:
        for section in SECTIONS:
            found[section.name].update(dict.fromkeys(section.draft, Standing.STABLE))
        _add_methods(found, dialect, DRAFT_TYPES, Standing.STABLE)
    else:
        standings = (Standing.STABLE, Standing.UNSTABLE)
        for at, name in enumerate(PACKAGED[dialect]):
            standing = standings[at] if at < len(standings) else Standing.FORMER
            _add(found, dialect, packaged(name), standing)
    for direction, method in METHODS[dialect]:
        if not method.startswith("_"):
            found[_METHOD_SECTIONS[direction].name].setdefault(method, Standing.FORMER)
    return found


def standing_of(items: Items, name: str) -> Standing:
    """Returns what the specification says of an item.

    Args:
        items: those that the section has; a group has the standing of the first item in it.
        name: of the item.
    """
    if name in items:
        return items[name]
    for one, standing in items.items():
        if one.startswith(f"{name}."):
            return standing
    return Standing.EXTENSION if name.startswith(("_", "$/")) else Standing.UNKNOWN


def _add(
    found: Mapping[str, dict[str, Standing]],
    dialect: str,
    types: MessageTypes,
    standing: Standing,
) -> None:
    """Adds the items of a schema that no earlier one has."""
    _add_methods(found, dialect, types, standing)
    for section in SECTIONS:
        for direction, method, path in section.places:
            part, *rest = path.split("/")
            form = types.of(direction, method, part == "result")
            for name in () if form is None else _known_values(form, types.types, rest):
                if section is not PERMISSION_OUTCOMES or name != SELECTED:
                    found[section.name].setdefault(name, standing)
        for name in section.default:
            found[section.name].setdefault(name, standing)
    for section in ERRORS:
        for code in _known_values(types.types.get("ErrorCode", {}), types.types, []):
            found[section.name].setdefault(code, standing)
    for section, part in zip(CAPABILITIES, ("params", "result"), strict=True):
        form = types.of(_TO_AGENT, "initialize", part == "result") or {}
        for root in ("clientCapabilities", "agentCapabilities", "capabilities"):
            for inner in _at(form, types.types, [root]):
                for path in _leaves(inner, types.types):
                    found[section.name].setdefault(path, standing)


def _add_methods(
    found: Mapping[str, dict[str, Standing]],
    dialect: str,
    types: MessageTypes,
    standing: Standing,
) -> None:
    for direction, section in _METHOD_SECTIONS.items():
        defined = types.params.get(direction, {})
        usual = [name for way, name in METHODS[dialect] if way is direction and name in defined]
        for name in (*usual, *sorted(defined)):
            found[section.name].setdefault(name, standing)


def _known_values(form: Form, types: Mapping[str, Form], path: Iterable[str]) -> Iterator[str]:
    """Yields the strings that the specification names for a place."""
    for one in _at(form, types, [*path]):
        values = [one["const"]] if "const" in one else one.get("enum", one.get("x-known", []))
        yield from (str(value) for value in values or () if isinstance(value, str | int))


def _at(form: Form, types: Mapping[str, Form], path: list[str]) -> Iterator[Form]:
    """Yields the forms at a path: those of all branches of a union."""
    if "$ref" in form:
        yield from _at(types[named(form["$ref"])], types, path)
        return
    branches = [one for key in ("anyOf", "oneOf", "allOf") for one in form.get(key, ())]
    if path and path[0].startswith("="):
        tag = path[0].removeprefix("=")
        for one in branches:
            if any(member.get("const") == tag for member in one.get("properties", {}).values()):
                yield from _at(one, types, path[1:])
        return
    for one in branches:
        yield from _at(one, types, path)
    if not path:
        yield form
    elif path[0] == "*" and "items" in form:
        yield from _at(form["items"], types, path[1:])
    elif path[0] in form.get("properties", ()):
        yield from _at(form["properties"][path[0]], types, path[1:])


def _leaves(form: Form, types: Mapping[str, Form]) -> Iterator[str]:
    """Yields the paths to capabilities that have no further ones in them."""
    for name, inner in form.get("properties", {}).items():
        if name == "_meta":
            continue
        below = dict.fromkeys(path for one in _at(inner, types, []) for path in _leaves(one, types))
        yield from (f"{name}.{path}" for path in below) if below else (name,)
