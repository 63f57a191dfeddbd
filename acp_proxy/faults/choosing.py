"""Makes one plan of what the command line says."""

import os
from collections.abc import Iterable

from acp_proxy.faults.plan import Plan, joined, load_plan, parse_rule


def chosen_plan(rules: Iterable[str], plan: str | None, seed: int | None) -> tuple[Plan, int]:
    """Puts a plan and single rules together.

    Args:
        rules: of ``--fault``.
        plan: of ``--faults``, a file or ``@name``.
        seed: of ``--seed``.

    Returns:
        The plan, and its seed or one that was chosen for it.

    Raises:
        BadPlan: something of it is wrong.
    """
    plans = [load_plan(plan)] if plan is not None else []
    whole = joined(plans, [parse_rule(rule) for rule in rules], seed)
    chosen = int.from_bytes(os.urandom(4)) if whole.seed is None else whole.seed
    return whole, chosen
