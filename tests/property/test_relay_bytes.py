"""A recorder forwards and records any bytes unchanged, however they are cut into chunks."""

from __future__ import annotations

import base64
import random
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.integration.processes import CHUNK, Recorder, agent, needs_proc, peak_memory

ACP_PROXY = Path(sys.executable).with_name("acp-proxy")
ODD_LINES = [
    b"",
    b"\r",
    b"\0",
    b"\xff\xfe{}",
    b"\xef\xbb\xbf" + b'{"jsonrpc":"2.0","method":"m"}',
    b'{"jsonrpc":"2.0","id":0,"method":"m"}',
    b'{"jsonrpc":"2.0","id":7,"method":"m","params":[]}',
    b'{"jsonrpc":"2.0","id":"7","method":"m"}\r',
    b'{"jsonrpc":"2.0","id":null,"method":"m"}',
    b'{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}',
    b'{"jsonrpc":"2.0","id":0,"result":null}',
    b'{"jsonrpc":"2.0","id":"7","error":{"code":-32700,"message":"\xc3\xa9"}}',
    b'{"id":1,"id":2,"jsonrpc":"2.0","method":"m","method":"n"}',
    b'[{"jsonrpc":"2.0","id":3,"method":"m"},{"jsonrpc":"2.0","method":"n"}]',
    b"[]",
    b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 200_000 + b'"}',
    b'{"jsonrpc":"2.0","method":"half',
]
"""Lines that a decoder, a parser or a text stream might change."""

MEMORY = 96 << 20


def odd_bytes() -> st.SearchStrategy[bytes]:
    """Draws unusual and random lines; the last line may lack its newline."""
    line = st.sampled_from(ODD_LINES) | st.binary(max_size=200)
    stream = st.tuples(st.lists(line, max_size=12), st.sampled_from([b"", b"\n"]))
    return stream.map(lambda s: b"\n".join(s[0]) + s[1])


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """Cuts bytes into chunks; the given sizes are used in turn."""
    chunks: list[bytes] = []
    while data:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(data[:size])
        data = data[size:]
    return chunks


SIZES = st.lists(st.integers(1, 70_000) | st.integers(1000, 1100), min_size=1, max_size=4)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(odd_bytes(), odd_bytes(), SIZES, SIZES)
@example(b"\n".join(ODD_LINES), b"\n".join(ODD_LINES[::-1]), [1000], [70_000])
@example(b"", b"", [1], [1])
def test_any_bytes_pass_in_any_chunks(
    to_agent: bytes, to_client: bytes, agent_sizes: list[int], client_sizes: list[int]
) -> None:
    """Through a recorder, client and agent get exactly the bytes that were sent."""
    expect_unchanged(to_agent, to_client, agent_sizes, client_sizes)


def expect_unchanged(
    to_agent: bytes, to_client: bytes, agent_sizes: list[int], client_sizes: list[int]
) -> None:
    """Sends two streams in chunks, and asserts that received and recorded bytes are equal."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "said").write_bytes(to_client)
        with Recorder(ACP_PROXY, directory) as record:
            chat = record(agent("duplex", directory / "said", directory / "heard", *agent_sizes))
            assert chat.exchange(*cut(to_agent, client_sizes)) == to_client
            assert chat.wait() == 0
        assert (directory / "heard").read_bytes() == to_agent
        assert chat.recording.stream("to-agent") == to_agent
        assert chat.recording.stream("to-client") == to_client
        assert chat.recording.field("state") == "complete"
        for raw, newline in chat.recording.rows("select raw, newline from frames"):
            assert newline in ("", "\n", "\r\n")
            assert b"\n" not in raw


SECRET_LINES = [
    b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":[{"name":"m","env":'
    b'[{"name":"API_KEY","value":"Zq81xplKsecR7tv"}]}]}}',
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"is Zq81xpl"}}}}',
    b"connecting with Zq81xplKsecR7tv, or Bearer \xff\xfe",
    b'{"apiKey":"Zq81xplKsecR7tv"',
]
"""Lines that are masked in the recording."""


@settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(SECRET_LINES), max_size=8), odd_bytes(), odd_bytes(), SIZES, SIZES)
def test_no_level_of_masking_changes_the_forwarded_bytes(
    secrets: list[bytes],
    to_agent: bytes,
    to_client: bytes,
    agent_sizes: list[int],
    client_sizes: list[int],
) -> None:
    """At every level of masking, a recorder forwards the bytes unchanged."""
    planted = b"".join(secret + b"\n" for secret in [*SECRET_LINES, *secrets])
    to_agent, to_client = planted + to_agent, planted[::-1] + planted + to_client
    for level in ("none", "secrets", "private"):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            (directory / "said").write_bytes(to_client)
            with Recorder(ACP_PROXY, directory) as record:
                command = agent("duplex", directory / "said", directory / "heard", *agent_sizes)
                chat = record(command, "--redact", level)
                assert chat.exchange(*cut(to_agent, client_sizes)) == to_client
                assert chat.wait() == 0
            assert (directory / "heard").read_bytes() == to_agent
            assert chat.recording.field("redaction") == level
            is_masked = b"Zq81xplKsecR7tv" not in chat.recording.path.read_bytes()
            assert is_masked == (level != "none")


def test_random_lines_are_indexed_while_they_flow(tmp_path: Path) -> None:
    """A recorder stores random lines byte for byte while client and agent continue to send."""
    to_agent, to_client = b"\n".join(ODD_LINES[::-1]) + b"\n", b"\n".join(ODD_LINES) + b"\n"
    (tmp_path / "said").write_bytes(to_client)
    with Recorder(ACP_PROXY, tmp_path) as record:
        chat = record(agent("duplex", tmp_path / "said", tmp_path / "heard", 999))
        chat.run(
            cut(to_agent, [777]),
            until=lambda: chat.written == len(chat.received) == len(to_client),
        )
        chat.catch_up()
        assert chat.exchange(b"and then") == to_client
        assert chat.wait() == 0
        assert not Path(f"{chat.recording.path}.log").exists()
    assert chat.recording.stream("to-agent") == to_agent + b"and then"
    assert chat.recording.stream("to-client") == to_client


@needs_proc
@pytest.mark.slow
def test_a_line_of_64_mb_costs_no_memory(tmp_path: Path) -> None:
    """A recorder needs less than 96 MB of memory for a line of 64 MB."""
    noise = base64.b64encode(random.Random(64).randbytes(3 << 18)) * 64
    to_agent = b'{"jsonrpc":"2.0","method":"m","params":["' + noise + b'"]}\n'
    to_client = b"not json, " * ((64 << 20) // 10) + b"\n"
    (tmp_path / "said").write_bytes(to_client)
    with Recorder(ACP_PROXY, tmp_path) as record:
        chat = record(agent("duplex", tmp_path / "said", tmp_path / "heard"))
        chunks = (to_agent[n : n + CHUNK] for n in range(0, len(to_agent), CHUNK))
        chat.run(
            chunks,
            until=lambda: (chat.written, len(chat.received)) == (len(to_agent), len(to_client)),
        )
        chat.catch_up()
        assert peak_memory(chat.process.pid) < MEMORY
        assert chat.exchange() == to_client
        assert chat.wait() == 0
    assert (tmp_path / "heard").read_bytes() == to_agent
    assert chat.recording.stream("to-agent") == to_agent
    assert chat.recording.stream("to-client") == to_client
    assert chat.recording.rows("select stream from frames where parse_error is not null") == [
        ("to-client",)
    ]
