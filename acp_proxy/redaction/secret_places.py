"""Decides by a string's path how the string is treated: as a secret, a command, an id or a text.

Rules compare only the end of a path, so they also apply in a batch and in forwarded params.

A secret is recognized by the name of its member (``env``, ``headers``, or a name such as
``apiKey``) in every dialect and method. If a member is a secret in only one method, its rule names
the method.

The sources are the Agent Client Protocol, versions 1 and 2 with their unstable parts, and the 1.0
draft.
"""

from collections.abc import Set
from enum import Enum, auto
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from acp_proxy.redaction.secret_names import is_harmless_variable, is_secret_name, kind_of_name

Path = tuple[str, ...]


class Treatment(Enum):
    """How a string is treated."""

    KEEP = auto()
    """An id, a method or a kind: the string is never changed."""
    TEXT = auto()
    """Any other text: only secrets that are certain are masked in the string."""
    COMMAND = auto()
    """A command, an argument, a URL or an error. A value after the name of a secret is masked."""
    QUERY = auto()
    """A one-time link: all values in the query are masked."""
    ADDRESS = auto()
    """The URL of an MCP server: the path and the values in the query are masked."""
    SECRET = auto()
    """A secret: the whole string is masked."""
    NAME = auto()
    """The ``name`` member of an object in an ``env`` or ``headers`` array."""
    ENTRY = auto()
    """A value in an ``env`` or ``headers`` array: a secret, unless the value's name is harmless."""
    VARIABLE = auto()
    """The name of a variable that holds a secret."""
    PRIVATE = auto()
    """Text that the user or the agent wrote or read: the string is masked only on request."""


class Ruling(NamedTuple):
    """How a string is treated, and the kind of secret for its marker."""

    treatment: Treatment
    kind: str = "secret"


_TEXT, _KEEP = Ruling(Treatment.TEXT), Ruling(Treatment.KEEP)
_COMMAND, _PRIVATE = Ruling(Treatment.COMMAND), Ruling(Treatment.PRIVATE)
_KEPT = frozenset(
    {
        "id", "jsonrpc", "method", "sessionId", "toolCallId", "terminalId", "messageId",
        "requestId", "connectionId", "sessionUpdate", "type", "kind", "status", "stopReason",
        "optionId", "modeId", "currentModeId", "methodId", "mimeType", "configId",
        "protocolVersion", "parentSessionId", "compactionId",
    }
)  # fmt: skip
_ENVIRONMENTS = frozenset({"env", "environ", "environment", "envvars", "environmentvariables"})
_HEADERS = frozenset({"headers", "httpheaders", "requestheaders", "extraheaders"})
_COMMANDS = frozenset(
    {
        "args", "argv", "command", "cmd", "url", "uri", "baseUrl", "href", "error", "stderr",
        "baggage",
    }
)  # fmt: skip
_COLLECTIONS = ("credential", "credentials", "creds", "secrets", "tokens", "passwords")
_SIGN_IN = frozenset({"authenticate", "auth/login"})
_ELICITATION = frozenset({"elicitation/create"})
METHODS = _SIGN_IN | _ELICITATION
"""Methods that make some members secrets. In other methods, the same members are not secrets."""

_PRIVATE_MEMBERS: dict[str, tuple[Path, ...]] = {
    "session/prompt": (("prompt",), ("content",), ("attachments",)),
    "session/new": (("systemPrompt",),),
    "session/update": (
        ("update", "content"), ("update", "title"), ("update", "rawInput"), ("update", "rawOutput"),
        ("update", "entries"), ("update", "output"), ("update", "data"),
        ("data", "content"), ("data", "input"), ("data", "output"), ("data", "steps"),
        ("data", "error"), ("data", "title"),
    ),
    "session/request_permission": (
        ("toolCall", "rawInput"), ("toolCall", "content"), ("toolCall", "title"),
        ("description",), ("subject",), ("resource",), ("reason",),
    ),
    "fs/write_text_file": (("content",),),
    "terminal/output": (("data",),),
}  # fmt: skip
_PRIVATE_RESULTS: tuple[Path, ...] = (
    ("content",), ("output",), ("sessions", "*", "title"), ("sessions", "*", "cwd"),
)  # fmt: skip
_PRIVATE_FAMILIES = ("nes/", "document/")


