"""What a target is, and the bounds within which it has to handle any input."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_GROWTH_KIB = 256 << 10
"""How much the largest memory of the process may grow by one input."""


class Violated(Exception):
    """A bound that an input has exceeded."""


@frozen
class Target:
    """One thing to fuzz.

    Attributes:
        name: of its module.
        check: takes any bytes, and raises if a guarantee is violated.
        seeds: inputs to begin with, made of recordings.
        words: what mutations insert.
        longest: bytes of the longest input.
        steps: calls that an input may take, besides those for its bytes.
        steps_per_byte: calls that each byte of it may take.
        examples: how many the suite runs, about a second.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[bytes, ...] = ()
    longest: int = 4096
    steps: int = 20_000
    steps_per_byte: int = 400
    examples: int = 200

    def run(self, data: bytes) -> None:
        """Checks one input within its bound of steps.

        Raises:
            Violated: it took more steps.
            Exception: a guarantee is violated.
        """
        counter = StepCounter(self.steps + self.steps_per_byte * len(data))
        with counter:
            self.check(data)

    def run_within_memory(self, data: bytes) -> None:
        """Checks one input within its bounds of steps and memory.

        Raises:
            Violated: it took more.
            Exception: a guarantee is violated.
        """
        before = largest_memory()
        self.run(data)
        if (growth := largest_memory() - before) > _GROWTH_KIB:
            raise Violated(f"{len(data)} bytes took {growth >> 10} MiB of memory")


class StepCounter:
    """Counts calls of functions, which do not depend on the machine; a context manager."""

    def __init__(self, most: int) -> None:
        self.steps = 0
        self._most = most

    def __enter__(self) -> StepCounter:
        self._before = sys.getprofile()
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._before)

    def _count(self, _frame: Any, event: str, _: Any) -> None:
        if event in ("call", "c_call"):
            self.steps += 1
            if self.steps > self._most:
                sys.setprofile(self._before)
                raise Violated(f"more than {self._most} steps")


def largest_memory() -> int:
    """The largest memory that this process has had, in KiB."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found >> 10 if sys.platform == "darwin" else found
