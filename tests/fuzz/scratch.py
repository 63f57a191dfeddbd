"""Temporary directories for targets that read files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@cache
def directory(name: str) -> Path:
    """Returns the directory of a target, which is removed when the program ends."""
    path = Path(_holder().name) / name
    path.mkdir()
    return path


@cache
def _holder() -> TemporaryDirectory[str]:
    """Returns the temporary directory of this process, always the same."""
    return TemporaryDirectory()
