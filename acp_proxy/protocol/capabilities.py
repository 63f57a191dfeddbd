"""Brings the capabilities of ``initialize`` into one form, so that they can be compared.

``false``, ``null`` and a missing member all mean that something is not supported. So does an object
of such members, and an empty group of v1 or the 1.0 draft. Any other empty object means that
something is supported: ``"list": {}``.
"""

from typing import Any

CAPABILITIES = ("clientCapabilities", "agentCapabilities", "capabilities")
"""The members of ``initialize`` that hold capabilities: the client's, the agent's, and both in v2
and the 1.0 draft."""

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
"""Objects that group capabilities and are none themselves."""


def normalized(handshake: Any) -> Any:
    """Returns params or a result of ``initialize`` without the capabilities that it does not have.

    Anything but an object is returned as it is.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if not isinstance(handshake, dict):
        return handshake
    kept = {key: value for key, value in handshake.items() if key not in CAPABILITIES}
    held = {key: value for key, value in handshake.items() if key in CAPABILITIES}
    return {**kept, **_supported(held)}


def _supported(group: dict[str, Any]) -> dict[str, Any]:
    return {
        key: inner for key, value in group.items() if (inner := _capability(key, value)) is not None
    }


def _capability(key: str, value: Any) -> Any:
    """A capability, or None if it is not supported."""
    if value is None or value is False:
        return None
    if not isinstance(value, dict):
        return value
    inner = _supported(value)
    is_empty = not inner and (key in _GROUPS or False in value.values())
    return None if is_empty else inner
