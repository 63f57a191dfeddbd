"""Tells messages of JSON-RPC from other JSON."""

from typing import Any

_MEMBERS = {"method", "params", "id", "type", "_meta", "..."}


def is_message(value: Any) -> bool:
    """Whether parsed JSON is a message of JSON-RPC, or a batch of them.

    Members may be missing that the protocol asks for: what a peer sent wrongly is to be seen.
    """
    if isinstance(value, list):
        return bool(value) and all(isinstance(one, dict) and is_message(one) for one in value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("method"), str):
        return "jsonrpc" in value or not value.keys() - _MEMBERS
    return ("result" in value or "error" in value) and ("jsonrpc" in value or "id" in value)


def spelled(parts: dict[str, bytes]) -> bytes:
    """Returns a message in one line.

    Args:
        parts: its members, each as JSON; without ``jsonrpc``.
    """
    members = b"".join(b',"%s":%s' % (name.encode(), text) for name, text in parts.items())
    return b'{"jsonrpc":"2.0"' + members + b"}"
