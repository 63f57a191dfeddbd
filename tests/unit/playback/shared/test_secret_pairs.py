"""Playback compares texts that contain markers, and pairs each marker with a live secret."""

from __future__ import annotations

import time

from acp_proxy.playback.shared.secret_pairs import SecretPair, SecretPairs, has_secret, pairs_in
from tests.support.cases import each_case

A, B = (f"[redacted:token:0000000{letter}]" for letter in "ab")
X, Y = "[redacted:env:00000001]", "[redacted:key:00000002]"


@each_case(
    ("recorded", "live", "expected"),
    [
        (A, X, [("0000000a", "00000001")]),
        (A, "any", [("0000000a", "=any")]),
        (A, "", None),
        (A, f"{X}!", [("0000000a", f"={X}!")]),
        (f"use {A} now", f"use {X} now", [("0000000a", "00000001")]),
        (f"use {A} now", f"use {X} later", None),
        (f"use {A} now", "use  now", None),
        (f"{A}{B}", f"{X}{Y}", [("0000000a", "00000001"), ("0000000b", "00000002")]),
        (f"{A}:{B}", f"{X}:{Y}", [("0000000a", "00000001"), ("0000000b", "00000002")]),
        (f"{A} a {A}", "1 a 2", [("0000000a", "=1"), ("0000000a", "=2")]),
        ("no marker", "no marker", None),
    ],
)
def test_a_marker_matches_what_stands_in_its_place(
    recorded: str, live: str, expected: list[tuple[str, str]] | None
) -> None:
    """In a replay, the marker of a secret matches any text in its place, but no empty text."""
    result = pairs_in(recorded, live, "/p")
    assert (result is None) == (expected is None)
    assert [(item.recorded, item.live) for item in result or ()] == (expected or [])


def test_a_text_in_place_of_a_marker_is_not_shown() -> None:
    """A replay does not show the live text that stands in place of a marker."""
    assert pair(A, "hunter2").shown == "(a text)"


def test_many_markers_take_no_long_time() -> None:
    """A replay compares a text with a thousand markers in less than a second."""
    began = time.perf_counter()
    assert pairs_in(f"{A} " * 1000 + "z", "a " * 100_000, "/p") is None
    assert time.perf_counter() - began < 1


def pair(recorded: str, live: str) -> SecretPair:
    """A pair of two markers."""
    result = pairs_in(recorded, live, "/p")
    assert result is not None
    return result[0]


def test_pairs_are_one_to_one() -> None:
    """In a replay, a marker stands for one live secret only, and a live secret for one marker."""
    pairs = SecretPairs()
    assert not pairs.contradicts(pair(A, X), [])
    assert pairs.contradicts(pair(A, Y), [pair(A, X)])
    assert pairs.contradicts(pair(B, X), [pair(A, X)])
    pairs.add(pair(A, X))
    assert not pairs.contradicts(pair(A, X), [])
    assert pairs.contradicts(pair(A, Y), [])
    assert pairs.contradicts(pair(B, X), [])
    assert not pairs.contradicts(pair(B, Y), [])


def test_a_recorded_marker_stands_for_itself_besides() -> None:
    """If a replay of a masked recording sends a marker, the same marker from the peer matches."""
    echoed, own = SecretPairs(), SecretPairs(are_echoed=False)
    for pairs in (echoed, own):
        pairs.add(pair(A, X))
    assert not echoed.contradicts(pair(A, A), [])
    assert own.contradicts(pair(A, A), [])


def test_only_a_text_with_a_marker_has_a_secret() -> None:
    """acp-proxy recognizes only a complete marker as a masked secret."""
    assert has_secret(f"a {A}")
    assert not any(has_secret(value) for value in ("a", "[redacted:", 1, None, [A]))
