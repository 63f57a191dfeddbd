"""Writes strings in Lua and Emacs Lisp, and finds commands in files of these languages."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from acp_proxy.clients.agents import ConfiguredAgent, known_id

_DOUBLE = r'''"(?:[^"\\\n]|\\.)*"'''
_EITHER = rf"""(?:{_DOUBLE}|'(?:[^'\\\n]|\\.)*')"""
_COMMENT_LINE = re.compile(r"^[ \t]*(?:--|;).*$", re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t"}


def lua(text: str) -> str:
    """Returns a text as a string literal of Lua."""
    return _quoted(text, "\\{:03d}")


def elisp(text: str) -> str:
    """Returns a text as a string literal of Emacs Lisp."""
    return _quoted(text, "\\{:03o}")


def lua_key(name: str) -> str:
    """Returns the name of a field as a table constructor of Lua has it."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"[{lua(name)}]"


def lua_list(words: Sequence[str]) -> str:
    """Returns words as a table constructor of Lua with string literals."""
    return f"{{ {', '.join(map(lua, words))} }}" if words else "{}"


def agents_in(path: Path, data: bytes, word: str) -> list[ConfiguredAgent]:
    """Returns the agents whose commands are found in a file, which is not parsed.

    A command is a list of strings that begins with acp-proxy or with the program of a known agent.

    Args:
        path: the file.
        data: its content.
        word: a word of the client; a file without this word has no agents of the client.
    """
    text = data.decode("utf-8", "replace")
    if word not in text:
        return []
    found: dict[tuple[str, ...], ConfiguredAgent] = {}
    for command in _commands(text, _EITHER if path.suffix == ".lua" else _DOUBLE):
        agent = ConfiguredAgent("", command, path)
        name = known_id(agent.agent) or PurePath((*agent.agent, *command)[0]).name
        found[command] = ConfiguredAgent(name, command, path)
    return list(found.values())


def _commands(text: str, string: str) -> Iterator[tuple[str, ...]]:
    lists = re.compile(rf"{string}(?:[\s,]*(?:args\s*=\s*\{{\s*)?{string})*", re.DOTALL)
    for match in lists.finditer(_COMMENT_LINE.sub("", text)):
        words = tuple(_unquoted(word) for word in re.findall(string, match[0], re.DOTALL))
        for place, word in enumerate(words):
            rest = words[place:]
            is_proxy = PurePath(word).name == "acp-proxy" and rest[1:2] == ("record",)
            if is_proxy or (len(rest) > 1 and known_id(rest) is not None):
                yield rest
                break


def _quoted(text: str, escape: str) -> str:
    out = []
    for character in text:
        if character in '"\\':
            out.append(f"\\{character}")
        elif character == "\n":
            out.append("\\n")
        elif ord(character) < 32 or ord(character) == 127:
            out.append(escape.format(ord(character)))
        else:
            out.append(character)
    return f'"{"".join(out)}"'


def _unquoted(literal: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)
