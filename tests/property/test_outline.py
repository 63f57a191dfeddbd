"""The labels of a large line are read from its first and last bytes."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.outline import read_outline
from tests.support.strategies import messages, shuffled

MARK = "\U0001f4a5"
"""The text that stands for the large string until the line is complete."""

PIECES = ("a", "\\", '"', "{", "}", "[", ",", ":", "\n", "é", "\U0001f600", "null", ', "id": 7}')


@st.composite
def lines(draw: st.DrawFn) -> tuple[bytes, int]:
    """Draws a line with one large string, and the number of bytes at both ends that are read."""
    message = draw(messages)
    if isinstance(params := message.get("params"), dict):  # an id is a scalar
        assume(not isinstance(params.get("requestId"), dict | list))
    places = [message, *_containers(message)]
    place = draw(st.sampled_from(places))
    if isinstance(place, list):
        place.insert(draw(st.integers(0, len(place))), MARK)
    elif place is message and draw(st.booleans()) and not message.keys() & {"method"}:
        message["error" if "error" in message else "result"] = MARK
    else:
        place[draw(st.sampled_from(["text", "", "z"]))] = MARK
    text = json.dumps(draw(shuffled(message)), ensure_ascii=False)
    before, after = (part.encode() for part in text.split(MARK))
    edge = max(len(before), len(after)) + draw(st.integers(0, 3))
    filling = json.dumps("".join(draw(st.lists(st.sampled_from(PIECES), min_size=1))))[1:-1]
    large = filling.encode() * (1 + 3 * edge // len(filling)) + draw(st.sampled_from([b"", b"x"]))
    return before + large + after, edge


def _containers(value: Any) -> list[Any]:
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    below = [container for v in inner for container in _containers(v)]
    return [*(v for v in inner if isinstance(v, dict | list)), *below]


@given(lines())
def test_edges_give_the_labels_of_the_line(line: tuple[bytes, int]) -> None:
    """If most of a long line is one string, a recorder reads all its labels from its two ends."""
    raw, edge = line
    assert read_outline(raw[:edge], raw[-edge:]) == evolve(read(raw), raw=None)
