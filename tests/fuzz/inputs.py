"""Draws inputs for targets with Hypothesis: mutated seeds, and random words and bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fuzz.target import Target

COMMON = (b"\0", b"\xff", b"\n", b"\r\n", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0",
          b"-1", b"9" * 20, b"1e999", b"null", b"NaN", b"\\ud800", b"\xed\xa0\x80", b"\xf5acp",
          b"\x7f\xff\xff\xff", b"\x80\0\0\0", " é你\u2028".encode())  # fmt: skip
_MOST_SEEDS = 64


def inputs(target: Target) -> st.SearchStrategy[bytes]:
    """Draws inputs for a fuzz target."""
    seeds = [seed for seed in target.seeds() if len(seed) <= target.longest]
    chosen = seeds[:: max(1, len(seeds) // _MOST_SEEDS)]
    pieces = st.binary(max_size=8) | st.sampled_from(COMMON + target.words)
    made = st.lists(pieces, max_size=40).map(b"".join)
    return (made | mutated(chosen, pieces)).map(lambda data: data[: target.longest])


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes], pieces: st.SearchStrategy[bytes]) -> bytes:
    """Draws a seed in which parts are replaced, removed, repeated or joined with another seed."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        match draw(st.integers(0, 4)):
            case 0 | 1:
                data[start:end] = draw(pieces)
            case 2:
                data[start:end] = b""
            case 3:
                data[start:end] = data[start:end] * draw(st.integers(2, 40))
            case _:
                data[start:] = draw(st.sampled_from(seeds))[start:]
    return bytes(data)
