"""Counts how much the agent has sent, regardless of how its texts are split into chunks.

A model's text arrives in an arbitrary number of chunks. So a text counts as one item, and its
progress is counted in characters. Everything else is counted by number. Updates that only report a
state are counted separately, and do not end a text.
"""

from collections import Counter
from typing import NamedTuple

from attrs import define, field

from acp_proxy.base.wording import counted
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.updates import STATE_UPDATES, UPDATE

_STATES = tuple(update.encode() for update in STATE_UPDATES)
_FLOOD_LINES, _FLOOD_TIMES = 100_000, 10
"""The most lines that may come after the agent's last answer or recorded request. For a long
recording, the limit is the second value times the number of recorded frames."""
_FLOOD_BYTES = 256 << 20
_FLOOD_REFUSALS = 1000
"""How many requests may be refused while the agent makes no other progress."""

_Text = tuple[str, str | None]
"""The common properties of a text's chunks: their kind, and the id of the message."""


class Increment(NamedTuple):
    """The progress that one message adds: part of a text, a state update, or else one item."""

    text: _Text | None = None
    characters: int = 0
    """The length of the chunk in UTF-16 units, since some agents split characters between two
    units."""
    state: str | None = None


ITEM = Increment()


class ProgressMark(NamedTuple):
    """How far a lane's stream has come. An item is complete when the next item has begun."""

    items: int = 0
    characters: int = 0
    """The length of the latest item, if it is a text."""


class TotalProgress(NamedTuple):
    """The progress of all lanes together. The texts of several lanes may grow in parallel."""

    items: int = 0
    """The number of items that are not texts."""
    characters: int = 0

    def plus(self, increment: Increment) -> "TotalProgress":
        """Returns the progress after one more message."""
        is_item = increment.text is None and increment.state is None
        return TotalProgress(self.items + is_item, self.characters + increment.characters)


@define
class StreamProgress:
    """Counts what the agent sends in one lane."""

    states: Counter[str] = field(factory=Counter)
    """The number of state updates by kind, since the start of the lane."""
    grew_at: int = 0
    """When the agent last made progress in the lane, in nanoseconds."""
    mark: ProgressMark = field(factory=ProgressMark)
    """How much was sent since the last request, answer or end of a turn."""
    _text: _Text | None = None
    """The latest item, if it is a text."""

    def add(self, increment: Increment, at: int = 0) -> None:
        """Counts a message.

        Args:
            increment: what the message adds.
            at: when the message came, in nanoseconds.
        """
        if increment.state is not None:
            self.states[increment.state] += 1
            return
        if increment.text is not None and not increment.characters:
            return
        items, characters = self.mark
        if increment.text is None or increment.text != self._text:
            items, characters, self._text = items + 1, 0, increment.text
        self.mark = ProgressMark(items, characters + increment.characters)
        self.grew_at = at

    def clear(self) -> None:
        """Counts from zero again, after a request, an answer or the end of a turn."""
        self.mark, self._text = ProgressMark(), None


def increment_of(raw: bytes, method: str | None) -> Increment:
    """Returns the progress that a message of the agent makes.

    Args:
        raw: the message, which must not be an answer.
        method: the method; None if the message is not a notification.
    """
    if method != UPDATE:
        return ITEM
    if (chunk := chunk_of(raw)) is not None:
        units = len(chunk.text.encode("utf-16-le", "surrogatepass")) // 2
        return Increment((chunk.update, chunk.message_id), units)
    # Most messages contain none of these words, so they need not be parsed for their kind.
    update = read(raw).update if any(map(raw.__contains__, _STATES)) else None
    return Increment(state=update) if update in STATE_UPDATES else ITEM


@define
class AgentOutput:
    """Counts the agent's output in all lanes: in total, and since the agent last made progress."""

    lines: int = 0
    """How many lines have come, without blank lines."""
    total: TotalProgress = field(factory=TotalProgress)
    recent_lines: int = 0
    """How many lines have come since the agent last answered or made a recorded request."""
    recent_bytes: int = 0
    recent_refusals: int = 0
    """How many of the agent's requests were refused since it last answered or made a recorded
    request."""

    def note_progress(self) -> None:
        """Notes that the agent answered a request, or made a request that was recorded."""
        self.recent_lines = self.recent_bytes = self.recent_refusals = 0

    def is_flood(self, recorded: int) -> bool:
        """Whether the agent has sent so much without progress that it counts as a flood.

        The limit depends on the number of frames that the recorded agent sent.
        """
        return (
            self.recent_refusals >= _FLOOD_REFUSALS
            or self.recent_bytes > _FLOOD_BYTES
            or self.recent_lines > max(_FLOOD_LINES, _FLOOD_TIMES * recorded)
        )

    @property
    def flood_summary(self) -> str:
        """Returns a sentence about the flood for the report."""
        return (
            f"the agent wrote {counted(self.recent_lines, 'line')} and {self.recent_bytes} bytes"
            f" without an answer to anything; {self.recent_refusals} of its requests were refused"
        )
