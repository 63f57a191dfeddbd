"""Parses JSON with comments in a simple way, to check the parser of `setup`."""

from __future__ import annotations

import json
from typing import Any


def value_of(data: bytes) -> Any:
    """Returns the value of a JSON document with comments; None if the document is empty."""
    text = data.decode("utf-8-sig")
    plain = without_trailing_commas(without_comments(text))
    return json.loads(plain) if plain.strip() else None


def without_comments(text: str) -> str:
    """Returns a JSON text in which blanks or nothing replace the comments."""
    out: list[str] = []
    state = "plain"
    for place, character in enumerate(text):
        before = text[place - 1 : place] if place else ""
        two = text[place : place + 2]
        if state == "plain" and character == '"':
            state = "string"
        elif state == "string" and character == "\\":
            state = "escape"
        elif state == "escape":
            state = "string"
        elif state == "string" and character == '"':
            state = "plain"
        elif state == "plain" and two == "//":
            state = "line"
        elif state == "plain" and two == "/*":
            state, opened = "block", place
        elif state == "line" and character in "\r\n":
            state = "plain"
        elif state == "block" and before == "*" and character == "/" and place > opened + 2:
            state = "plain"
            continue
        if state not in ("line", "block"):
            out.append(character)
        elif state == "block" and two == "/*":
            out.append(" ")
    return "".join(out)


def without_trailing_commas(text: str) -> str:
    """Returns a JSON text without a comma before a closing bracket or brace."""
    out: list[str] = []
    is_string = is_escaped = False
    for place, character in enumerate(text):
        if is_string:
            is_escaped, is_string = (
                character == "\\" and not is_escaped,
                character != '"' or is_escaped,
            )
        elif character == '"':
            is_string = True
        elif character == "," and text[place + 1 :].lstrip(" \t\r\n")[:1] in ("}", "]"):
            continue
        out.append(character)
    return "".join(out)
