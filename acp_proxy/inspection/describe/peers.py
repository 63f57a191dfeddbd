"""The peers: who they are, what they can do, how they log in, whose models they use."""

from collections.abc import Iterator

from acp_proxy.inspection.describe.values import Value, compact, joined, listed, part, parts, word
from acp_proxy.wording import counted

_V1_GROUPS = {"fs", "auth", "promptCapabilities", "mcpCapabilities", "sessionCapabilities"}
"""Objects of v1 that say nothing when they are empty; others are a capability by being there."""


def peer(value: Value) -> str:
    """Version, name and capabilities of a peer, from its half of the initialization."""
    info = part(value, "clientInfo") or part(value, "agentInfo") or part(value, "info")
    who = joined(
        f"protocol {word(value, 'protocolVersion') or '?'}",
        word(info, "name", "title"),
        word(info, "version"),
    )
    required = listed(_on(part(value, "requiredClientCapabilities")), most=40)
    return joined(
        joined(who, listed(capabilities(value), most=40), by=": "),
        f"requires {required}" if required else "",
        _labelled_methods(value),
        by="; ",
    )


def capabilities(value: Value) -> list[str]:
    """The names of the capabilities that are on, in a peer's half of the initialization."""
    names = []
    for key in ("clientCapabilities", "agentCapabilities", "capabilities"):
        groups = _V1_GROUPS if key != "capabilities" else set()
        names += _on(part(value, key), groups)
    return names


def auth_methods(value: Value) -> str:
    """The ways to log in, by name."""
    return listed(word(m, "id", "methodId", "name") for m in parts(value, "authMethods"))


def login(params: Value) -> str:
    """The way that was chosen; of credentials only what they are called."""
    given = listed(part(params, "credentials"))
    return joined(word(params, "methodId", "method"), f"({given})" if given else "")


def login_result(result: Value) -> str:
    """Whether it worked, where that is said."""
    if not isinstance(success := result.get("success"), bool):
        return ""
    expires = word(result, "expiresAt")
    return joined(
        "success" if success else "failed",
        word(result, "error"),
        f"until {expires}" if expires else "",
        by=", ",
    )


def provider(params: Value) -> str:
    """The provider to use, and where it is."""
    how = joined(word(params, "apiType"), word(params, "baseUrl"), by=" at ")
    return joined(word(params, "providerId"), how, by=": ")


def providers(result: Value) -> str:
    """The providers there are."""
    found = parts(result, "providers")
    names = listed(map(_provider, found), most=4)
    return joined(counted(len(found), "provider"), names, by=": ")


def _provider(value: Value) -> str:
    current = part(value, "current")
    where = word(current, "baseUrl") if current else "off"
    return joined(word(value, "providerId"), f"({where})" if where else "")


def _labelled_methods(value: Value) -> str:
    methods = auth_methods(value)
    return f"auth {methods}" if methods else ""


def _on(group: Value, groups: set[str] | frozenset[str] = frozenset(), path: str = "") -> list[str]:
    return list(_walk(group, groups, path))


def _walk(group: Value, groups: set[str] | frozenset[str], path: str) -> Iterator[str]:
    for key, value in group.items():
        name = path + key.removesuffix("Capabilities")
        match value:
            case None | False:
                continue
            case True:
                yield name
            case dict() if value:
                yield from list(_walk(value, groups, f"{name}.")) or [name]
            case dict():
                if path or key not in groups:
                    yield name
            case _:
                yield f"{name}={compact(value)}"
