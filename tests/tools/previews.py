"""Writes the previews of all messages in `tests/data/protocol` into a file, for review.

``python -m tests.tools.previews`` writes `tests/data/previews.txt` anew. Review the changes:
each line should say briefly what its frame means.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from acp_proxy.explain.preview import preview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROTOCOL = Path(__file__).parents[1] / "data" / "protocol"
GOLDEN = Path(__file__).parents[1] / "data" / "previews.txt"

_MESSAGES = ("messages-official", "messages-seed004", "messages-schemas")
_FRAGMENTS = ("fragments-official", "fragments-seed004")


@frozen
class Case:
    """A message, and its place in a document."""

    source: str
    """The file and the line of the document, or the number of the line in the file."""
    kind: str
    method: str
    """For a response, the method of the request that it answers."""
    message: dict[str, Any]

    @property
    def raw(self) -> bytes:
        """Returns the message as one line."""
        return json.dumps(self.message, ensure_ascii=False).encode()

    @property
    def preview(self) -> str:
        """Returns the preview of a message."""
        return preview(self.raw, self.kind, self.method)

    def __str__(self) -> str:
        """Returns the case and its preview in the form of the golden file."""
        return f"{self.source}  {self.kind} {self.method}\n    {self.preview}\n"


def cases() -> Iterator[Case]:
    """Yields all examples; a fragment is put into a message that may contain it."""
    for name in _MESSAGES:
        for source, line in _lines(name):
            kind = "error" if "error" in line["message"] else line["kind"]
            yield Case(source, kind, line["method"], line["message"])
    for name in _FRAGMENTS:
        for source, line in _lines(name):
            if line["fragment"] != "json_schema":  # no message carries those
                yield _wrapped(f"{source} {line['fragment']}", line, draft=name.endswith("seed004"))


def golden() -> str:
    """Returns the current contents for the golden file."""
    return "\n".join(map(str, cases()))


def _lines(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    text = (PROTOCOL / f"{name}.jsonl").read_text(encoding="utf-8")
    short = name.removeprefix("messages-")
    for count, line in enumerate(map(json.loads, text.splitlines()), 1):
        place = f":{line['line']}" if "line" in line else f" #{count}, {line['source']}"
        yield f"{short}{place}", line


def _wrapped(source: str, line: dict[str, Any], *, draft: bool) -> Case:
    kind, method, wrap = _WRAPPERS[line["fragment"]]
    value = line["value"]
    if "initialize result" in line.get("note", ""):
        kind = "response"
    member = "result" if kind == "response" else "params"
    message = {"jsonrpc": "2.0", member: wrap(value, draft)}
    if kind != "response":
        message["method"] = method
    return Case(source, kind, method, message)


def _update(update: Any, draft: bool) -> dict[str, Any]:
    return {"sessionId": "s", **update} if draft else {"sessionId": "s", "update": update}


def _call(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "c", **fields}


_WRAPPERS: dict[str, tuple[str, str, Callable[[Any, bool], dict[str, Any]]]] = {
    "content_block": (
        "request",
        "session/prompt",
        lambda value, draft: {"sessionId": "s", "content" if draft else "prompt": [value]},
    ),
    "mcp_server": (
        "request",
        "session/new",
        lambda value, _: {"cwd": "/w", "mcpServers": [value]},
    ),
    "mcp_transport": (
        "request",
        "session/new",
        lambda value, _: {
            "workingDirectory": "/w",
            "mcpServers": [{"name": "x", "transport": value}],
        },
    ),
    "tool_call_content": (
        "notification",
        "session/update",
        lambda value, draft: _update(_call(content=[value]), draft),
    ),
    "tool_call_location": (
        "notification",
        "session/update",
        lambda value, draft: _update(_call(locations=[value]), draft),
    ),
    "session_update": ("notification", "session/update", _update),
    "agent_capabilities": (
        "response",
        "initialize",
        lambda value, _: {"protocolVersion": 1, "capabilities": value},
    ),
    "client_capabilities": (
        "request",
        "initialize",
        lambda value, _: {"protocolVersion": 1, "capabilities": value},
    ),
    "capabilities": ("request", "initialize", lambda value, _: {"protocolVersion": 1, **value}),
}
"""For each kind of fragment, the kind, the method and the other members of its frame."""


if __name__ == "__main__":
    GOLDEN.write_text(golden(), encoding="utf-8")
