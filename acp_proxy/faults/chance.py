"""Keyed randomness: what a rule draws depends on its own matches, and on nothing else.

``u = H(seed, rule, scope, number of the match in the scope)``. No draw shifts another one, so a
rule that is added to a plan leaves the faults of the others where they were, and interleaving does
not matter.
"""

import hashlib
from typing import NamedTuple

_BITS = 53  # what a float holds


class Chance(NamedTuple):
    """The draws of one match of one rule."""

    seed: int
    rule: str
    scope: str
    """Where matches are counted; see `faults.triggers`."""
    match: int
    """The number of the match in the scope, from 1."""

    def draw(self, what: str = "") -> float:
        """Returns a number from 0 to below 1; the same number for the same ``what``."""
        key = "\0".join((str(self.seed), self.rule, self.scope, str(self.match), what))
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return (int.from_bytes(digest) >> (64 - _BITS)) / (1 << _BITS)

    def below(self, limit: int, what: str = "") -> int:
        """Returns a whole number from 0 to below a limit.

        Args:
            limit: the first number that is too large.
            what: what it is for, as for `draw`.
        """
        return int(self.draw(what) * limit)

    def between(self, low: float, high: float) -> float:
        """Returns a number from one to below another.

        Args:
            low: the smallest number.
            high: the first number that is too large.
        """
        return low + self.draw() * (high - low)
