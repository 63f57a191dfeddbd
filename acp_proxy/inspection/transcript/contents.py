"""Converts content of any dialect to text blocks; content that is not text is described."""

from collections.abc import Iterator

from acp_proxy.inspection.describe.content import content as describe
from acp_proxy.inspection.describe.content import diff as describe_diff
from acp_proxy.inspection.describe.content import exit_state
from acp_proxy.inspection.describe.values import Value, part, parts, word
from acp_proxy.inspection.text_diff import unified
from acp_proxy.inspection.transcript.texts import cut_text, json_block, note_block, text_block
from acp_proxy.inspection.transcript.values import TextBlock, TextForm

_DEEPEST = 10
_MOST_BLOCKS = 200


def blocks_of(
    value: object, most: int | None, label: str = "", depth: int = 0
) -> Iterator[TextBlock]:
    """Yields the blocks of a content block, of an array of them, or of plain text.

    Args:
        value: any JSON value.
        most: how many characters of each text are kept; None for all.
        label: the label of blocks of plain text.
        depth: the number of content blocks and arrays around the value.
    """
    if isinstance(value, str):
        if value:
            yield text_block(value, most, label)
    elif isinstance(value, list) and depth < _DEEPEST:
        for item in value[:_MOST_BLOCKS]:
            yield from blocks_of(item, most, label, depth + 1)
        if len(value) > _MOST_BLOCKS:
            yield note_block(f"… and {len(value) - _MOST_BLOCKS:,} more")
    elif isinstance(value, dict):
        yield from _of_block(value, most, label, depth)


def output_blocks(value: object, most: int | None) -> Iterator[TextBlock]:
    """Yields the blocks of the output of a tool: content, text, or any JSON.

    Args:
        value: any JSON value.
        most: how many characters of each text are kept; None for all.
    """
    items = value if isinstance(value, list) else [value]
    if isinstance(value, str) or all(isinstance(one, dict) and "type" in one for one in items):
        yield from blocks_of(value, most, "output")
    elif value not in (None, {}, []):
        yield json_block(value, most, "output")


def _of_block(block: Value, most: int | None, label: str, depth: int) -> Iterator[TextBlock]:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            yield from blocks_of(block["text"], most, label)
        case "content" if depth < _DEEPEST:
            yield from blocks_of(block.get("content"), most, label, depth + 1)
        case "diff":
            yield from _diffs(block, most)
        case "resource":
            yield from _resource(block, most)
        case "terminal":
            yield from _terminal(block, most)
        case _:
            if text := describe(block):
                yield note_block(text)


def _diffs(block: Value, most: int | None) -> Iterator[TextBlock]:
    path, new, old = word(block, "path"), block.get("newText"), block.get("oldText")
    if isinstance(new, str) and (old is None or isinstance(old, str)):
        is_new = old is None
        lines = "\n".join(unified(old or "", new))
        label = f"{path} (new file)" if is_new else path
        if lines:
            yield TextBlock(TextForm.DIFF, cut_text(lines, most), label)
        else:
            yield note_block(f"{label}: unchanged")
        return
    patch = block.get("patch")
    text = patch.get("text") if isinstance(patch, dict) else patch
    hunks = [word(hunk, "content") for hunk in parts(block, "hunks")]
    text = text if isinstance(text, str) else "\n".join(filter(None, hunks))
    if not text or parts(block, "changes"):
        yield note_block(describe_diff(block))
    if text:
        yield TextBlock(TextForm.DIFF, cut_text(text, most), path or "patch")


def _resource(block: Value, most: int | None) -> Iterator[TextBlock]:
    inner = part(block, "resource") or block
    text = inner.get("text", inner.get("content"))
    if isinstance(text, str) and text:
        yield text_block(text, most, word(inner, "uri") or "resource")
    else:
        yield note_block(describe(block))


def _terminal(block: Value, most: int | None) -> Iterator[TextBlock]:
    """Yields the blocks of a terminal; in the 1.0 draft with its command and its output."""
    words = ("terminal", word(block, "terminalId"), word(block, "command"), exit_state(block))
    yield note_block(" ".join(filter(None, words)))
    for stream in ("stdout", "stderr"):
        if text := word(block, stream):
            yield text_block(text, most, stream)
