"""The helper that checks all cases of a table in one test."""

from __future__ import annotations

import inspect

import pytest

from tests.support.cases import each_case


def test_every_case_is_checked() -> None:
    """A test with `each_case`, a table of cases, is called with each case and its fixtures."""
    calls = []

    @each_case("a", [1, pytest.param(2, id="two")])
    @each_case(("b", "c"), [(3, 4), (5, 6)])
    def test(a: int, b: int, c: int, fixture: str) -> None:
        calls.append((a, b, c, fixture))

    assert [*inspect.signature(test).parameters] == ["fixture"]
    test(fixture="f")
    assert calls == [(1, 3, 4, "f"), (1, 5, 6, "f"), (2, 3, 4, "f"), (2, 5, 6, "f")]


def test_all_cases_that_fail_are_named() -> None:
    """If two of three cases of an `each_case` table fail, the error names these two."""

    @each_case("number", [1, 2, 3], ids=lambda number: f"case {number}")
    def test(number: int) -> None:
        with pytest.raises(ValueError, match="odd"):
            raise ValueError("odd" if number == 2 else "even")

    with pytest.raises(ExceptionGroup, match="2 of 3 cases failed: case 1; case 3") as caught:
        test()
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["in the case case 1"],
        ["in the case case 3"],
    ]


def test_a_case_that_raises_nothing_fails() -> None:
    """A case of an `each_case` table fails if `pytest.raises` in it gets no error."""

    @each_case("text", ["1", "x"])
    def test(text: str) -> None:
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases failed: '1'"):
        test()


def test_a_table_needs_cases_without_marks() -> None:
    """`each_case` refuses a table without cases, and a case that has a pytest mark."""
    with pytest.raises(AssertionError, match="expected cases for a"):
        each_case("a", [])
    with pytest.raises(AssertionError, match="a test of its own"):
        each_case("a", [pytest.param(1, marks=pytest.mark.soak)])
