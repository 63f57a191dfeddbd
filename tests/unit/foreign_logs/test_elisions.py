"""Unit tests of the reading of JSON from which a person has left something out."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.foreign_logs.elisions import mend_elisions
from acp_proxy.protocol.json_text import ELIDED, has_elisions

_DOTS = {ELIDED: ELIDED}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{...}", _DOTS),
        ("[...]", [ELIDED]),
        ("[1, …]", [1, ELIDED]),
        ('{"id":2,"method":"session/new",...}', {"id": 2, "method": "session/new", **_DOTS}),
        ('{"v":1,"caps":{...},"info":{"name":"a",...}}',
         {"v": 1, "caps": _DOTS, "info": {"name": "a", **_DOTS}}),
        ('{"params": ..., "id": 3}', {"params": ELIDED, "id": 3}),
        ('{"a":1 ...}', {"a": 1, **_DOTS}),
        ('{"a":1...}', {"a": 1, **_DOTS}),
        ('{... "a":1}', {"a": 1, **_DOTS}),
        ('{...,"a":1,...,"b":2,...}', {"a": 1, "b": 2, **_DOTS}),
        ("[...,1,...]", [ELIDED, 1]),
        ('{\n  "a": [\n    ...\n  ],\n  ......\n}\n', {"a": [ELIDED], **_DOTS}),
    ],
)  # fmt: skip
def test_dots_stay_to_be_seen(text: str, value: Any) -> None:
    """Dots outside of strings become a member or a value; an object has one such member."""
    mended = mend_elisions(text)

    assert mended is not None
    assert json.loads(mended, object_pairs_hook=_without_twins) == value
    assert has_elisions(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"..."}', '{"a":1}', "...", "", '{"a"...}', '{"a":1,...,}', "{,...}", '{"a":1} ...',
        '{"a":1,... b: 2}', "{... ", "[...}", '{"a":...}}', "{" * 600 + "...", "[...] [1]",
        "... ]", '"a"...',
    ],
)  # fmt: skip
def test_other_texts_are_not_mended(text: str) -> None:
    """What needs no mending, or is no JSON but for the dots, gives nothing."""
    assert mend_elisions(text) is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(st.dictionaries(st.text().filter(lambda name: name != ELIDED), _VALUES))
def test_the_rest_of_an_object_is_kept(value: dict[str, Any]) -> None:
    """All that stands beside the dots is read as it is written."""
    text = json.dumps(value, indent=1)
    with_dots = f"{text[:-1]}{',' if value else ''} ... }}"

    mended = mend_elisions(with_dots)

    assert mended is not None
    assert json.loads(mended) == {**value, **_DOTS}


@given(st.text('{}[]:,."1 \\\n…a'))
def test_what_is_mended_is_json(text: str) -> None:
    """Whatever the text is, the result is JSON without a member twice, or nothing."""
    mended = mend_elisions(text)

    if mended is not None:
        json.loads(mended, object_pairs_hook=_without_twins if '"' not in text else None)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)
