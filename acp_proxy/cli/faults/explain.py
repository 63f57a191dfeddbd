"""``acp-proxy faults explain``: describe a plan in words."""

import click

from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.options import complete_plan
from acp_proxy.cli.removed import instead
from acp_proxy.cli.screens.output import say, say_json
from acp_proxy.cli.screens.pager import pages
from acp_proxy.faults.manual import sentence
from acp_proxy.faults.plan import Plan, joined, load_plan, parse_rule


@cli_command(short_help="Explain in words what a plan does.")
@click.argument("plans", nargs=-1, required=True, metavar="PLAN", shell_complete=complete_plan)
@click.option("--fault", multiple=True, metavar="RULE",
              help="An additional rule; can be given several times.")  # fmt: skip
@click.option("--json", is_flag=True, help="One JSON object.")
@pages
def explain(plans: tuple[str, ...], fault: tuple[str, ...], json: bool) -> None:
    """Explain in words what a plan of faults does.

    PLAN is a TOML file, @NAME for a ready plan, or `-` for the rules of --fault alone.

    Examples:
      acp-proxy faults explain @hung-permission
          a plan that comes with acp-proxy
      acp-proxy faults explain --fault 'drop where=kind:response' -
          a rule that is not in a file
    """
    plan, *rest = plans
    if rest:
        raise Refusal(instead("faults explain", "", "PLAN REC") or "")
    if plan == "-" and not fault:
        raise Refusal("expected a plan, or a rule with --fault")
    loaded = [] if plan == "-" else [load_plan(plan)]
    whole = joined(loaded, [parse_rule(rule) for rule in fault], None)
    if json:
        say_json(_form(whole))
    else:
        _say(whole)


def _form(plan: Plan) -> dict[str, object]:
    rules = [
        {"name": rule.name, "kind": rule.kind, "where": rule.trigger.where, "words": sentence(rule)}
        for rule in plan.rules
    ]
    return {"about": plan.about, "seed": plan.seed, "rules": rules}


def _say(plan: Plan) -> None:
    if plan.about:
        for line in plan.about.split("\n"):
            say(line)
    if plan.seed is not None:
        say(f"seed {plan.seed}", dim=True)
    for rule in plan.rules:
        say(f"{rule.name}: {sentence(rule)}")
    if not plan.rules:
        say("no rules: all frames pass unchanged")
