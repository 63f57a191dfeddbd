"""What a filter requires of columns, as values that the store translates into a query.

A condition may let through too much, never too little. Columns are those of the contract's
``frames``, and ``latency_ns`` of the exchange that a frame is part of. What the parser has to know
of the recording is a value as well.
"""

from collections.abc import Callable

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


@frozen
class Known:
    """What is known of a recording when a filter is parsed."""

    has_label: Callable[[str], bool]
    """Whether a method, a session, a tool call or a terminal is called exactly so."""
    last_turn: int | None
    """The number of its last turn; None if the filter is for several recordings."""


SEVERAL = Known(lambda _: False, None)
"""For a filter of several recordings."""
UNREAD = Known(lambda _: False, 0)
"""For a filter that is only checked, before its recording is opened."""
