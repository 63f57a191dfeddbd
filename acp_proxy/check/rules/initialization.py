"""Rules about initialize, versions and logins, and about capabilities that must be announced."""

from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, Severity, frames_of, not_offered, shown
from acp_proxy.check.checked_message import AGENT, CLIENT, CheckedMessage, integer, items
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import ANY, MessageRule, is_early, is_first, rule
from acp_proxy.protocol.capabilities import TABLE, Need
from acp_proxy.protocol.dialects import CANCEL, DRAFT, INITIALIZE, LOGIN, PROMPT, SUCCESSOR, V1, V2
from acp_proxy.protocol.json_text import member, pointer
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.updates import NEW_CHILD, V2_UPDATES

_AUTH_REQUIRED = -32000
_MOST_VERSION = 65535
_NEAR_MISSES: dict[str, dict[tuple[str, ...], str]] = {
    CLIENT: {
        ("fs", "read"): "fs.readTextFile",
        ("fs", "write"): "fs.writeTextFile",
        ("fs", "read_text_file"): "fs.readTextFile",
        ("fs", "write_text_file"): "fs.writeTextFile",
        ("readTextFile",): "fs.readTextFile",
        ("writeTextFile",): "fs.writeTextFile",
        ("terminals",): "terminal",
    },
    AGENT: {
        ("mcp",): "mcpCapabilities",
        ("prompt",): "promptCapabilities",
        ("session",): "sessionCapabilities",
        ("load_session",): "loadSession",
        ("promptCapabilities", "images"): "promptCapabilities.image",
        ("promptCapabilities", "embedded_context"): "promptCapabilities.embeddedContext",
    },
}
"""Misspelled capabilities of v1, by the side that announces them."""


