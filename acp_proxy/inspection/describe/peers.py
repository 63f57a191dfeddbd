"""Describes peers: their names, their capabilities, logins, and providers of models."""

from collections.abc import Collection, Iterator

from acp_proxy.inspection.describe.values import Value, compact, joined, listed, part, parts, word
from acp_proxy.wording import counted

_V1_GROUPS = {"fs", "auth", "promptCapabilities", "mcpCapabilities", "sessionCapabilities"}
"""Objects of v1 that mean nothing when empty; any other empty object is a capability."""


def peer(value: Value) -> str:
    """Describes a peer by version, name and capabilities, from its part of the initialization."""
    info = part(value, "clientInfo") or part(value, "agentInfo") or part(value, "info")
    who = joined(
        f"protocol {word(value, 'protocolVersion') or '?'}",
        word(info, "name", "title"),
        word(info, "version"),
    )
    required = listed(_enabled(part(value, "requiredClientCapabilities")), most=40)
    methods = auth_methods(value)
    return joined(
        joined(who, listed(capabilities(value), most=40), by=": "),
        f"requires {required}" if required else "",
        f"auth {methods}" if methods else "",
        by="; ",
    )


def capabilities(value: Value) -> list[str]:
    """Returns the names of the capabilities that are on, in a peer's part of the initialization."""
    names: list[str] = []
    for key in ("clientCapabilities", "agentCapabilities", "capabilities"):
        groups = _V1_GROUPS if key != "capabilities" else set()
        names += _enabled(part(value, key), groups)
    return names


def auth_methods(value: Value) -> str:
    """Lists the names of the ways to log in."""
    return listed(word(m, "id", "methodId", "name") for m in parts(value, "authMethods"))


def login(params: Value) -> str:
    """Describes a login by its method; of credentials only by their names."""
    given = listed(part(params, "credentials"))
    return joined(word(params, "methodId", "method"), f"({given})" if given else "")


def login_result(result: Value) -> str:
    """Describes the result of a login, if it has one."""
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
    """Describes the provider to use, and its address."""
    how = joined(word(params, "apiType"), word(params, "baseUrl"), by=" at ")
    return joined(word(params, "providerId"), how, by=": ")


def providers(result: Value) -> str:
    """Describes the known providers."""
    found = parts(result, "providers")
    names = listed(map(_provider, found), most=4)
    return joined(counted(len(found), "provider"), names, by=": ")


def _provider(value: Value) -> str:
    current = part(value, "current")
    where = word(current, "baseUrl") if current else "off"
    return joined(word(value, "providerId"), f"({where})" if where else "")


def _enabled(group: Value, groups: Collection[str] = (), path: str = "") -> Iterator[str]:
    for key, value in group.items():
        name = path + key.removesuffix("Capabilities")
        match value:
            case None | False:
                continue
            case True:
                yield name
            case dict() if value:
                yield from list(_enabled(value, groups, f"{name}.")) or [name]
            case dict():
                if path or key not in groups:
                    yield name
            case _:
                yield f"{name}={compact(value)}"
