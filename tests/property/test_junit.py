"""A JUnit report is valid XML, whatever texts it contains."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.wording import visible
from acp_proxy.cli.screens.junit import Case, Failure, suite

texts = st.text(st.characters(), max_size=20)
"""Texts that may contain half of a surrogate pair."""
lists = st.lists(texts, max_size=3)
failures = st.builds(Failure, texts, texts, lists)
cases = st.builds(
    Case, texts, texts, st.none() | failures, st.none() | st.floats(0, 1e6), st.none() | lists
)


@given(texts, st.lists(cases, max_size=4))
def test_a_suite_is_read_back(name: str, made: list[Case]) -> None:
    """A JUnit report of acp-proxy is valid XML with the name and failure of each test case."""
    root = ET.fromstring(suite(name, made).encode())
    assert root.get("name") == visible(name)
    assert root.get("tests") == str(len(root)) == str(len(made))
    assert root.get("failures") == str(len([*root.iter("failure")]))
    for element, case in zip(root, made, strict=True):
        assert element.get("name") == visible(case.name)
        assert element.get("classname") == visible(case.classname)
        assert (element.get("time") is None) == (case.seconds is None)
        assert (element.find("system-out") is None) == (case.output is None)
        failure = element.find("failure")
        assert (failure is None) == (case.failure is None)
        if failure is not None and case.failure is not None:
            assert failure.get("message") == visible(case.failure.message)
            assert (failure.text or "") == "\n".join(map(visible, case.failure.lines))
