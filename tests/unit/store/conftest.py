"""Fixtures that the tests of the store share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.indexed_rows import new_database

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator


@pytest.fixture
def rows() -> Iterator[sqlite3.Connection]:
    """A fresh database."""
    with new_database() as connection:
        yield connection
