"""The capabilities that peers announce in ``initialize``, and the messages that need them.

The value of a capability tells whether it is supported:

- ``false``, ``null`` and a missing member mean "not supported".
- An object with only unsupported members means "not supported".
- An empty object, such as ``"list": {}``, means "supported". But if the object is a group of
  capabilities, such as ``"fs": {}``, it means "not supported".

`TABLE` lists the messages that need a capability. Usually the receiver of the message must have
announced the capability; in some rows, the sender must have announced it.

The rows come from the descriptions in the schemas of v1 (including unstable and dropped parts), v2
and the 1.0 draft. A description such as "Only available if the Agent supports the `loadSession`
capability" counts as a MUST.
"""

from typing import Any, NamedTuple

from acp_proxy.protocol.dialects import DRAFT, INITIALIZE, OPENING, PROMPT, V1, V2
from acp_proxy.protocol.updates import SUBAGENTS

CAPABILITIES = ("clientCapabilities", "agentCapabilities", "capabilities")
"""The members of ``initialize`` that contain capabilities. In v1 the client has the first and the
agent the second; in v2 and the draft, both have the third."""

_GROUPS = {
    *CAPABILITIES,
    "fs",
    "terminal",
    "ui",
    "promptCapabilities",
    "mcpCapabilities",
    "mcp",
    "sessionCapabilities",
}
"""Names of objects that only group capabilities."""


def normalized(handshake: Any) -> Any:
    """Returns the params or result of ``initialize`` without unsupported capabilities.

    A value that is not an object is returned unchanged.

    Raises:
        RecursionError: the value is nested too deeply.
    """
    if not isinstance(handshake, dict):
        return handshake
    kept = {key: value for key, value in handshake.items() if key not in CAPABILITIES}
    groups = {key: value for key, value in handshake.items() if key in CAPABILITIES}
    return {**kept, **_supported(groups)}


def _supported(group: dict[str, Any]) -> dict[str, Any]:
    return {
        key: inner for key, value in group.items() if (inner := _capability(key, value)) is not None
    }


def _capability(key: str, value: Any) -> Any:
    """Returns a capability without unsupported members; None if the capability is not supported."""
    if value is None or value is False:
        return None
    if not isinstance(value, dict):
        return value
    inner = _supported(value)
    is_empty = not inner and (key in _GROUPS or False in value.values())
    return None if is_empty else inner


class Need(NamedTuple):
    """A method, an update or a member that needs a capability."""

    rule: str
    """The rule of `check` that a message breaks if the capability was not announced."""
    uses: tuple[str, ...]
    """The methods, or the kinds of updates, that need the capability."""
    v1: str = ""
    """The dotted path of the capability in v1; empty if v1 does not have the capability."""
    v2: str = ""
    """The capability's dotted path in v2; empty if v2 does not have the capability."""
    draft: str = ""
    """The capability's dotted path in the 1.0 draft; empty if the draft does not have the
    capability."""
    where: str = ""
    """The path, in the params or the result, of the member that needs the capability; ``*`` stands
    for any item. If the path is empty, the whole message needs the capability."""
    value: str = ""
    """The value of the member that needs the capability. If empty, any value but null needs it."""
    what: str = ""
    """The thing that needs the capability, in words for the user; if empty, the method's name."""
    is_wanted: bool = False
    """Whether the schema only says that the receiver wants the messages, without a MUST."""
    is_result: bool = False
    """Whether the member in `where` belongs to the answer, not to the request."""
    is_own: bool = False
    """Whether the sender has to announce the capability, not the receiver."""

    @property
    def is_update(self) -> bool:
        """Whether `uses` names kinds of updates."""
        return not {*self.uses} & {"logout", *INITIALIZE} and "/" not in self.uses[0]

    def path(self, dialect: str | None) -> tuple[str, ...]:
        """Returns the capability's path in a dialect; empty if that dialect needs no capability."""
        dotted = {V1: self.v1, V2: self.v2, DRAFT: self.draft}.get(dialect or "", "")
        return tuple(dotted.split(".")) if dotted else ()


def _session(rule: str, capability: str, *methods: str, has_v2: bool = True) -> Need:
    v2 = f"session.{capability}" if has_v2 else ""
    uses = methods or (f"session/{capability}",)
    return Need(f"session.{rule}-capability", uses, f"sessionCapabilities.{capability}", v2)


