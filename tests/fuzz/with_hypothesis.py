"""Fuzzes one target with Hypothesis for some time: ``python -m tests.fuzz.with_hypothesis``."""

from __future__ import annotations

import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen
from hypothesis import HealthCheck, given, seed, settings

from tests.fuzz import targets
from tests.fuzz.inputs import inputs
from tests.fuzz.target import Violated

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from tests.fuzz.target import Target

ROUND = 500
"""Examples drawn from one seed."""
MOST_TRIES = 1000
"""Attempts to shorten a failing input."""
SLOWEST_S = 20
"""CPU seconds that an input may take. Counting steps does not limit regular expressions."""


class _Enough(BaseException):
    """Raised to stop after enough attempts to shorten an input."""


@frozen
class Outcome:
    """The result of a fuzz run: the number of calls, and the input that failed."""

    executions: int
    crash: bytes | None = None
    error: str = ""


def fuzz(target: Target, is_over: Callable[[], bool], first_seed: int = 0) -> Outcome:
    """Runs a target with many inputs, until an input fails or the time is over.

    Args:
        target: the target to run.
        is_over: returns whether the time is over; called before each round.
        first_seed: the random seed of the first round.
    """
    strategy = inputs(target)
    executions, failed, error, tries = 0, b"", "", 0

    def once(data: bytes) -> None:
        nonlocal executions, failed, error, tries
        executions += 1
        tries += bool(error)
        if tries > MOST_TRIES:
            raise _Enough
        signal.setitimer(signal.ITIMER_VIRTUAL, SLOWEST_S)
        try:
            target.run_within_memory(data)
        except Exception:
            failed, error = data, traceback.format_exc()
            raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    quiet = settings(
        max_examples=ROUND,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
    )
    before = signal.signal(signal.SIGVTALRM, _too_slow)
    try:
        while not is_over():
            try:
                seed(first_seed)(quiet(given(strategy)(once)))()
            except (Exception, _Enough):
                return Outcome(executions, failed, error)
            first_seed += 1
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return Outcome(executions)


def _too_slow(_signal: int, _frame: FrameType | None) -> None:
    raise Violated(f"more than {SLOWEST_S} seconds")


def main(name: str, seconds: str, crash: str) -> int:
    """Fuzzes a target, stores a failing input in ``crash``, and then exits with 1."""
    target = targets.target(name)
    end = time.monotonic() + float(seconds)
    outcome = fuzz(target, lambda: time.monotonic() > end, time.time_ns() % (1 << 32))
    sys.stdout.write(f"executions: {outcome.executions}\n")
    if outcome.crash is None:
        return 0
    Path(crash).write_bytes(outcome.crash)
    sys.stderr.write(outcome.error)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
