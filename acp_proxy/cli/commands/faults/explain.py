"""``acp-proxy faults explain``: describe a plan in words, and apply it to a recording."""

import shlex
from collections.abc import Iterator
from itertools import groupby

import click
from attrs import asdict

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.options import complete_plan, complete_recording
from acp_proxy.cli.redaction import unredacted_option
from acp_proxy.cli.render.output import say, say_json, warn
from acp_proxy.cli.render.pager import pages
from acp_proxy.faults.dry_run import NEVER, DryRun, FaultHit, PassedFrame
from acp_proxy.faults.manual import sentence
from acp_proxy.faults.plan import Plan, joined, load_plan, parse_rule
from acp_proxy.protocol.peers import Direction
from acp_proxy.wording import counted

_ARROWS = {"to-agent": "→", "to-client": "←"}


@click.command(
    short_help="Explain what a plan does, in words and to a recording.",
    epilog="""\b
    Examples:
      acp-proxy faults explain @hung-permission
          in words
      acp-proxy faults explain plan.toml latest
          and which frames of the newest recording it would hit
      acp-proxy faults explain --fault 'drop where=kind:response' - latest
          of a rule that is not in a file
    """,
)
@click.argument("plan", metavar="PLAN", shell_complete=complete_plan)
@click.argument("rec", metavar="[REC]", required=False, shell_complete=complete_recording)
@click.option("--fault", multiple=True, metavar="RULE",
              help="An additional rule; can be given several times.")  # fmt: skip
@click.option("--seed", type=int, metavar="N", help="The seed of the random generator.")
@click.option("--json", is_flag=True, help="One JSON object.")
@unredacted_option
@pages
def explain(
    plan: str, rec: str | None, fault: tuple[str, ...], seed: int | None, json: bool
) -> None:
    """Explain what a plan of faults does.

    PLAN is a TOML file, @NAME for a ready one, or `-` for the rules of --fault alone. With REC, a
    dry run: the frames of the recording pass the plan at the times at which they were recorded, and
    each one that a rule hits is listed. The recorded peers do not react to what a fault did.
    """
    if plan == "-" and not fault:
        raise Refusal("expected a plan, or a rule with --fault")
    if rec is not None and rec.startswith("@") and not plan.startswith("@"):
        words = shlex.join(["acp-proxy", "faults", "explain", rec, plan])
        raise Refusal(f"expected the plan before the recording: `{words}`")
    plans = [] if plan == "-" else [load_plan(plan)]
    whole = joined(plans, [parse_rule(rule) for rule in fault], seed)
    run = None if rec is None else DryRun(whole, _frames(rec), whole.seed or 0)
    if json:
        say_json(_form(whole, run))
    else:
        _say(whole, run)


def _form(plan: Plan, run: DryRun | None) -> dict[str, object]:
    fired = {} if run is None else run.fired
    rules = [
        {
            "name": rule.name,
            "kind": rule.kind,
            "where": rule.trigger.where,
            "words": sentence(rule),
            "fired": fired.get(rule.name),
        }
        for rule in plan.rules
    ]
    hits = None if run is None else [_hit_form(hit) for hit in run.hits]
    seed = plan.seed if run is None else run.seed
    return {"about": plan.about, "seed": seed, "rules": rules, "hits": hits}


def _hit_form(hit: FaultHit) -> dict[str, object]:
    delivered = None if hit.delivered is None else _decoded(hit.delivered)
    injected = [*map(_decoded, hit.injected)]
    return asdict(hit) | {"delivered": delivered, "injected": injected}


def _decoded(line: bytes) -> str:
    return line.decode(errors="backslashreplace")


def _say(plan: Plan, run: DryRun | None) -> None:
    if plan.about:
        for line in plan.about.split("\n"):
            say(line)
    if plan.seed is not None:
        say(f"seed {plan.seed}", dim=True)
    for rule in plan.rules:
        say(f"{rule.name}: {sentence(rule)}")
    if not plan.rules:
        say("no rules: all frames pass unchanged")
    if run is None:
        return
    say()
    for _, group in groupby(run.hits, _lost_by):
        _say_hits([*group])
    if not run.hits:
        say("no frame of this recording would be affected")
    for name, count in run.fired.items():
        if not count:
            warn(f"{name} would never fire")


def _lost_by(hit: FaultHit) -> object:
    """What frames have in common that are told in one line: none of them arrives."""
    is_lost = hit.outcome == NEVER and not hit.effects and not hit.injected
    return hit.rules if is_lost else hit.seq


def _say_hits(hits: list[FaultHit]) -> None:
    names = f"  [{', '.join(hits[0].rules)}]"
    if len(hits) > 1:
        say(f"#{hits[0].seq}–#{hits[-1].seq}: {counted(len(hits), 'frame')} never arrive{names}")
        return
    for hit in hits:
        what = f"{hit.method or ''} {hit.kind}".strip()
        say(f"#{hit.seq} {_ARROWS[hit.direction]} {what}: {hit.outcome}{names}")


def _frames(word: str) -> Iterator[PassedFrame]:
    from acp_proxy.cli.recordings import open_recording

    with open_recording(word) as reader:
        for row in reader.frames():
            if row["stream"] != "stderr":
                yield PassedFrame(
                    seq=row["seq"],
                    direction=Direction(row["stream"]),
                    t_ns=row["t_ns"],
                    method=row["method"],
                    kind=row["kind"],
                    raw=bytes(row["raw"]),
                    newline=row["newline"].encode(),
                )
