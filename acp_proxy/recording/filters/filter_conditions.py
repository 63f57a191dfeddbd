"""A filter's conditions on columns, as values that the store translates into a query.

A condition may select too many frames, but never too few. Its columns are the columns of the view
``frames`` (docs/database.md), and the exchange's ``latency_ns``. The module also defines `Known`,
the facts about a recording that the parser needs.
"""

from collections.abc import Callable

from attrs import frozen


@frozen
class Among:
    """A column equals one of several texts."""

    column: str
    values: tuple[str, ...]


@frozen
class Like:
    """A column matches a case-sensitive pattern with ``*``, ``?`` and ``[...]``."""

    column: str
    pattern: str


@frozen
class Compare:
    """A column is compared with a number."""

    column: str
    operator: str
    """The comparison: ``=``, ``<``, ``>``, ``<=`` or ``>=``."""
    bound: float


@frozen
class Present:
    """A column has a value."""

    column: str


@frozen
class Every:
    """True if all parts are true, or if there are no parts."""

    parts: "tuple[Condition, ...]"


@frozen
class Some:
    """True if at least one part is true."""

    parts: "tuple[Condition, ...]"


@frozen
class No:
    """True if the part is false, or if one of the part's columns has no value."""

    part: "Condition"


@frozen
class Beyond:
    """A condition that no column can decide, such as a condition on a member of a message."""


Condition = Among | Like | Compare | Present | Every | Some | No | Beyond


@frozen
class Known:
    """The facts about a recording that are needed to parse a filter."""

    has_label: Callable[[str], bool]
    """Whether a method, session, tool call or terminal of the recording has exactly this name."""
    last_turn: int | None
    """The number of the recording's final turn; None if the filter is for several recordings."""


SEVERAL = Known(lambda _: False, None)
"""The facts for a filter that is applied to several recordings."""
UNREAD = Known(lambda _: False, 0)
"""The facts for checking a filter before its recording is opened."""
