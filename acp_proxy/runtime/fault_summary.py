"""What is said of faults at the end: how often each fired, and how to have it all again."""

from collections.abc import Iterator, Mapping

from acp_proxy.faults.plan import Plan


def summary(plan: Plan, fired: Mapping[str, int], seed: int) -> Iterator[str]:
    """Yields lines for a person.

    Args:
        plan: the rules.
        fired: how often each of them fired, by name.
        seed: of all chance.
    """
    told = ", ".join(f"{name} {_times(count)}" for name, count in fired.items() if count)
    yield f"faults: {told or 'none fired'}"
    for rule in plan.rules:
        if not fired[rule.name]:
            yield f"warning: the fault {rule.name} never fired ({rule.place})"
    yield f"reproduce with --seed {seed}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