def _server(kind: str, *, has_v2: bool = True) -> Need:
    v2 = f"session.mcp.{kind}" if has_v2 else ""
    what = f"an MCP server of type {kind}"
    return Need(f"mcp.{kind}-capability", OPENING, f"mcpCapabilities.{kind}", v2,
                where="mcpServers/*/type", value=kind, what=what)  # fmt: skip


def _block(rule: str, kind: str, capability: str) -> Need:
    return Need(rule, (PROMPT,), f"promptCapabilities.{capability}", f"session.prompt.{capability}",
                where="prompt/*/type", value=kind, what=f"a block of type {kind}")  # fmt: skip


def _elicitation(mode: str) -> Need:
    path = f"elicitation.{mode}"
    return Need("elicit.capability", ("elicitation/create",), path, path, where="mode", value=mode)


_TERMINAL = ("wait_for_exit", "kill", "release")

TABLE: tuple[Need, ...] = (
    # Capabilities of the agent
    Need("session.load-capability", ("session/load",), "loadSession", draft="loadSession"),
    *(_session(name, name, has_v2=False) for name in ("resume", "close", "list")),
    *(_session(name, name) for name in ("fork", "delete", "status")),
    _session("archive", "archive", "session/archive", "session/unarchive"),
    _session("archive", "archive", "session/list")._replace(where="archived"),
    _session("title", "title", "session/set_title"),
    _session("dirs", "additionalDirectories", *OPENING, "session/list")._replace(
        where="additionalDirectories/*"
    ),
    _session("system-prompt", "systemPrompt", *OPENING)._replace(where="systemPrompt"),
    _session("system-prompt", "systemPrompt.mode.override", *OPENING)._replace(
        where="systemPrompt/mode", value="override", what="a system prompt that overrides"
    ),
    _block("prompt.image", "image", "image"),
    _block("prompt.audio", "audio", "audio"),
    _block("prompt.embedded", "resource", "embeddedContext"),
    _server("http"),
    _server("sse", has_v2=False),
    _server("acp"),
    Need("auth.logout-capability", ("logout",), "auth.logout"),
    Need("auth.status-capability", ("auth/status",), "auth.status", "auth.status"),
    Need("auth.status-capability", ("auth/status_update",), "auth.status", "auth.status",
         is_own=True),
    Need("providers.capability", ("providers/list", "providers/set", "providers/disable"),
         "providers", "providers"),
    Need("nes.capability",
         ("nes/start", "nes/suggest", "nes/accept", "nes/reject", "nes/close"), "nes", "nes"),
    *(
        Need("nes.event-capability", (f"document/{event}",), f"nes.events.document.{event}",
             f"nes.events.document.{event}", is_wanted=True)
        for event in ("didOpen", "didChange", "didClose", "didSave", "didFocus")
    ),
    # Capabilities of the client
    *(
        Need("nes.kind-capability", ("nes/suggest",), f"nes.{kind}", f"nes.{kind}",
             where="suggestions/*/kind", value=kind, what=f"a suggestion of kind {kind}",
             is_wanted=True, is_result=True)
        for kind in ("jump", "rename", "searchAndReplace")
    ),
    Need("auth.terminal-offered", INITIALIZE, "auth.terminal", "auth.terminal",
         where="authMethods/*/type", value="terminal", what="a login method for a terminal",
         is_result=True),
    Need("fs.read-capability", ("fs/read_text_file",), "fs.readTextFile", draft="fs.read"),
    Need("fs.write-capability", ("fs/write_text_file",), "fs.writeTextFile", draft="fs.write"),
    Need("term.capability", ("terminal/create",), "terminal", draft="terminal.create"),
    Need("term.capability", tuple(f"terminal/{name}" for name in _TERMINAL), "terminal",
         draft="terminal.create"),
    Need("term.capability", ("terminal/output",), "terminal"),  # goes to the agent in the draft
    _elicitation("form"),
    _elicitation("url"),
    Need("update.capability", ("notice",), "session.notices"),
    Need("update.capability", ("compaction_update", "compaction_summary_chunk"),
         "session.compaction"),
    Need("update.capability", SUBAGENTS, "subagents"),
    Need("update.capability", ("plan_update", "plan_removed"), "plan", is_wanted=True),
)  # fmt: skip

OFFERS: dict[tuple[str, str], tuple[str, ...]] = {
    (dialect, method): path
    for need in TABLE
    if not (need.where or need.is_own or need.is_update)
    for dialect in (V1, V2, DRAFT)
    if (path := need.path(dialect))
    for method in need.uses
}
"""The path of the capability that announces support for a method, by dialect and method."""
