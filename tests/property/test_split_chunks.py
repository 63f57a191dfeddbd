"""The cache of the previous chunk does not change how the next chunk is parsed."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.protocol.chunks import ChunkReader, ChunkSplitter, chunk_of, split

_WORDS = st.text(st.characters(codec=None), max_size=8) | st.sampled_from(
    ['"', '\\"', '","text":"', "\\", "\n", '"}', "text", "\ud800", "é"]
)


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """Draws a text chunk, or a line that resembles a chunk."""
    content = {"type": draw(st.sampled_from(["text", "image"])), "text": draw(_WORDS)}
    update = {"sessionUpdate": draw(st.sampled_from(["agent_message_chunk", "plan"]))}
    if draw(st.booleans()):
        update["_meta"] = draw(_WORDS)
    params = {"sessionId": "s", "update": {**update, "content": content}}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    raw = json.dumps(message, ensure_ascii=draw(st.booleans())).encode(errors="surrogatepass")
    if draw(st.booleans()):
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(st.binary(max_size=3)) + raw[at + draw(st.integers(0, 3)) :]
    return raw


@given(st.lists(lines(), max_size=12))
def test_the_cache_does_not_change_the_result(raws: list[bytes]) -> None:
    """The cache for similar chunks does not change how acp-proxy parses a line."""
    splitter, reader = ChunkSplitter(), ChunkReader()
    for raw in raws:
        assert splitter.split(raw) == split(raw)
        assert reader.read(raw) == chunk_of(raw)
