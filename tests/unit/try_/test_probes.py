"""Tests the list of probes of `try --probe`, and how expected answers are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attrs import fields

from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.try_ import probes as module
from acp_proxy.try_.forms import filled
from acp_proxy.try_.probes import Probe, ProbeStep, misfit, probes
from tests.support.cases import each_case

DATA = json.loads(Path(module.__file__).with_name("probes.json").read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[3] / "docs" / "probes.md"


def test_the_data_file_has_no_unknown_member() -> None:
    """A misspelt JSON member in the list of probes of `try --probe` is an error."""
    names = {field.name for field in fields(Probe)}
    of_steps = {field.name for field in fields(ProbeStep)}
    for probe in DATA:
        assert {*probe} <= names
        for step in probe.get("steps", ()):
            assert {*step} <= of_steps
            assert len({"request", "notify", "send"} & {*step}) == 1


def test_each_probe_is_complete() -> None:
    """In the list of probes of `try --probe`, each is complete and comes after those it needs."""
    ids = [probe.id for probe in probes()]
    assert len({*ids}) == len(ids) >= 30
    for number, probe in enumerate(probes()):
        assert probe.text.endswith(".")
        assert probe.source
        assert probe.severity in ("error", "warning")
        assert probe.rank in (0, 1, 2)
        assert {*probe.dialects} <= {V1, V2, DRAFT}
        assert probe.after in (None, *ids[:number])
        assert all(step.cancel in (None, "at-once", "first-update") for step in probe.steps)
    assert [probe.id for probe in probes() if probe.opens] == ["initialize", "session-new"]
    assert sum(probe.prompts for probe in probes()) == 4


def test_the_page_lists_all_probes() -> None:
    """The manual page about `try --probe` lists all probes."""
    rows = [f"| `{probe.id}` | {probe.text} | {probe.severity} |" for probe in probes()]
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    first = lines.index(rows[0])
    assert lines[first : first + len(rows) + 1] == [*rows, ""]


def test_names_are_replaced_wherever_they_are() -> None:
    """In a probe of `try --probe`, a value that is a name in braces, as `{cwd}`, is filled in."""
    value = {"a": ["{cwd}", "b{cwd}"], "c": "{new}"}
    known = {"cwd": "/w", "new": {"x": 1}}
    assert filled(value, known) == {"a": ["/w", "b{cwd}"], "c": {"x": 1}}


@each_case(
    ("form", "value", "words"),
    [
        ({"result": {"n": [1, 2]}}, {"result": {"n": 2}}, None),
        ({"result": {"n": [1, 2]}}, {"result": {"n": 3}}, "result.n is 3, not 1 or 2"),
        ({"result": {"n": [1]}}, {"result": {"n": True}}, "result.n is true, not 1"),
        ({"result": {"n": [1]}}, {"result": {}}, "result.n is missing, not 1"),
        ({"id": [None]}, {"id": None}, None),
        ({"error": {"code": "integer"}}, {"error": 5}, "error is 5"),
        ({"error": {"code": "integer"}}, {"error": {"code": True}},
         "error.code is true, not of type integer"),
        ({"result": "object?"}, {"result": None}, None),
        ({"result": "object?"}, {"result": []}, "result is [], not of type object"),
        ({"id": {"not": "a"}}, {"id": "b"}, None),
        ({"id": {"not": "a"}}, {"id": "a"}, 'id is "a" again'),
        ({}, {"result": 1}, None),
        ({"id": "string"}, {"id": "x" * 500}, None),
    ],
)  # fmt: skip
def test_a_form_fits_or_says_how_not(form: Any, value: Any, words: str | None) -> None:
    """If a probe of `try --probe` fails, its message names the first JSON member that differs."""
    assert misfit(form, value) == words


def test_long_values_are_cut() -> None:
    """`try --probe` shortens a long value in its messages."""
    assert len(misfit({"id": [1]}, {"id": "x" * 500}) or "") < 200
