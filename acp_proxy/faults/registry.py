"""The kinds of faults by the names that plans use: one file in `kinds`, and one word here."""

from collections.abc import Iterator
from importlib import import_module

from acp_proxy.faults.fault import Fault

_MODULES = (
    *("noop", "latency", "bandwidth", "slice"),
    *("drop", "duplicate", "reorder", "corrupt", "truncate", "replace"),
    *("error_reply", "reply", "ignore_cancel"),
    *("stall", "stray_stdout", "stderr_flood", "huge_frame", "limit_data", "close"),
    *("signals", "exit_"),
)
"""The modules in `kinds`, in the order in which `faults list` and the manual have them."""


def _kinds_in(module: str) -> Iterator[type[Fault]]:
    """Yields the kinds that a module defines, in order; a base of kinds has no name of its own."""
    found = import_module(f"acp_proxy.faults.kinds.{module}")
    for value in vars(found).values():
        is_own = isinstance(value, type) and value.__module__ == found.__name__
        if is_own and issubclass(value, Fault) and hasattr(value, "kind"):
            yield value


KINDS: dict[str, type[Fault]] = {
    kind.kind: kind for module in _MODULES for kind in _kinds_in(module)
}
