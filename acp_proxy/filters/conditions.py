"""What a filter requires of columns: values that the store translates into a query.

A condition may let through too much, never too little. Columns are those of the contract's
``frames``, and ``latency_ns`` of the exchange that a frame is part of.
"""

from attrs import frozen


@frozen
class Among:
    """A column is one of some texts."""

    column: str
    values: tuple[str, ...]


@frozen
class Like:
    """A column matches a pattern with ``*``, ``?`` and ``[...]``, in which case matters."""

    column: str
    pattern: str


@frozen
class Compare:
    """A column is compared with a number."""

    column: str
    operator: str
    """``=``, ``<``, ``>``, ``<=`` or ``>=``."""
    bound: float


@frozen
class Present:
    """A column has a value."""

    column: str


@frozen
class Every:
    """All parts hold; always true without parts."""

    parts: "tuple[Condition, ...]"


@frozen
class Some:
    """At least one part holds; never true without parts."""

    parts: "tuple[Condition, ...]"


@frozen
class No:
    """The part does not hold, also if a column in it has no value."""

    part: "Condition"


@frozen
class Beyond:
    """Something that no column holds, such as a member of a message."""


Condition = Among | Like | Compare | Present | Every | Some | No | Beyond
