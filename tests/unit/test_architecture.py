"""The rules of docs/architecture.md hold, and each check finds what breaks its rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import architecture
from tests.architecture import Source

if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def source() -> Source:
    """The package as it is."""
    return Source(ROOT)


def table() -> dict[str, tuple[str, ...]]:
    """What each room may import, as the manual has it."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## What may import what")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    return {re.findall("`(.+?)`", room)[0]: tuple(re.findall("`(.+?)`", of)) for room, of in rows}


def test_imports_point_down(source: Source) -> None:
    """Each room imports only what the manual's table allows it."""
    assert architecture.wrong_arrows(source, table()) == []


def test_the_table_has_an_order() -> None:
    """Rooms stand above all that they import, so the arrows of the table make no circle."""
    seen: set[str] = set()
    for room, imports in table().items():
        assert set(imports) <= seen, room
        seen.add(room)


def test_no_modules_import_each_other(source: Source) -> None:
    """There is no circle of imports, not even of lazy ones or of imports for types."""
    assert architecture.circles(source) == []


@pytest.fixture
def plant(tmp_path: Path) -> Callable[..., Source]:
    """Makes a package of modules, each given by its path and text."""

    def make(**modules: str) -> Source:
        for name, text in modules.items():
            path = tmp_path / "acp_proxy" / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for directory in (tmp_path / "acp_proxy", *(tmp_path / "acp_proxy").rglob("*")):
            if directory.is_dir():
                (directory / "__init__.py").touch()
        return Source(tmp_path)

    return make


ALLOWED = {"low": (), "high": ("low",), "errors": ()}


@pytest.mark.parametrize(
    "second",
    [
        "from acp_proxy.low.a import x",
        "def f():\n    from acp_proxy.low import a",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    import acp_proxy.low.a",
    ],
)
def test_a_circle_is_found(plant: Callable[..., Source], second: str) -> None:
    """At the top of a module, in a function and for types alike."""
    source = plant(low__a="from acp_proxy.low.b import x", low__b=second)
    assert architecture.circles(source) == ["acp_proxy.low.a <-> acp_proxy.low.b"]


def test_a_wrong_arrow_is_found(plant: Callable[..., Source]) -> None:
    """A room may import what the table allows it, and itself."""
    source = plant(
        low__a="from acp_proxy.high.b import x",
        high__b="from acp_proxy.low.c import x\nfrom acp_proxy.high.d import y",
        low__c="from acp_proxy import errors",
        high__d="",
        errors="",
        other="",
    )
    assert architecture.wrong_arrows(source, ALLOWED) == [
        "acp_proxy.low.a imports acp_proxy.high.b: low may not import high",
        "acp_proxy.low.c imports acp_proxy.errors: low may not import errors",
        "acp_proxy.other is in no room of the table",
    ]


def test_a_class_name_that_two_modules_use_is_found(plant: Callable[..., Source]) -> None:
    """Private classes may be called alike."""
    source = plant(low__a="class A: ...\nclass _B: ...", low__b="class A: ...\nclass _B: ...")
    assert architecture.shared_class_names(source) == ["A: acp_proxy.low.a, acp_proxy.low.b"]


def test_an_old_name_is_found(plant: Callable[..., Source]) -> None:
    """As a word of any name, however it is written; not within another word."""
    source = plant(low__stage="", low__a="class OldStage: ...\nbackstage = 1\nstages = 2")
    assert architecture.old_names(source, ["stage"]) == [
        "acp_proxy.low.a:1 uses OldStage",
        "acp_proxy.low.stage:0 uses stage",
    ]


def test_a_module_without_tests_is_found(plant: Callable[..., Source], tmp_path: Path) -> None:
    """A module of a docstring alone needs none; an entry that is not needed is found as well."""
    source = plant(low__a="x = 1", low__b="x = 1", low__c="x = 1", low__d='"""Nothing."""')
    tests = tmp_path / "tests" / "unit"
    (tests / "low").mkdir(parents=True)
    (tests / "low" / "test_a.py").touch()
    elsewhere = {"low/a": "unit/low/test_a.py", "low/b": "unit/test_none.py", "gone": "unit"}
    assert architecture.untested(source, tests, elsewhere) == [
        "low/a has tests of its own, and needs no entry",
        "low/b is tested by unit/test_none.py, which does not exist",
        "low/c has no unit/low/test_c.py",
        "gone does not exist",
    ]


def test_an_argument_that_is_not_explained_is_found(plant: Callable[..., Source]) -> None:
    """Private functions and functions with one parameter need no explanation."""
    source = plant(
        low__a='''
def f(a, b):
    """Adds.

    Args:
        a: the first.
    """

def g(a): ...

def _h(a, b): ...
'''
    )
    assert architecture.undocumented_arguments(source) == ["acp_proxy.low.a:2 f does not explain b"]
