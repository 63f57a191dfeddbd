"""Masking finds secrets however their text is cut and escaped."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction.needles import COMMANDS
from acp_proxy.redaction.secret_patterns import find, may_hold, tail
from tests.unit.redaction.look_alikes import look_alikes, written
from tests.unit.redaction.secrets_corpus import Planted, loose_secrets, secrets

planted = st.sampled_from([*secrets(), *loose_secrets()])
around = st.sampled_from(["", "so ", "is\n", "é ", "(", "日本 "])
escapes = st.sampled_from(["plain", "slashes", "unicode", "all"])


def as_frame(text: str, how: str) -> bytes:
    """Returns a frame with a text in one of the escapings that peers use."""
    inner = json.dumps(text, ensure_ascii=how != "plain")
    if how == "slashes":
        inner = inner.replace("/", "\\/")
    elif how == "unicode":
        inner = inner.replace("s", "\\u0073").replace("e", "\\u0065").replace("\\u0065\\", "e\\")
    elif how == "all":
        inner = '"' + "".join(f"\\u{ord(c):04x}" for c in text if ord(c) < 0x10000) + '"'
    return f'{{"text":{inner}}}'.encode()


@given(planted, around, around, escapes)
def test_a_line_with_a_secret_is_not_passed_over(
    case: Planted, before: str, after: str, how: str
) -> None:
    """The quick check for secrets finds every line that contains a secret."""
    line = as_frame(before + case.text + " " + after, how)
    assert may_hold(line)


@given(st.lists(st.sampled_from(look_alikes()), max_size=4).map(" ".join), st.booleans())
def test_the_check_of_a_line_agrees_with_the_search(text: str, loose: bool) -> None:
    """The quick check for secrets finds every secret that the full search finds."""
    if find(text, loose=loose):
        assert may_hold(text.encode())
        assert may_hold(json.dumps(text).encode())


@given(planted, around, st.data())
def test_a_secret_in_two_pieces_is_kept_back(
    case: Planted, before: str, data: st.DataObject
) -> None:
    """If a chunk may end within a secret, masking waits for the next chunk."""
    text = before + case.text
    start, end = len(before) + case.start, len(before) + case.end
    split = data.draw(st.integers(0, len(text)))
    kept = tail(text[:split])
    assert kept <= split
    rest = text[kept:]
    ranges = [(match.start + kept, match.end + kept) for match in find(rest, loose=True)]
    if kept >= end:
        ranges = [(match.start, match.end) for match in find(text[:kept], loose=True)]
    assert any(a <= start and end <= b for a, b in ranges) or too_early(text[:split])


def too_early(text: str) -> bool:
    """Whether a text ends before masking can recognize the start of a secret."""
    beginnings = "|".join(word[:end] for word in COMMANDS for end in range(1, len(word)))
    early = rf"(?:^|[^A-Za-z_])[A-Za-z_]{{1,2}}$|curl[^\n]*$|(?:{beginnings})$"
    return re.search(early, text, re.IGNORECASE) is not None


def test_harmless_texts_are_seldom_kept_back() -> None:
    """If harmless texts are cut at a space, masking holds back the end of fewer than 5 in 100."""
    cuts = kept = 0
    for text in list(written())[::5]:
        for place, character in enumerate(text):
            if character == " ":
                cuts += 1
                kept += tail(text[:place]) < place
    assert kept < cuts * 0.05
