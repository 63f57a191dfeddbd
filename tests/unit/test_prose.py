"""The check of English finds bad sentences, and accepts good sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.tools.prose import NAMES, PATTERNS, Pattern, hits_of

if TYPE_CHECKING:
    from pathlib import Path


def found_in(directory: Path, docstring: str, name: str = "test_x") -> list[str]:
    """Returns the names of the patterns that the check of English finds in a docstring."""
    path = directory / "module.py"
    path.write_text(f'def {name}() -> None:\n    """{docstring}"""\n', encoding="utf-8")
    return [hit.why for hit in hits_of(path)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_each_pattern_tells_its_examples_apart(pattern: Pattern, tmp_path: Path) -> None:
    """Each pattern of `tests.tools.prose` finds its bad example, and not its good example."""
    assert pattern.name in found_in(tmp_path, pattern.bad)
    assert found_in(tmp_path, pattern.good) == []


@pytest.mark.parametrize("name", NAMES)
def test_each_name_that_says_nothing_is_found(name: str, tmp_path: Path) -> None:
    """`tests.tools.prose` reports each use of a name that says nothing, such as `found`."""
    path = tmp_path / "module.py"
    path.write_text(f"{name} = 1\n\n\ndef f({name}):\n    pass\n\n\ndef {name}():\n    pass\n")
    assert sorted(hit.line for hit in hits_of(path)) == [1, 4, 8]


def test_a_page_is_checked_without_its_code(tmp_path: Path) -> None:
    """`tests.tools.prose` skips code in a Markdown page, and checks all other sentences."""
    path = tmp_path / "page.md"
    path.write_text("`What it is`\n\n```\nWhat it is\n```\n\nA text.\n\nWhat it has is read.\n")
    assert [(hit.line, hit.why) for hit in hits_of(path)] == [(9, "a subject made of what")]
