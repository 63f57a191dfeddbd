"""Tables of what has passed, of which only the latest entries are kept, so that memory is flat."""

from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Remembered(Generic[_Key, _Value]):
    """A table that forgets its oldest entry when it has too many.

    Args:
        most: how many entries it keeps.

    Attributes:
        has_forgotten: whether an entry was lost, so that a key that is missing may have been known.
    """

    def __init__(self, most: int = 10_000) -> None:
        self._entries: dict[_Key, _Value] = {}
        self._most = most
        self.has_forgotten = False

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: _Key) -> _Value | None:
        """Returns the value of a key, or None."""
        return self._entries.get(key)

    def add(self, key: _Key, value: _Value) -> None:
        """Adds an entry, or replaces its value.

        Args:
            key: what to remember.
            value: what is known of it.
        """
        self._entries[key] = value
        if len(self._entries) > self._most:
            del self._entries[next(iter(self._entries))]
            self.has_forgotten = True

    def remove(self, key: _Key) -> _Value | None:
        """Removes an entry, and returns its value, or None."""
        return self._entries.pop(key, None)

    def values(self) -> list[_Value]:
        """Returns the values, the oldest first."""
        return [*self._entries.values()]

    def keys(self) -> list[_Key]:
        """Returns the keys, the oldest first."""
        return [*self._entries]

    def lacks(self, key: _Key) -> bool:
        """Whether a key was certainly never added."""
        return key not in self._entries and not self.has_forgotten