def rule_for(path: Path, methods: Set[str], *, private: bool) -> Ruling:
    """Returns how a string is treated.

    Args:
        path: the keys that lead to the string, from the outermost; ``*`` for an item of an array.
        methods: the methods named in the line.
        private: whether private text is masked too.
    """
    if len(path) > _DEEPEST or sum(map(len, path)) > _LONGEST:
        return _rule_for(path, frozenset(methods), private)
    return _known_rule_for(path, frozenset(methods), private)


def _rule_for(path: Path, methods: frozenset[str], private: bool) -> Ruling:
    if not path:
        return _TEXT
    last = path[-1]
    entry = _entry(path)
    if entry is not None:
        return entry
    if last in _KEPT or (path[-3:-1] == ("locations", "*")):
        return _KEEP
    if _is_named(path) or ("_meta" in path and methods & _SIGN_IN):
        return Ruling(Treatment.SECRET, kind_of(path))
    if path[-4:] == ("authMethods", "*", "vars", "*", "name")[-4:]:
        return Ruling(Treatment.VARIABLE)
    if last == "url" and methods & _ELICITATION:
        return Ruling(Treatment.QUERY, "url")
    if last == "url" and any(_plain(key) == "mcpservers" for key in path):
        return Ruling(Treatment.ADDRESS, "url")
    if private and _is_private(path, methods):
        return _PRIVATE
    if (
        last in _COMMANDS
        or any(map(is_secret_name, path))
        or "error" in path
        or path[-2:-1] in (("args",), ("argv",), ("command",))
    ):
        return _COMMAND
    return _TEXT


_known_rule_for = lru_cache(maxsize=1024)(_rule_for)
"""`_rule_for` with a cache, since a few paths occur very often."""
_DEEPEST, _LONGEST = 16, 256
"""The limits of a path in the cache: how many keys, and how many characters in all keys."""


def kind_of(path: Path) -> str:
    """Returns the kind of a secret that was recognized by the names in its path."""
    names = (kind_of_name(key) for key in reversed(path) if key != "*")
    return next(filter(None, names), "credential" if "_meta" in path else "secret")


def of_variable(name: str, container: str) -> Ruling:
    """Returns how the value of a variable or a header is treated.

    Args:
        name: the name of the variable or header.
        container: the member that contains the variable or header, such as ``env``.
    """
    if is_harmless_variable(name):
        return _COMMAND
    return Ruling(Treatment.SECRET, "header" if _plain(container) in _HEADERS else "env")


def _entry(path: Path) -> Ruling | None:
    """Returns the treatment of a string in ``env`` or ``headers``; None for any other string.

    These members have three notations: an object, an array of objects, and an array of strings
    ``NAME=value``.
    """
    for key, name in pairwise(path):
        if name != "*" and _container(key):
            return of_variable(name, key)
    if len(path) >= 2 and path[-1] == "*" and (container := _container(path[-2])):
        return Ruling(Treatment.ENTRY, container)
    if len(path) >= 3 and path[-2] == "*" and (container := _container(path[-3])):
        if path[-1] == "name":
            return Ruling(Treatment.NAME, container)
        if path[-1] == "value":
            return Ruling(Treatment.ENTRY, container)
    return None


def _container(key: str) -> str:
    plain = _plain(key)
    return "env" if plain in _ENVIRONMENTS else "header" if plain in _HEADERS else ""


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _is_named(path: Path) -> bool:
    """Whether a string's member has the name of a secret, or is in a collection of secrets."""
    names = [key for key in path if key != "*"]
    if names and is_secret_name(names[-1]):
        return True
    return any(_plain(key).endswith(_COLLECTIONS) for key in names)


def _is_private(path: Path, methods: Set[str]) -> bool:
    if path[0] == "*":  # a batch
        path = path[1:]
    if path[:1] == ("result",):
        return any(path[1 : 1 + len(each)] == each for each in _PRIVATE_RESULTS)
    if path[:2] == ("params", "params"):  # forwarded by a proxy
        path = path[1:]
    for method in methods:
        if any(path[1 : 1 + len(each)] == each for each in _PRIVATE_MEMBERS.get(method, ())):
            return True
        if method.startswith(_PRIVATE_FAMILIES):
            return True
    return False