@rule("init.first", "message", when=is_first)
def initialize_is_first(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a client whose first message is not ``initialize``."""
    if message.sender == CLIENT and message.parsed.method not in INITIALIZE:
        text = f"the first message is {message.method or 'an answer'}, not initialize"
        yield Breach(text, frames_of(conversation.agent), explains=("rpc.response-unknown",))


@rule("init.complete", requests=(ANY,), notifications=(ANY,), when=is_early)
def nothing_before_its_answer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds the first session or login request that is sent while ``initialize`` is open."""
    method = message.method or ""
    is_setup = method.startswith("session/") or method in LOGIN
    is_asked = bool(conversation.initialize) and not conversation.agent.is_known
    if message.sender == CLIENT and is_setup and is_asked:
        first = conversation.initialize[0]
        is_open = any(request.method in INITIALIZE for request in conversation.asked.values())
        if is_open and not conversation.memory.was_initialize_open:
            conversation.memory.was_initialize_open = True
            yield Breach(f"{method} was sent while initialize was open", (first.seq,))


@rule("init.agent-early", requests=(ANY,), notifications=(ANY,), when=is_early)
def agent_waits(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages of an agent before it has answered ``initialize``.

    A proxy may already send messages for its successor: "Before answering successfully, the proxy
    MUST forward an `initialize` request" to the successor.
    """
    is_proxy = any(request.method in INITIALIZE[1:] for request in conversation.initialize)
    if message.sender != AGENT or (is_proxy and message.method in SUCCESSOR):
        return
    if not conversation.agent.is_known and not conversation.answered[Direction.TO_AGENT]:
        yield Breach(f"{message.method} was sent before initialize was answered")


@rule("init.once", requests=INITIALIZE)
def only_once(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a second ``initialize``, unless the agent has refused the first."""
    if message.sender == CLIENT and conversation.initialize:
        first = conversation.initialize[0]
        open_ = conversation.connection.open_requests(message.direction)
        is_open = any(exchange.request_seq == first.seq for exchange in open_)
        if conversation.agent.is_known or is_open:
            yield Breach("initialize is called again", (first.seq,), explains=("rpc.id-reused",))


@rule("init.version-missing", requests=INITIALIZE, alone=True)
def names_a_version(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds an ``initialize`` without a version."""
    if _is_readable(message) and "protocolVersion" not in message.params:
        yield Breach("initialize names no protocolVersion", place="/params/protocolVersion")


@rule("init.version-type", requests=INITIALIZE, results=INITIALIZE, alone=True)
def version_is_an_integer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds versions that are not an integer from 0 to 65535."""
    root, holder = ("/result", message.result) if message.is_result else ("/params", message.params)
    place = f"{root}/protocolVersion"
    if "protocolVersion" not in holder:
        if message.is_result and _is_readable(message):
            yield Breach("the answer to initialize names no protocolVersion", place=place)
        return
    version = holder["protocolVersion"]
    is_integer = isinstance(version, int) and not isinstance(version, bool)
    if not is_integer or not 0 <= version <= _MOST_VERSION:
        hint = "; MCP writes such versions" if isinstance(version, str) and "-" in version else ""
        text = f"protocolVersion is {shown(version)}, not an integer from 0 to {_MOST_VERSION}"
        yield Breach(f"{text}{hint}", place=place)


@rule("init.version-higher", results=INITIALIZE)
def version_is_not_higher(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds an answer with a newer version than the requested version."""
    asked, answered = _versions(message)
    if answered > asked:
        text = f"the client asks for version {asked}, but the agent answers with version {answered}"
        yield Breach(text, frames_of(message.request))


@rule("init.version-lower", results=INITIALIZE)
def version_is_negotiated(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports an answer with an older version than the requested version."""
    asked, answered = _versions(message)
    if answered < asked:
        text = f"the client asks for version {asked}, and the agent answers with version {answered}"
        yield Breach(text, frames_of(message.request))


@rule("init.version-refused", answers=INITIALIZE)
def version_is_no_error(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds errors that complain about the params of an ``initialize`` with valid params."""
    request = message.request
    if request is None or not request.is_plain:
        return
    if not message.is_error or message.parsed.error_code not in (-32600, -32602):
        return
    if conversation.schema_of(request) is not None and not conversation.compared(request).problems:
        version = shown(request.params.get("protocolVersion"))
        code = message.parsed.error_code
        text = f"the client asks for version {version}, but the agent answers with error {code}"
        yield Breach(text, (request.seq,))


@rule("init.version-ignored", requests=(ANY,))
def client_knows_the_version(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports, once, a client that goes on after an answer with an unsupported version."""
    if message.sender != CLIENT or not conversation.agent.is_known or message.method in INITIALIZE:
        return
    asked = integer(member(conversation.client.announced, "protocolVersion"))
    answered = integer(member(conversation.agent.announced, "protocolVersion"))
    is_unknown = asked is not None and answered is not None and answered > asked
    if is_unknown and not conversation.memory.is_version_ignored:
        conversation.memory.is_version_ignored = True
        text = f"the client goes on, though the agent answered with version {answered}, not {asked}"
        yield Breach(text, frames_of(conversation.agent))


@rule("init.version-behaviour", requests=(ANY,), notifications=(ANY,), odd=True)
def keeps_to_the_version(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds methods and updates of v2 in a connection of v1."""
    if conversation.dialect != V1:
        return
    if message.method in ("auth/login", "auth/logout"):
        yield Breach(f"{message.method} is a method of version 2")
    elif message.update_kind in V2_UPDATES and "update" in message.params:
        yield Breach(f"{message.update_kind} is an update of version 2", place="/params/update")


@rule("init.capabilities", results=INITIALIZE, alone=True)
def agent_states_capabilities(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds answers without the agent's capabilities, which the 1.0 draft requires."""
    name = "agentCapabilities" if conversation.dialect == V1 else "capabilities"
    if _is_readable(message) and name not in message.result:
        severity = Severity.ERROR if conversation.dialect == DRAFT else Severity.INFO
        text = f"the answer to initialize has no {name}"
        yield Breach(text, severity=severity, place=f"/result/{name}")


@rule("init.info", requests=INITIALIZE, results=INITIALIZE, alone=True)
def peers_name_themselves(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds peers without a name and version, which v2 and the 1.0 draft require."""
    dialect = conversation.dialect_of(message)
    name = "info" if dialect == V2 else f"{message.sender}Info"
    root, holder = ("/result", message.result) if message.is_result else ("/params", message.params)
    if not _is_readable(message) or not holder or isinstance(holder.get(name), dict):
        return
    if name in holder and holder[name] is not None:
        return  # the schema rules report other types
    severity = Severity.INFO if dialect == V1 else Severity.ERROR
    what = "the answer to initialize" if message.is_result else "initialize"
    yield Breach(f"{what} has no {name}", severity=severity, place=f"{root}/{name}")


@rule("init.capability-name", requests=INITIALIZE, results=INITIALIZE, alone=True)
def capabilities_are_spelled_right(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds misspelled capabilities of v1, which the other side cannot recognize."""
    if conversation.dialect_of(message) != V1:
        return
    root = "clientCapabilities" if message.sender == CLIENT else "agentCapabilities"
    holder, at = (message.result, "/result") if message.is_result else (message.params, "/params")
    group = member(holder, root)
    for path, right in _NEAR_MISSES[message.sender].items():
        if isinstance(group, dict) and member(group, *path) is not None:
            text = f"the capability {root}.{'.'.join(path)} is not defined; {right} is"
            yield Breach(text, place=f"{at}/{root}/{'/'.join(path)}")
    if message.sender == CLIENT and isinstance(member(group, "terminal"), dict):
        text = f"{root}.terminal is an object; it is a boolean in version 1"
        yield Breach(text, place=f"{at}/{root}/terminal")


@rule("auth.not-offered", requests=LOGIN)
def login_is_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds logins with an agent that offers no login method."""
    methods = member(conversation.agent.announced, "authMethods")
    is_offered = "authMethods" in (conversation.agent.announced or {}) and methods != []
    if conversation.dialect == V1 and conversation.agent.is_known and not is_offered:
        yield Breach(f"{message.method} is called, but the agent offers no login method",
                     frames_of(conversation.agent))  # fmt: skip


@rule("auth.method-unknown", requests=LOGIN)
def login_names_an_offer(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds logins with a method that the agent does not offer."""
    wanted, offered = message.params.get("methodId"), _auth_methods(conversation)
    every = member(conversation.agent.announced, "authMethods")
    if not isinstance(every, list) or len(offered) != len(every):
        return  # an offer is unreadable, or occurs twice
    if offered and isinstance(wanted, str) and wanted not in offered:
        listed = ", ".join(sorted(offered))[:200]
        text = f"the login method {shown(wanted)} was not offered; the agent offers {listed}"
        yield Breach(text, frames_of(conversation.agent))


@rule("auth.terminal-method", requests=LOGIN)
def terminal_methods_are_run(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds logins with a method that needs a terminal."""
    wanted = message.params.get("methodId")
    offer = _auth_methods(conversation).get(wanted) if isinstance(wanted, str) else None
    if member(offer, "type") == "terminal":
        text = f"the login method {shown(wanted)} is one to run in a terminal"
        yield Breach(text, frames_of(conversation.agent))


@rule("auth.duplicate", results=INITIALIZE, alone=True)
def methods_are_unique(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds login methods with the same id."""
    methods = message.result.get("authMethods")
    known: set[str] = set()
    for at, entry in enumerate(items(methods)):
        key = "methodId" if conversation.dialect_of(message) == V2 else "id"
        name = member(entry, key)
        if isinstance(name, str) and name in known:
            text = f"several login methods have the id {shown(name)}"
            yield Breach(text, place=f"/result/authMethods/{at}/{key}")
        elif isinstance(name, str):
            known.add(name)


@rule("auth.retry-without", requests=("session/new",))
def logs_in_before_it_tries_again(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds a ``session/new`` that is sent again without the login that the agent demanded."""
    refused = conversation.auth_required
    if refused is None or refused.method != "session/new" or conversation.is_logged_in:
        return  # after a login, the agent is to blame
    if _auth_methods(conversation):
        yield Breach("session/new is called again without a login", (refused.seq,))


@rule("auth.still-required", answers=("session/new",))
def login_is_enough(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds sessions that are refused for lack of a login, although a login has succeeded."""
    code = -32001 if conversation.dialect == DRAFT else _AUTH_REQUIRED
    if message.is_error and conversation.is_logged_in and message.parsed.error_code == code:
        yield Breach("session/new is refused since a login is needed, but one has succeeded")


def _is_readable(message: CheckedMessage) -> bool:
    """Whether the result is an object, or the params are an object, null or missing."""
    if not isinstance(message.value, dict):
        return False
    if message.is_result:
        return isinstance(message.value.get("result"), dict)
    return isinstance(message.value.get("params"), dict | None)


def _versions(message: CheckedMessage) -> tuple[int, int]:
    """Returns the requested and the answered version; both are 0 if either is unknown."""
    asked = None if message.request is None else message.request.params.get("protocolVersion")
    pair = integer(asked), integer(message.result.get("protocolVersion"))
    return (0, 0) if pair[0] is None or pair[1] is None else (pair[0], pair[1])


def _auth_methods(conversation: Conversation) -> dict[str, Any]:
    """Returns the login methods that the agent offers, by id."""
    every = items(member(conversation.agent.announced, "authMethods"), None)
    named = {member(entry, "id") or member(entry, "methodId"): entry for entry in every}
    return {name: entry for name, entry in named.items() if isinstance(name, str)}


_CHANGING = (PROMPT, "session/set_mode", "session/set_config_option")


def _rule_of(need: Need) -> MessageRule:
    """Returns a function that checks whether the capability in a row of `TABLE` is announced."""

    def capability_is_offered(message: CheckedMessage, conversation: Conversation) -> Breaches:
        """Finds messages that need a capability which was not announced."""
        side = message.sender if need.is_own else message.receiver
        peer, path = conversation.peer(side), need.path(conversation.dialect)
        if not path or not peer.is_known or peer.offers(*path):
            return
        if message.parsed.terminal in conversation.terminals:
            return  # the client has terminals; the missing capability was reported before
        root, holder = ("result", message.result) if need.is_result else ("params", message.params)
        place = _found(holder, need.where.split("/"), need.value) if need.where else ()
        if place is None:
            return
        what = need.what or message.update_kind or message.method or ""
        yield Breach(not_offered(what, ".".join(path), side), frames_of(peer),
                     severity=Severity.WARNING if need.is_wanted else None,
                     place=pointer((root, *place)) if place else None)  # fmt: skip

    return capability_is_offered


@rule("session.child-capability", requests=_CHANGING, notifications=(CANCEL,))
def children_are_left_alone(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages of the client that the capabilities of a child session forbid."""
    child = conversation.session(message.session)
    if child is None or child.opened != NEW_CHILD or message.sender != CLIENT:
        return
    if message.method != CANCEL or not child.may_be_cancelled:
        text = f"{message.method} is sent for the child session {shown(child.id)}"
        yield Breach(f"{text}, whose capabilities do not allow it", (child.seq,))


def _register() -> None:
    for need in TABLE:
        if need.is_result:
            bind = rule(need.rule, results=need.uses)
        elif need.is_update:
            bind = rule(need.rule, updates=need.uses)
        else:
            bind = rule(need.rule, requests=need.uses, notifications=need.uses)
        bind(_rule_of(need))


def _found(holder: Any, where: list[str], value: str) -> tuple[str, ...] | None:
    """Returns the path to the first member with a given value; None if no member has the value.

    If the given value is empty, any value matches.
    """
    name, rest = where[0], where[1:]
    every = enumerate(items(holder)) if name == "*" else [(name, member(holder, name))]
    for key, inside in every:
        if rest and (inner := _found(inside, rest, value)) is not None:
            return (str(key), *inner)
        if not rest and inside is not None and value in ("", inside):
            return (str(key),)
    return None


_register()
