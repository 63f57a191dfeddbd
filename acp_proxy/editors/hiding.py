"""Hides the secrets, and all values of variables and headers, in settings that are shown."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.agents import RecordedAgent
from acp_proxy.editors.jsonc import JsonNode, decode, parse

HIDDEN = "…"


@frozen
class Masker:
    """Two functions: `text` returns a text without secrets, `command` a command without secrets.

    Equal secrets have equal markers.
    """

    text: Callable[[str], str]
    command: Callable[[list[str]], list[str]]


def hidden_settings(data: bytes, masker: Masker) -> str:
    """Returns settings without secrets, and without the values of variables and headers.

    Args:
        data: the content of the settings file.
        masker: masks the secrets in all other places of the settings.
    """
    text = decode(data)
    try:
        root = parse(text)
    except BadSettings:
        root = None
    spans = [] if root is None else list(_spans(root, masker))
    for start, end, other in sorted(spans, reverse=True):
        text = text[:start] + other + text[end:]
    return masker.text(text)


def hidden_agent(agent: RecordedAgent, masker: Masker) -> RecordedAgent:
    """Returns an agent after hiding its secrets, values of headers, and the variables in `hidden`.

    Args:
        agent: the agent.
        masker: masks the words of the agent's command, and its settings entry.
    """
    env = {k: f"<{k}>" if k in agent.hidden else v for k, v in agent.env.items()}
    command = tuple(masker.command([*agent.command]))
    value = agent.value
    if isinstance(value, dict):
        value = json.loads(masker.text(json.dumps(value)))
        if isinstance(value.get("headers"), dict):
            value["headers"] = {name: f"<{name}>" for name in value["headers"]}
    return evolve(agent, env=env, command=command, value=value)


def _spans(node: JsonNode, masker: Masker) -> Iterator[tuple[int, int, str]]:
    """Yields the start and the end of each range to be replaced, and its replacement."""
    for item in node.items:
        yield from _spans(item, masker)
    for member in node.members:
        if member.name in ("env", "headers"):
            yield from _values(member.node)
        elif member.name in ("args", "argv") and member.node.items:
            yield from _words(member.node.items, masker)
        else:
            yield from _spans(member.node, masker)


def _values(node: JsonNode) -> Iterator[tuple[int, int, str]]:
    for item in node.items:
        for member in item.members:
            if member.name == "value":
                yield member.node.start, member.node.end, json.dumps(HIDDEN, ensure_ascii=False)
    for member in node.members:
        yield member.node.start, member.node.end, json.dumps(HIDDEN, ensure_ascii=False)


def _words(items: Sequence[JsonNode], masker: Masker) -> Iterator[tuple[int, int, str]]:
    words: list[Any] = [item.value for item in items]
    if not all(isinstance(word, str) for word in words):
        return
    for item, word in zip(items, masker.command(["agent", *words])[1:], strict=True):
        if item.value != word:
            yield item.start, item.end, json.dumps(word)
