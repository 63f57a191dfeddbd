"""Names the capabilities of the peers from what each sent in the initialization.

A capability is named by its path, by which it is found in the frame and in the specification:
``fs.readTextFile``, ``promptCapabilities.image``, ``session.mcp.http``. Custom ones stand under
``_meta``, or begin with an underscore, and are listed like all others.
"""

from collections.abc import Iterator
from typing import Any

from acp_proxy.inspection.describe.values import compact, parts, word

_HOLDERS = ("clientCapabilities", "agentCapabilities", "capabilities")
_V1_GROUPS = frozenset(
    ("fs", "auth", "session", "mcp", "promptCapabilities", "mcpCapabilities", "sessionCapabilities")
)
"""Objects of v1 that say nothing when they are empty; others are a capability by being there."""
_DEEPEST = 5
_LONGEST = 200
_MOST = 500


def capabilities(half: object) -> list[str]:
    """The names of a peer's capabilities, sorted; custom ones last.

    Args:
        half: the params of an initialize request, or its result, in any dialect.
    """
    return _names(half, _HOLDERS)


def required(half: object) -> list[str]:
    """The names of the capabilities that an agent demands of its client (draft-1.0), sorted."""
    return _names(half, ("requiredClientCapabilities",))


def auth_methods(half: object) -> list[str]:
    """The ways to log in that an agent offers, by their ids, in its order."""
    if not isinstance(half, dict):
        return []
    every = (word(way, "id", "methodId", "name") for way in parts(half, "authMethods"))
    return [_short(name) for name in every if name][:_MOST]


def _names(half: object, holders: tuple[str, ...]) -> list[str]:
    if not isinstance(half, dict):
        return []
    found: set[str] = set()
    for holder in holders:
        group = half.get(holder)
        groups = frozenset() if holder == "capabilities" else _V1_GROUPS
        if isinstance(group, dict):
            found.update(_short(name) for name in _on(group, groups | {"_meta"}) if name)
    return sorted(found, key=lambda name: (_is_custom(name), name))[:_MOST]


def _on(
    group: dict[str, Any], groups: frozenset[str], path: str = "", depth: int = 1
) -> Iterator[str]:
    for key, value in group.items():
        name = f"{path}{key}"
        match value:
            case None | False:
                continue
            case True:
                yield name
            case dict() if value and depth < _DEEPEST:
                yield from _on(value, groups, f"{name}.", depth + 1)
            case dict():
                if value or path or key not in groups:
                    yield name
            case list():
                yield f"{name}: {', '.join(map(compact, value))}" if value else name
            case _:
                yield f"{name}: {compact(value)}"


def _is_custom(name: str) -> bool:
    return name.startswith("_") or "._" in name


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
