"""An import recognizes and reads each format of other tools' logs, line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.imports.connections import ConnectionBegins, connections
from acp_proxy.imports.log_entries import HEAD, Remark, RemarkKind
from acp_proxy.imports.log_formats import SOURCES, source_of
from acp_proxy.protocol.jsonrpc import Stream
from tests.support.cases import each_case
from tests.support.foreign_log_entries import (
    ANSWER,
    INITIALIZE,
    UPDATE,
    assert_same,
    bad,
    directed,
    messages,
    read,
    read_as,
)
from tests.support.foreign_log_writers import (
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    WRITERS,
    Sent,
    conversation_of,
)
from tests.support.shipped_recordings import DIRECTORY
from tests.unit.imports.test_pastes import DIRECTORY as PASTED
from tests.unit.imports.test_pastes import PASTES

if TYPE_CHECKING:
    from collections.abc import Iterator


@each_case("name", WRITERS)
@each_case("recording", ["tour", "terminal"])
def test_a_recording_comes_back_from_every_format(name: str, recording: str) -> None:
    """`import` restores directions, times and messages from a log in every known format."""
    writer = WRITERS[name]
    sent = conversation_of(DIRECTORY / f"{recording}.db")
    sent = [line for line in sent if line.stream is not STDERR or writer.has_stderr]
    _, entries = read(writer.write(sent), writer.format)
    assert bad(entries) == []
    lines = directed(entries)
    assert [line.stream for line in lines] == [line.stream for line in sent]
    assert [line.line.is_inferred for line in lines] == [not writer.has_directions] * len(sent)
    assert_same(lines, sent, writer)


def written_logs() -> Iterator[tuple[str, str, bytes]]:
    """Yields the name, the format and the text of each known log: written ones and pastes."""
    sent = conversation_of(DIRECTORY / "tour.db")
    for name, writer in WRITERS.items():
        yield name, writer.format, writer.write(sent).encode()
    for paste in PASTES:
        if "source" in paste:
            yield paste["file"], paste["source"], (PASTED / f"{paste['file']}.txt").read_bytes()


def test_each_log_is_claimed_by_one_format() -> None:
    """Each example log is recognized as exactly one of the formats that `import` reads."""
    *special, most_general = SOURCES
    for name, expected, data in written_logs():
        head = data[:HEAD]
        claimed = [source.name for source in special if source.recognizes(head)]
        claimed = claimed or [most_general.name] * most_general.recognizes(head)
        claims = " and by ".join(claimed)
        assert claimed == [expected], f"{name} is a log of {expected}; claimed by {claims}"


@pytest.mark.parametrize("text", [b"", b"Hello\n{}\nWorld [1]\n", b"{'a': 1}\n", b"{...}\n"])
def test_text_without_messages_has_no_format(text: bytes) -> None:
    """`import` recognizes no format in a text without messages."""
    assert source_of(text) is None


def test_jetbrains_keeps_messages_that_are_not_json() -> None:
    """In a JetBrains log, `import` keeps ACP lines without JSON, and skips other loggers' lines."""
    text = (
        "2025-11-14 19:57:12,975 [     34]   INFO - #c.i.idea - starting\n"
        "\tat java.base/java.lang.Thread.run\n"
        "2025-11-14 19:57:13,401 [    460]   FINE - AcpTransport - IN: Loading...\n"
        "\n"
        "2025-11-14 19:57:13,500 [    560]   FINE - AcpTransport - OUT: " + INITIALIZE.decode()
    )
    _, entries = read(text, "jetbrains")
    lines = list(messages(entries))
    assert [(line.stream, line.raw) for line in lines] == [
        (TO_CLIENT, b"Loading..."),
        (TO_AGENT, INITIALIZE),
    ]
    assert not lines[0].has_zone
    remarks = [entry.kind for entry in entries if isinstance(entry, Remark)]
    assert remarks == [RemarkKind.REMARK, RemarkKind.REMARK, RemarkKind.BLANK]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("x AcpTransport - IN: {}\nx AcpTransport - OUT: {\"id\":1,\"meth\n", [(2, 2)]),
        ('→ {"jsonrpc":"2.0","id":1,"method":"x"}\n← {"jsonrpc":"2.0","id":1,"resu\n', [(2, 2)]),
        (INITIALIZE.decode() + '\n{"jsonrpc":\n' + ANSWER.decode() + "\n", [(2, 2)]),
        ('[{"_direction":"incoming",\n"_type":"what"},\n{"_direction":"x"}]', [(1, 2), (3, 3)]),
        ('{"direction":"editor-to-agent","raw":"{}"}\n{"direction":"agent-to-editor"}', [(2, 2)]),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(text: str, where: list[tuple[int, int]]) -> None:
    """The error of `import` about an unreadable line has the number of the line."""
    _, entries = read(text)
    assert bad(entries) == where


def test_a_client_that_starts_again_begins_a_connection() -> None:
    """In an imported log, a second `initialize` request begins a new connection."""
    sent = [Sent(TO_AGENT, INITIALIZE), Sent(TO_CLIENT, INITIALIZE), Sent(TO_AGENT, INITIALIZE)]
    _, entries = read(WRITERS["arrows"].write(sent))
    begun = [isinstance(entry, ConnectionBegins) for entry in connections(entries)]
    assert begun == [False, False, True, False]


def test_streams_without_a_direction_are_inferred() -> None:
    """In a log without directions, `import` infers them even if both peers use the same ids."""
    conversation: list[tuple[Stream, dict[str, Any]]] = [
        (TO_AGENT, {"id": 1, "method": "session/prompt"}),
        (TO_CLIENT, {"id": 1, "method": "fs/read_text_file"}),
        (TO_AGENT, {"id": 1, "result": {"content": ""}}),
        (TO_CLIENT, {"method": "_vendor/progress"}),
        (TO_CLIENT, {"id": 1, "result": {"stopReason": "end_turn"}}),
        (TO_AGENT, {"id": 2, "method": "_vendor/ask"}),
        (TO_CLIENT, {"id": 2, "error": {"code": 1, "message": ""}}),
        (TO_AGENT, {"method": "session/cancel"}),
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for _, message in conversation)
    directions = [line.stream for line in directed(read_as("acpx", text))]
    assert directions == [stream for stream, _ in conversation]


def test_the_journal_of_acpx_is_beside_its_messages() -> None:
    """In a log of acpx, `import` skips acpx's own journal entries between the messages."""
    mark = '{"schema":"acpx.session.journal.v1","type":%s}\n'
    text = "".join(
        [
            mark % '"segment","record_id":"r","sequence":0,"message_sequence":0,"request_id":null',
            mark % '"turn_started","request_id":"q"',
            f"{UPDATE.decode()}\n",
            mark % '"turn_result","request_id":"q","result":{"status":"completed"}',
        ]
    )
    name, entries = read(text)
    assert (name, len(list(messages(entries))), bad(entries)) == ("acpx", 1, [])
    assert read(UPDATE + b"\n" + UPDATE + b"\n")[0] == "lines"


def test_stderr_is_told_apart() -> None:
    """If a log of Zed contains lines of stderr, `import` keeps them as stderr."""
    sent = [Sent(STDERR, b"\x1b[2mwarn: x\x1b[0m"), Sent(TO_AGENT, INITIALIZE)]
    _, entries = read(WRITERS["zed"].write(sent))
    assert [line.stream for line in messages(entries)] == [Stream.STDERR, TO_AGENT]
