"""``acp-proxy faults``: commands about plans of faults, each imported only when it is called."""

import click

from acp_proxy.cli.group import CONTEXT, LazyGroup
from acp_proxy.cli.shared_flags import NO_PAGER

_COMMANDS = {"list": "list_:list_", "explain": "explain:explain", "sweep": "sweep:sweep"}


@click.group(
    cls=LazyGroup,
    lazy={word: f"{__name__}.{place}" for word, place in _COMMANDS.items()},
    starters=("sweep",),
    context_settings={"help_option_names": CONTEXT["help_option_names"]},
)
@NO_PAGER.option
def faults() -> None:
    """Test how a client handles an agent that misbehaves.

    A plan defines what goes wrong, and when. `record --faults PLAN` applies the plan to a live
    agent, `replay --faults PLAN` to a recorded agent.
    """
