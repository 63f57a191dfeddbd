"""`import` reads any conversation from the log of another tool with equal values."""

from __future__ import annotations

import importlib
import io
import json
import pkgutil
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy import imports
from acp_proxy.imports.embedded_json import FoundObject, ObjectSplitter
from acp_proxy.imports.log_entries import HEAD, LogFormat, UnreadLines
from acp_proxy.imports.log_formats import NAMES, source_named
from tests.support.foreign_log_entries import assert_covered, assert_same, directed
from tests.support.foreign_log_writers import STDERR, TO_AGENT, TO_CLIENT, WRITERS, Sent
from tests.support.strategies import json_values

ids = st.integers(0, 3) | st.sampled_from(["a", "é", "0"])
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)
values = json_values | words | st.sampled_from(["{", '"', "\\", "...", "→ {", "> x", "```", "OUT:"])
methods = st.sampled_from(["session/prompt", "session/update", "initialize", "_x/y"]) | words
messages = st.one_of(
    st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "id": ids, "method": methods}, optional={"params": values}
    ),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": methods, "params": values}),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "result": values}),
    st.fixed_dictionaries(
        {
            "jsonrpc": st.just("2.0"),
            "id": ids,
            "error": st.fixed_dictionaries({"code": st.integers(-9, 9), "message": words}),
        }
    ),
)
sent = st.builds(
    lambda stream, message, ms: Sent(
        stream, json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(), ms
    ),
    st.sampled_from([TO_AGENT, TO_CLIENT]),
    messages,
    st.integers(0, 10**8),
)
stderr = words.filter(str.strip).map(lambda text: Sent(STDERR, text.encode()))


def test_every_defined_format_can_be_named() -> None:
    """`import --from` accepts each format that a module of `acp_proxy.imports` defines."""
    modules = [
        importlib.import_module(f"{imports.__name__}.{module.name}")
        for module in pkgutil.iter_modules(imports.__path__)
    ]
    values = [value for module in modules for value in vars(module).values()]
    assert {value.name for value in values if isinstance(value, LogFormat)} == {*NAMES}


def test_every_format_has_a_writer() -> None:
    """The tests can write logs in each format that `import` reads."""
    assert {writer.format for writer in WRITERS.values()} == {*NAMES}


@given(st.sampled_from(sorted(WRITERS)), st.lists(sent | stderr, max_size=6), st.data())
def test_written_logs_are_read(name: str, conversation: list[Sent], data: st.DataObject) -> None:
    """If `import` reads a log in pieces of any size, it finds all messages of the log."""
    writer = WRITERS[name]
    conversation = [
        entry for entry in conversation if entry.stream is not STDERR or writer.has_stderr
    ]
    text = writer.write(conversation).encode()
    longest = data.draw(st.sampled_from([-1, 1, 7, 64]))
    file = io.BytesIO(text)
    pieces = iter(lambda: file.readline(longest), b"")
    entries = list(source_named(writer.format).read(pieces, text[:HEAD]))
    assert_covered(entries, text)
    imported = directed(entries)
    assert not any(isinstance(entry, UnreadLines) for entry in entries)
    if writer.has_directions:
        for entry, original in zip(imported, conversation, strict=True):
            assert entry.stream == original.stream or entry.line.is_inferred
    assert_same(imported, conversation, writer)


@given(st.lists(json_values, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]))
def test_objects_are_found_in_an_array(items: list[Any], size: int, indent: int | None) -> None:
    """`import` finds the objects of a JSON array wherever the array is cut."""
    text = json.dumps(items, indent=indent).encode()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    parts = ObjectSplitter(b"[").split(pieces)
    objects = [json.loads(part.text or b"") for part in parts if isinstance(part, FoundObject)]
    assert objects == [item for item in items if isinstance(item, dict)]
