"""Describes peers: their names, their capabilities, logins, and providers of models."""

from collections.abc import Iterator
from typing import Any

from acp_proxy.base.wording import counted
from acp_proxy.explain.describe.phrases import Value, compact, joined, listed, part, parts, word
from acp_proxy.protocol.capabilities import CAPABILITIES

_V1_GROUPS = {
    "fs", "auth", "session", "mcp",
    "promptCapabilities", "mcpCapabilities", "sessionCapabilities", "_meta",
}  # fmt: skip
"""Objects of v1 that only group capabilities. An empty object with any other name is a
capability."""
_DEEPEST = 5


def peer(value: Value) -> str:
    """Describes a peer by version, name and capabilities.

    The value is the peer's part of the initialization: the params or the result.
    """
    info = part(value, "clientInfo") or part(value, "agentInfo") or part(value, "info")
    who = joined(
        f"protocol {word(value, 'protocolVersion') or '?'}",
        word(info, "name", "title"),
        word(info, "version"),
    )
    required = listed(_short_names(value, "requiredClientCapabilities"), most=40)
    methods = auth_methods(value)
    return joined(
        joined(who, listed(_short_names(value, *CAPABILITIES), most=40), by=": "),
        f"requires {required}" if required else "",
        f"auth {methods}" if methods else "",
        by="; ",
    )


def enabled(value: Value, *holders: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the path and the value of each capability of a peer.

    A capability in the form of an empty object has the value True.

    Args:
        value: the peer's part of the initialization: the params (client) or the result (agent).
        holders: the names of the members that contain capabilities; by default, the members of all
            dialects.
    """
    for holder in holders or CAPABILITIES:
        groups = {"_meta"} if holder == "capabilities" else _V1_GROUPS
        for key, inner in part(value, holder).items():
            if inner != {} or key not in groups:
                yield from _enabled((key,), inner)


def auth_method_ids(value: Value) -> list[str]:
    """Returns the id of each way to log in; for a way without an id, its name."""
    names = (word(way, "id", "methodId", "name") for way in parts(value, "authMethods"))
    return [name for name in names if name]


def auth_methods(value: Value) -> str:
    """Lists the ways to log in."""
    return listed(auth_method_ids(value))


def login(params: Value) -> str:
    """Describes a login by its method and the names of its credentials."""
    given = listed(part(params, "credentials"))
    return joined(word(params, "methodId", "method"), f"({given})" if given else "")


def login_result(result: Value) -> str:
    """Describes the result of a login; empty without a result."""
    if not isinstance(success := result.get("success"), bool):
        return ""
    outcome, expiry = "success" if success else "failed", word(result, "expiresAt")
    return joined(outcome, word(result, "error"), f"until {expiry}" if expiry else "", by=", ")


def provider(params: Value) -> str:
    """Describes the provider of models that the agent has to use, with its address."""
    how = joined(word(params, "apiType"), word(params, "baseUrl"), by=" at ")
    return joined(word(params, "providerId"), how, by=": ")


def providers(result: Value) -> str:
    """Describes the providers of models in a list."""
    known = parts(result, "providers")
    names = listed(map(_provider, known), most=4)
    return joined(counted(len(known), "provider"), names, by=": ")


def _provider(value: Value) -> str:
    current = part(value, "current")
    where = word(current, "baseUrl") if current else "off"
    return joined(word(value, "providerId"), f"({where})" if where else "")


def _enabled(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    match value:
        case None | False:
            return
        case dict() if value and len(path) < _DEEPEST:
            for key, inner in value.items():
                yield from _enabled((*path, key), inner)
        case dict():
            yield path, True
        case _:
            yield path, value


def _short_names(value: Value, *holders: str) -> Iterator[str]:
    for path, shown in enabled(value, *holders):
        name = ".".join(key.removesuffix("Capabilities") for key in path)
        yield name if shown is True else f"{name}={compact(shown)}"
