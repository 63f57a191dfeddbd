"""If `log` joins chunks in one line, no frame is missing; a shortened text fits its columns."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.limits import SHOWN_LINE
from acp_proxy.base.wording import visible
from acp_proxy.cli.screens.styled_text import clusters, columns_of, fit
from acp_proxy.explain.log.folding import ChunkRun, fold, run_line
from acp_proxy.protocol.chunks import chunk_of
from tests.support.log_writer import line, notification, text, update

Row = dict[str, Any]

MESSAGES = st.one_of(
    st.builds(
        lambda session, kind, words, more: update(session, kind, content=text(words), **more),
        st.sampled_from(["s", "t"]),
        st.sampled_from(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]),
        st.text(st.characters(codec="utf-8"), max_size=5) | st.just("long " * 500),
        st.just({}) | st.fixed_dictionaries({"messageId": st.sampled_from(["a", "b"])}),
    ),
    st.just(update("s", "plan", entries=[])),
    st.just(notification("_other")),
)


@st.composite
def timelines(draw: st.DrawFn) -> list[Row]:
    """Draws rows of a recording: many chunks, and some rows of all other kinds."""
    rows: list[Row] = []
    t_ns = 0
    for seq, message in enumerate(draw(st.lists(MESSAGES, max_size=30)), 1):
        t_ns += draw(st.sampled_from([0, 10**6, 10**10]))
        raw = line(message).rstrip(b"\n")
        if draw(st.integers(0, 9)) == 0:
            rows.append({"seq": seq, "t_ns": t_ns, "kind": "signal", "data": "{}"})
            continue
        rows.append(
            {
                "seq": seq,
                "t_ns": t_ns,
                "t_first_ns": t_ns,
                "size": len(raw),
                "raw": raw,
                "stream": draw(st.sampled_from(["to-client", "to-client", "to-agent"])),
                "kind": "notification",
                "method": message["method"],
                "fault": None,
                "session": message["params"].get("sessionId"),
                "turn": 1,
                "newline": "\n",
                "delivered": draw(st.sampled_from(["full", "full", "full", "partial"])),
            }
        )
    return rows


@given(rows=timelines())
def test_folding_loses_nothing(rows: list[Row]) -> None:
    """If `log` joins chunks, each frame is still in exactly one printed line."""
    left = iter(rows)
    for item in fold(iter(rows)):
        if not isinstance(item, ChunkRun):
            assert item is next(left)
            continue
        members = [next(left) for _ in range(item.count)]
        texts = [chunk.text for row in members if (chunk := chunk_of(row["raw"]))]
        assert item.count == len(texts) > 1
        assert (item.first, item.last) == (members[0], members[-1]["seq"])
        assert item.size == sum(row["size"] for row in members)
        assert item.characters == sum(map(len, texts))
        assert "".join(texts).startswith(item.text)
        assert len(item.text) >= min(item.characters, SHOWN_LINE)
        assert run_line(item).text.isprintable()
    assert next(left, None) is None


@given(rows=timelines(), alone=st.sets(st.integers(1, 30)))
def test_chunks_with_lines_of_their_own_are_not_joined(rows: list[Row], alone: set[int]) -> None:
    """When `log` joins chunks, `fold` joins no frame whose number is in its argument `alone`."""
    items = list(fold(rows, alone))
    for item in items:
        if isinstance(item, ChunkRun):
            assert not alone & set(range(item.first["seq"], item.last + 1))
    singles = [item for item in items if not isinstance(item, ChunkRun)]
    assert all(row in rows for row in singles)


WIDE = st.text(
    st.sampled_from("ab你好한👩💻👍🏽🇩🇪❤\ufe0f\u200d\u0301\u0e33\u093f\u1100\u1161\u11a8")
    | st.characters(codec="utf-8")
)


@given(words=WIDE, columns=st.integers(1, 20))
def test_cut_text_fits(words: str, columns: int) -> None:
    """A text that `log` shortens is not wider than the given columns."""
    shown = visible(words)
    cut = fit(shown, columns)
    assert sum(map(columns_of, clusters(cut))) <= columns
    assert cut == shown or shown.startswith(cut.removesuffix("…"))
    assert "".join(clusters(words)) == words
