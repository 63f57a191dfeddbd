"""The conditions of a filter on columns, as values that the store translates into a query.

A condition may select too many frames, never too few. Columns are those of ``frames`` in the
contract, and ``latency_ns`` of the exchange that a frame belongs to. The facts that the parser
needs about the recording are a value as well.
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
    """``=``, ``<``, ``>``, ``<=`` or ``>=``."""
    bound: float


@frozen
class Present:
    """A column has a value."""

    column: str


@frozen
class Every:
    """All parts are true; always true without parts."""

    parts: "tuple[Condition, ...]"


@frozen
class Some:
    """At least one part is true; never true without parts."""

    parts: "tuple[Condition, ...]"


@frozen
class No:
    """The part is not true, or a column in it has no value."""

    part: "Condition"


@frozen
class Beyond:
    """A condition beyond columns, such as one on a member of a message."""


Condition = Among | Like | Compare | Present | Every | Some | No | Beyond


@frozen
class Known:
    """Facts about a recording that parsing a filter needs."""

    has_label: Callable[[str], bool]
    """Whether a method, a session, a tool call or a terminal has exactly this name."""
    last_turn: int | None
    """The number of the last turn; None if the filter is for several recordings."""


SEVERAL = Known(lambda _: False, None)
"""The facts for a filter of several recordings."""
UNREAD = Known(lambda _: False, 0)
"""The facts for a filter that is only checked, before its recording is opened."""
