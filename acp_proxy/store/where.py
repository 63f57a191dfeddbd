"""A condition in SQL over coded rows, and the one that is true of every row."""

from typing import Any

from attrs import frozen

_TRUE = "1"


@frozen
class Where:
    """A condition in SQL."""

    sql: str
    parameters: tuple[Any, ...] = ()
    exact: bool = True
    """Whether it matches exactly the wanted rows; otherwise it may match more."""
    tests: int = 1
    """The number of comparisons in it."""
    levels: int = 1
    """How deeply they are nested."""

    @property
    def is_open(self) -> bool:
        """Whether it matches every row."""
        return self.sql == _TRUE

    @property
    def needs_exchange(self) -> bool:
        """Whether it uses a column of ``exchanges``."""
        return "e." in self.sql


EVERY_ROW = Where(_TRUE)
