"""Fixtures that several property tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST = 1 << 17
"""Larger recordings, in bytes, are left out of `sources`."""


@pytest.fixture(scope="session")
def every_recording(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Returns all recordings of the repository and all captures; tests must not change them."""
    from tests.support import reactive_client

    return list(reactive_client.recordings(tmp_path_factory.mktemp("captures")))


@pytest.fixture(scope="session")
def sources(every_recording: list[Path]) -> list[Path]:
    """Returns recordings that are small enough to be changed a hundred times."""
    from tests.support.mutated_recordings import lines_of

    return [path for path in every_recording if path.stat().st_size <= _LARGEST and lines_of(path)]
