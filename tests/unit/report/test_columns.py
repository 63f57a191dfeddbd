"""Columns of any values come back as they were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.report.columns import Texts, differences, number_codes, planes
from tests.report_data import column, numbers

ANY = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1, 2**62, 127, 128])


@given(st.lists(ANY))
def test_numbers_come_back(values: list[int | None]) -> None:
    """Null, negative numbers, and those of 64 bits, plain and as differences."""
    width, data = planes(number_codes(values))
    assert len(data) == width * len(values)
    assert numbers(column(data, width, len(values))) == values
    width, data = planes(number_codes([*differences(values)]))
    assert numbers(column(data, width, len(values)), are_differences=True) == values


def test_a_column_is_as_wide_as_its_largest_number() -> None:
    """A column of nulls has no bytes; small numbers have one, whatever their sign."""
    assert planes(number_codes([None, None])) == (0, b"")
    assert planes(number_codes([None, 0, -1, 1])) == (1, bytes([0, 1, 2, 3]))
    assert planes(number_codes([126, -127])) == (1, bytes([253, 254]))
    assert planes([256, 1]) == (2, bytes([0, 1, 1, 0]))
    assert planes([]) == (0, b"")


@given(st.lists(st.lists(st.none() | st.text())))
def test_each_text_is_once_in_the_list(chunks: list[list[str | None]]) -> None:
    """Texts come in the order in which they occur first; their places are their codes."""
    texts, found = Texts(), list[str]()
    for values in chunks:
        codes = texts.codes(values)
        found += texts.take_new()
        assert [found[code - 1] if code else None for code in codes] == values
    assert len(found) == len({*found}) == len(texts)
