"""Counts for each module how many mutants the tests notice; `make mutants` prints this.

A mutant is the code with one small change. A mutant survives if no test notices the change.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

LEAST = 0.85
"""The share of a module's mutants that the tests must notice."""
_NOTICED = {"killed", "timeout", "suspicious", "segfault", "caught by type check"}


def table(results: str) -> tuple[list[str], bool]:
    """Counts for each module how many mutants the tests noticed.

    Args:
        results: the output of `mutmut results --all true`, a line for each mutant, such as
            ``acp_proxy.protocol.typed_places.x_splice__mutmut_2: survived``.

    Returns:
        A line for each module, and whether the tests noticed enough mutants in each module. Without
        any mutant, the result is false.
    """
    made: Counter[str] = Counter()
    noticed: Counter[str] = Counter()
    for line in results.splitlines():
        mutant, _, verdict = line.strip().rpartition(": ")
        if "__mutmut_" in mutant:
            module = mutant.rpartition(".")[0]
            made[module] += 1
            noticed[module] += verdict in _NOTICED
    lines = [
        f"{noticed[module] / count:4.0%} of {count:4} noticed  {module}"
        for module, count in sorted(made.items())
    ]
    return lines, bool(made) and all(noticed[m] >= LEAST * n for m, n in made.items())


def main(mutmut: str) -> int:
    """Prints the table and the surviving mutants; returns the exit code."""
    command = [mutmut, "results", "--all", "true"]
    results = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines, is_enough = table(results)
    survived = [line.strip() for line in results.splitlines() if line.endswith("survived")]
    sys.stdout.write("".join(f"{line}\n" for line in (*survived, *lines)))
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
