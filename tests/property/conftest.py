"""Fixtures that several properties share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 1 << 17
"""Bytes of a recording that is not changed a hundred times."""


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The recordings in the repository and the captured conversations of real agents."""
    from tests import reactive
    from tests.mutations import lines_of

    captured = reactive.recordings(tmp_path_factory.mktemp("captures"))
    return [path for path in captured if path.stat().st_size <= _LARGEST and lines_of(path)]
