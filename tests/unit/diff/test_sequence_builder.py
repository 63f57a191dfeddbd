"""`diff` compares very long texts to the last word without keeping them in memory."""

from __future__ import annotations

import json

from acp_proxy.diff.diff_result import Counts
from tests.support.cases import each_case
from tests.support.scenario_runs import Run, compare

LENGTH = 280_000
"""The length of a text whose beginning is dropped before its end comes."""


def said(number: int, text: str, size: int) -> Run:
    """Returns a run with one text in pieces of a given size."""
    return Run(number).words(*(text[k : k + size] for k in range(0, len(text), size))).end()


@each_case("word", ["word ", "w"], ids=["words", "no space"])
@each_case(
    "place",
    [0, LENGTH // 2, 262_143, 262_144, 262_145, LENGTH - 1],
    ids=lambda place: f"at {place}",
)
def test_one_letter_is_one_change(word: str, place: int) -> None:
    """If one letter of a text of hundreds of thousands changes, `diff` reports one change."""
    text = (word * LENGTH)[:LENGTH]
    other = f"{text[:place]}X{text[place + 1 :]}"
    result, (entry,) = compare(said(0, text, 4000), said(1, other, 4000))
    assert result.counts == Counts(changed=1)
    assert [field.pointer for field in entry.fields] == ["/params/update/content/text"]
    assert (entry.fields[0].a, entry.fields[0].b) == (text, other)


@each_case("size", [999, 5000, 262_144, LENGTH])
@each_case("word", ["word ", "w", "你 "], ids=["words", "no space", "wide"])
def test_pieces_of_any_size_are_one_text(word: str, size: int) -> None:
    """`diff` finds no difference between equal long texts, whatever the size of their chunks."""
    text = (word * LENGTH)[:LENGTH]
    assert compare(said(0, text, 4000), said(1, text, size))[0].is_equal


def test_a_text_that_goes_on_is_another() -> None:
    """`diff` reports any addition to the end of a long text, such as a space."""
    text = "word " * (LENGTH // 5)
    for more in (" ", "word ", text):
        result, _ = compare(said(0, text, 4000), said(1, text + more, 4000))
        assert result.counts == Counts(changed=1)


def test_working_directories_have_names_in_a_long_text() -> None:
    """In a long text, `diff` ignores a changed working directory, but no changed path below it."""
    a, b = (said(n, f"in {Run(n).cwd}/x we " * (LENGTH // 20), 4000) for n in (0, 1))
    assert compare(a, b)[0].is_equal
    a, b = (said(n, f"in {Run(n).cwd}/{'xy'[n]} we " * (LENGTH // 20), 4000) for n in (0, 1))
    assert compare(a, b)[0].counts == Counts(changed=1)


def test_half_a_character_may_end_a_part() -> None:
    """`diff` reports no change of a long text even if a chunk of B ends within a character."""
    text = "\U0001f600" * LENGTH
    units = text.encode("utf-16-le")
    halves = [
        units[k : k + 8002].decode("utf-16-le", "surrogatepass") for k in range(0, len(units), 8002)
    ]
    cut = Run(1).words(*halves)
    cut.said = [(stream, json.dumps(message)) for stream, message in cut.said]
    assert compare(said(0, text, 4000), cut.end())[0].is_equal
