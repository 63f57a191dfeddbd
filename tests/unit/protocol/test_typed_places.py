"""The places of ids and paths are found in a line, and only they are changed."""

from __future__ import annotations

from acp_proxy.protocol.typed_places import Place, Places, Span, spans, splice
from tests.support.cases import each_case

PLACES: Places = {
    "id": Place.ID,
    "params": {"path": Place.PATH, "list": {"*": {"uri": Place.URI}}, "all": {"*": Place.ROOT}},
}


def places_in(text: str) -> list[tuple[str, Place]]:
    """Returns the text and the kind of each typed value in a line."""
    return [(text[span.start : span.end], span.place) for span in spans(text, PLACES)]


@each_case(
    ("text", "expected"),
    [
        ('{"id":1}', [("1", Place.ID)]),
        ('\t{ "id" : "a\\"b" , "x":{"id":2} }', [('"a\\"b"', Place.ID)]),
        ('{"params":{"path":null,"other":{"path":"no"}}}', [("null", Place.PATH)]),
        ('{"\\u0069d":1e3}', [("1e3", Place.ID)]),
        ('{"id":1,"id":2}', [("1", Place.ID), ("2", Place.ID)]),
        ('{"params":{"list":[{"uri":"a"},3,{"x":[],"uri":"b"}]}}',
         [('"a"', Place.URI), ('"b"', Place.URI)]),
        ('{"params":{"all":["a","b"]}}', [('"a"', Place.ROOT), ('"b"', Place.ROOT)]),
        ('{"params":[{"path":"no"}]}', []),
        ("[]", []), ("{}", []), ("3", []), ("", []), ('{"id":', []), ('{"id" 1}', []),
        ('{"id":1}}', []), ('{"id":1} x', []), ('{"id":1,}', []), ('{"id":1 "x":2}', []),
        ('{"x"={},"id":1}', []), ('{id":1}', []), ('{"id":1} \r', [("1", Place.ID)]),
        ("{'id':1}", []), ('{"params":{"path":"a"}', []), ("[" * 100000, []),
    ],
)  # fmt: skip
def test_places_are_where_they_are_written(text: str, expected: list[tuple[str, Place]]) -> None:
    """acp-proxy finds ids and paths in a JSON line, even if the member names are escaped."""
    assert places_in(text) == expected


def test_a_replacement_changes_its_place_alone() -> None:
    """If a replay replaces ids and paths in a line, it leaves all other text as it is."""
    text = ' {"a" : 1e3, "id" : 7 ,"b":"\\u0041", "params":{"path":"x"}} '
    new = splice(text, [(span, f"<{span.place.value}>") for span in spans(text, PLACES)])
    assert new == ' {"a" : 1e3, "id" : <id> ,"b":"\\u0041", "params":{"path":<path>}} '


def test_the_text_between_places_can_be_changed() -> None:
    """`splice` replaces ids in a line, and applies a given function to the text between them."""
    assert splice("axbxc", [(Span(1, 2, Place.ID), "-")], str.upper) == "A-BXC"


def test_without_places_nothing_is_changed() -> None:
    """If a line has no ids and paths, a replay sends the line unchanged."""
    assert splice("{}", []) == "{}"
