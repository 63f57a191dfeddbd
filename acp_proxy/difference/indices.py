"""The integers by which the parts of one recording are known in a comparison.

Each is a place in the list of one owner, and each recording has its own; they are types of their
own, so that none is taken for another.
"""

from typing import NewType

ValueIndex = NewType("ValueIndex", int)
"""A value that gets a stable name, in `Values.every`."""
TypeIndex = NewType("TypeIndex", int)
"""What an item is, in `SideIndex.item_types`."""
PlaceholdersIndex = NewType("PlaceholdersIndex", int)
"""The values in a message, in `SideIndex.placeholders`."""
ItemIndex = NewType("ItemIndex", int)
"""An item of a sequence, by its place in it."""
ItemPair = tuple[ItemIndex, ItemIndex]
"""An item of A and one of B."""
ItemGroup = tuple[ItemIndex, ...]
"""Items that are compared together: parts of one text, or a single item."""
