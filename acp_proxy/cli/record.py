"""``acp-proxy record``: the options of the starter, as a command of click.

The starter parses most command lines itself. Click prints the help, reports wrong arguments, and
reads rare spellings.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from acp_proxy.cli.group import CONTEXT, HelpCommand
from acp_proxy.cli.masking import without_secrets
from acp_proxy.cli.options import AGENT, ONE_A_LINE, agent_command, complete_plan
from acp_proxy.cli.removed import removed_options
from acp_proxy.record import supervise
from acp_proxy.record.capture.pumps import Interceptor
from acp_proxy.record.capture.record_options import RECORD, Option, RecordOptions


def _reading(option: Option) -> Callable[..., object]:

    def convert(ctx: click.Context, param: click.Parameter, value: object) -> object:
        if not isinstance(value, str):
            return value
        is_variable = ctx.get_parameter_source(str(param.name)) is ParameterSource.ENVIRONMENT
        try:
            return option.value(value, option.variable if is_variable else option.flag)
        except ValueError as e:
            raise click.BadParameter(str(e)) from None

    return convert


def _words_like(words: list[str], _ctx: object, _param: object, incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _parameter(option: Option) -> click.Option:
    kind: dict[str, Any]
    if option.many:
        kind = {"type": ONE_A_LINE, "multiple": True, "metavar": option.metavar}
    elif option.read is None:
        kind = {"is_flag": True, "default": False}
    else:
        kind = {"type": click.UNPROCESSED, "callback": _reading(option), "metavar": option.metavar}
        kind["default"] = option.default
        if option.metavar.startswith("["):
            kind["shell_complete"] = partial(_words_like, option.metavar.strip("[]").split("|"))
    if option.metavar == "PLAN":
        kind["shell_complete"] = complete_plan
    return click.Option(
        [name for name in (option.short, option.flag) if name],
        help=option.text,
        envvar=option.variable or None,
        allow_from_autoenv=False,
        **kind,
    )


def _run(command: tuple[str, ...], **values: Any) -> None:
    from acp_proxy.record.capture.starter import record as start

    options = RecordOptions(agent_command(command), values)
    start(options, supervise, without_secrets, _fault_runner(options))


def _fault_runner(options: RecordOptions) -> Interceptor | None:
    """Returns the runner of the requested faults; None if no faults were requested.

    Raises:
        BadPlan: the faults are invalid.
    """
    if not options.fault and options.faults is None and options.seed is None:
        return None
    from acp_proxy.faults.plan import chosen_plan
    from acp_proxy.record.faulted.fault_runner import FaultRunner

    plan, seed = chosen_plan(options.fault, options.faults, options.seed)
    return FaultRunner(plan, seed, mask_text=without_secrets)


record = HelpCommand(
    "record",
    callback=_run,
    params=[
        *map(_parameter, RECORD),
        *removed_options("record"),
        click.Argument(["command"], **AGENT),
    ],
    context_settings={
        "allow_interspersed_args": False,
        "show_default": False,
        "help_option_names": CONTEXT["help_option_names"],  # click keeps the first names it gets
    },
    help="""Run an agent and record all traffic between it and its client.

    Use it as the agent's command: every byte passes unchanged in both directions, stderr too, and
    the exit code is the agent's own. The recording is one SQLite file; `acp-proxy list` finds it.

    Options can also be set in the environment (ACP_PROXY_GRACE for --grace), except --on-stall.
    ACP_PROXY_OFF=1 runs the agent untouched, without recording.

    `@NAME` in place of AGENT stands for the command of a known agent, such as @opencode.

    Examples:
      acp-proxy record -- opencode acp
      acp-proxy record -- @gemini
      acp-proxy record --name bug --keep 30d -- npx @google/gemini-cli --acp
      ACP_PROXY_OFF=1 acp-proxy record -- opencode acp      without recording

    Exit code: the agent's own; 128+n if signal n ended it; 127 or 126 if it could not start; 2 for
    wrong use. A bad --keep is only reported, and deletes nothing.
    """,
)
