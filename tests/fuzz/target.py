"""Defines fuzz targets, and the limits of time and memory for each input."""

from __future__ import annotations

import resource
import sys
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_GROWTH_KIB = 256 << 10
"""The most KiB that one input may add to the peak memory of the process."""


class Violated(Exception):
    """Raised if an input exceeds a limit."""


@frozen
class Target:
    """A function to fuzz, its first inputs and its limits.

    Attributes:
        name: the name of its module.
        check: a function of any bytes that raises if a guarantee is violated.
        seeds: the first inputs, made from recordings.
        words: the words that mutations insert.
        longest: the length of the longest input in bytes.
        steps: the number of function calls that each input may cause.
        steps_per_byte: further function calls for each byte of an input.
        examples: the number of inputs that the suite runs, in about half a second.
    """

    name: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[bytes, ...] = ()
    longest: int = 4096
    steps: int = 20_000
    steps_per_byte: int = 400
    examples: int = 100

    def run(self, data: bytes) -> None:
        """Checks one input, with a limit on the number of function calls.

        Raises:
            Violated: the input causes too many function calls.
            Exception: a guarantee is violated.
        """
        counter = StepCounter(self.steps + self.steps_per_byte * len(data))
        with counter:
            self.check(data)

    def run_within_memory(self, data: bytes) -> None:
        """Checks one input, with limits on function calls and on memory.

        Raises:
            Violated: the input causes too many calls or takes too much memory.
            Exception: a guarantee is violated.
        """
        before = largest_memory()
        self.run(data)
        if (growth := largest_memory() - before) > _GROWTH_KIB:
            raise Violated(f"{len(data)} bytes took {growth >> 10} MiB of memory")


class StepCounter:
    """Counts function calls, which do not depend on the speed of the machine."""

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
    """Returns the peak memory of this process in KiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 10 if sys.platform == "darwin" else peak
