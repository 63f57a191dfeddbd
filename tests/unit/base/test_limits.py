"""Size limits that several rooms share are in one module that everything may import."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[3] / "acp_proxy"
BODY = ast.parse((PACKAGE / "base/limits.py").read_text(encoding="utf-8")).body[1:]
NAMES = [ast.unparse(line.targets[0]) for line in BODY if isinstance(line, ast.Assign)]


def test_each_limit_is_explained() -> None:
    """The module `base/limits.py` imports nothing, and each of its limits has a docstring."""
    assert [type(line) for line in BODY] == [ast.Assign, ast.Expr] * len(NAMES)


@pytest.fixture(scope="module")
def used() -> set[str]:
    """Returns the limits that other modules import."""
    texts = (path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    imported = re.compile(r"from acp_proxy\.base\.limits import (\([^)]*\)|.*)")
    imports = (names for text in texts for names in imported.findall(text))
    return {word for names in imports for word in re.findall(r"\w+", names)}


@pytest.mark.parametrize("name", NAMES)
def test_each_limit_is_used(name: str, used: set[str]) -> None:
    """Every size limit in `base/limits.py` is imported by at least one module."""
    assert name in used
