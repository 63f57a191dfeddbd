"""`search` finds the same frames as a simple search, however texts are cut and escaped."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.explain.search.search import Searcher
from acp_proxy.explain.search.search_patterns import Pattern
from acp_proxy.recording.recording import StoredFrame

LETTERS = st.sampled_from(
    ["a", "b", "A", "é", "É", '"', "\\", "\n", "你", "😀", "s", "\u017f", " "]
)
texts = st.lists(st.text(LETTERS, max_size=6), min_size=1, max_size=8)
needles = st.text(LETTERS, min_size=1, max_size=5)
PATTERNS = ("a+b", "[ab]é", "(a|b)(A|s)", "^a", "b$", r"a\Z", r"\n.", "b(?=a)", "(?<!a)b", r"\bs")


def escaped(value: str, choices: list[int]) -> str:
    """Returns a JSON string in which some characters have unnecessary escapes."""
    written = []
    for n, character in enumerate(value):
        if choices[n % len(choices)]:
            units = character.encode("utf-16-be")
            written += [f"\\u{units[k : k + 2].hex()}" for k in range(0, len(units), 2)]
        else:
            written.append(json.dumps(character, ensure_ascii=choices[0] == 2)[1:-1])
    return f'"{"".join(written)}"'


def chunk(seq: int, text: str, choices: list[int]) -> StoredFrame:
    """Returns the frame of a chunk of text."""
    raw = (
        '{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":'
        f'"agent_message_chunk","content":{{"type":"text","text":{escaped(text, choices)}}}}}}}}}'
    )
    known = ("to-client", "notification", "session/update", None, "s", None, None, None)
    return StoredFrame(seq, 0, *known, len(raw), raw.encode())


def found_by(pattern: Pattern, frames: list[StoredFrame]) -> list[int]:
    """Returns the numbers of the frames that `search` finds."""
    searcher = Searcher(pattern)
    hits = [hit.place.seq for f in frames for hit in searcher.feed(f)]
    return hits + [hit.place.seq for hit in searcher.finish()]


def found_naively(pattern: Pattern, pieces: list[str], frames: list[StoredFrame]) -> list[int]:
    """Returns the numbers of the frames that a simple search finds.

    A text that continues over several frames counts for the frame where the match begins. Only a
    pattern with the form of a name matches names of members, methods and types.
    """
    whole, starts, start = "".join(pieces), [], 0
    for text, frame in zip(pieces, frames, strict=True):
        assert frame.raw is not None
        line = frame.raw.decode()
        names = ["2.0", "jsonrpc", "method", "session/update", "params", "update", "sessionUpdate",
                 "agent_message_chunk", "content", "type", "text"]  # fmt: skip
        if not re.search(r'["/_]|[a-z][A-Z]', pattern.regex.pattern):
            for name in names:
                line = line.replace(f'"{name}"', '""')
            names = []
        match = pattern.regex.search(whole, start) if text else None
        begins = match is not None and match.start() < start + len(text)
        if begins or any(pattern.regex.search(s) for s in (line, text, *names)):
            starts.append(frame.seq)
        start += len(text)
    return starts


@given(texts, needles, st.lists(st.integers(0, 2), min_size=1, max_size=5), st.booleans())
def test_a_text_is_found_exactly_where_it_is(
    pieces: list[str], needle: str, choices: list[int], ignore_case: bool
) -> None:
    """`search` for a text finds exactly the frames in which the text begins."""
    pattern = Pattern(needle, ignore_case=ignore_case)
    frames = [chunk(n, text, choices) for n, text in enumerate(pieces, 1)]
    assert found_by(pattern, frames) == found_naively(pattern, pieces, frames)


@given(
    texts, st.sampled_from(PATTERNS), st.lists(st.integers(0, 2), min_size=1, max_size=5),
    st.booleans(),
)  # fmt: skip
def test_a_regular_expression_is_found_exactly_where_it_matches(
    pieces: list[str], source: str, choices: list[int], ignore_case: bool
) -> None:
    """`search` for a regular expression finds exactly the frames in which a match begins."""
    pattern = Pattern(source, is_regex=True, ignore_case=ignore_case)
    frames = [chunk(n, text, choices) for n, text in enumerate(pieces, 1)]
    assert found_by(pattern, frames) == found_naively(pattern, pieces, frames)


@given(texts, needles, st.integers(1, 9))
def test_the_size_of_the_search_window_does_not_matter(
    pieces: list[str], needle: str, full: int
) -> None:
    """`search` finds the same frames, however much text it keeps in memory at a time."""
    pattern = Pattern(needle, ignore_case=True)
    frames = [chunk(n, text, [0]) for n, text in enumerate(pieces, 1)]
    searcher = Searcher(pattern)
    searcher._streams._full = full
    hits = [hit.place.seq for f in frames for hit in searcher.feed(f)]
    hits += [hit.place.seq for hit in searcher.finish()]
    assert hits == found_naively(pattern, pieces, frames)
