"""Directories for the targets that read files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory


@cache
def directory(name: str) -> Path:
    """Returns a target's directory, which is removed when the program ends."""
    path = Path(_holder().name) / name
    path.mkdir()
    return path


@cache
def _holder() -> TemporaryDirectory[str]:
    """Returns the directory of this process; the cache keeps it."""
    return TemporaryDirectory()
