"""Content: text as it is, media by type and size, resources by their name, and what a tool shows.

The content of a prompt or message is made of blocks; that of a tool call wraps such blocks, or is a
diff or a terminal. The 1.0 draft has media under ``source``, resources flat, and terminals with
what they printed. Nothing here shows base64.
"""

from collections.abc import Callable

from acp_proxy.inspection.describe.binary import decoded_size, media
from acp_proxy.inspection.describe.diffs import diff
from acp_proxy.inspection.describe.values import (
    Value,
    bracketed,
    joined,
    part,
    payload,
    quantity,
    word,
)
from acp_proxy.wording import byte_size


def content(value: object) -> str:
    """Describes a block, an array of blocks, or text that stands alone."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, map(content, value)))
    if not isinstance(value, dict):
        return ""
    kind = value.get("type")
    if isinstance(kind, str) and (describe := BLOCKS.get(kind)) is not None:
        return describe(value)
    if "text" in value:
        return word(value, "text")
    return bracketed(joined(word(value, "type"), payload(value, "type"), by=": "))


def exit_state(status: Value) -> str:
    """How a command ended; nothing while it runs."""
    signal, code = word(status, "signal"), word(status, "exitCode")
    how = f"signal {signal}" if signal else f"exit {code}" if code else ""
    timed_out = "timed out" if status.get("timedOut") is True else ""
    return joined(timed_out, how if signal or not timed_out else "", by=", ")


def _text(block: Value) -> str:
    return word(block, "text")


def _media(block: Value) -> str:
    source = part(block, "source") or block
    kind = word(source, "mimeType", "mediaType") or word(block, "type")
    return media(source) or bracketed(kind, word(source, "uri", "url"))


def _resource(block: Value) -> str:
    inner = part(block, "resource") or block
    blob, text = inner.get("blob"), inner.get("text", inner.get("content"))
    kind = size = ""
    if isinstance(blob, str):
        kind, size = word(inner, "mimeType") or "binary", decoded_size(blob)
    elif isinstance(text, str):
        size = quantity(text)
    return bracketed(word(inner, "uri") or "resource", kind, size)


def _link(block: Value) -> str:
    uri, size = word(block, "uri"), block.get("size")
    name = word(block, "title", "name")
    known = name in uri
    return bracketed(
        joined("" if known else name, uri) or "resource_link",
        word(block, "mimeType") if size is not None else "",
        byte_size(size) if isinstance(size, int) else "",
    )


def _terminal(block: Value) -> str:
    name = f"terminal {word(block, 'command', 'terminalId')}".rstrip()
    printed = joined(word(block, "stdout"), word(block, "stderr"))
    return joined(bracketed(name, exit_state(block)), printed)


BLOCKS: dict[str, Callable[[Value], str]] = {
    "text": _text,
    "image": _media,
    "audio": _media,
    "resource": _resource,
    "resource_link": _link,
    "content": lambda block: content(block.get("content")),
    "diff": lambda block: bracketed(f"diff {diff(block)}"),
    "terminal": _terminal,
}
"""The types of content, those of tool calls included."""
