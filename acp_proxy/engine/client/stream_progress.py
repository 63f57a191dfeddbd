"""How much the agent has said, which does not depend on how it cuts its texts.

A model's text comes in as many chunks as the agent, or its model's server, happens to make of it.
So a text is one item, however many chunks it is, and how far it has come are its characters. All
else is counted by number. Updates that only tell how things are come when they please; they are
counted apart, and end no text.
"""

from collections import Counter
from typing import NamedTuple

from attrs import define, field

from acp_proxy.engine.shared.steps import UPDATE
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.updates import STATE_UPDATES

_STATES = tuple(update.encode() for update in STATE_UPDATES)

_Text = tuple[str, str | None]
"""What the chunks of one text have in common: their kind, and the id of the message."""


class Said(NamedTuple):
    """What one message adds; one item if it is neither of these."""

    text: _Text | None = None
    """The text that it is a chunk of."""
    characters: int = 0
    """How long the chunk is, in UTF-16 units, since some agents cut between two of them."""
    state: str | None = None
    """The kind of what tells how things are."""


ITEM = Said()


class Extent(NamedTuple):
    """How far a lane has come; who has begun the next item has said all of the one before it."""

    items: int = 0
    characters: int = 0
    """Of the latest item, if that is a text."""


class Total(NamedTuple):
    """How much was said in all lanes together, where texts go on beside each other."""

    items: int = 0
    """Of those that are no texts."""
    characters: int = 0

    def plus(self, said: Said) -> "Total":
        """Adds a message."""
        is_item = said.text is None and said.state is None
        return Total(self.items + is_item, self.characters + said.characters)

    def reaches(self, other: "Total") -> bool:
        """Whether it is as much as another, or more."""
        return self.items >= other.items and self.characters >= other.characters


@define
class Meter:
    """Counts what is said in one lane.

    Attributes:
        states: how often it was said how things are, by the kind; since the lane began.
    """

    states: Counter[str] = field(factory=Counter)
    _items: int = 0
    _characters: int = 0
    _text: _Text | None = None
    """The text that the latest item is."""

    @property
    def extent(self) -> Extent:
        """How much was said since it was cleared."""
        return Extent(self._items, self._characters)

    def take(self, said: Said) -> bool:
        """Takes what a message adds; returns whether that is anything."""
        if said.state is not None:
            self.states[said.state] += 1
            return False
        if said.text is not None and not said.characters:
            return False
        if said.text is None or said.text != self._text:
            self._items, self._characters, self._text = self._items + 1, 0, said.text
        self._characters += said.characters
        return True

    def clear(self) -> None:
        """Begins anew, after a request or an answer."""
        self._items, self._characters, self._text = 0, 0, None


def said(raw: bytes, method: str | None) -> Said:
    """Tells what a message of the agent's adds; it answers nothing."""
    if method != UPDATE:
        return ITEM
    if (chunk := chunk_of(raw)) is not None:
        return Said((chunk.update, chunk.message_id), _units(chunk.text))
    # Most messages name none of these, and do not have to be read for their kind.
    update = read(raw).update if any(map(raw.__contains__, _STATES)) else None
    return Said(state=update) if update in STATE_UPDATES else ITEM


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
