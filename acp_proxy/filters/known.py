"""What the parser of filters has to know of the recording."""

from collections.abc import Callable

from attrs import frozen


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
