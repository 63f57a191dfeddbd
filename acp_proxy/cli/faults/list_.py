"""``acp-proxy faults list``: the kinds of faults and their settings, and the ready plans."""

import json as json_
from textwrap import wrap

import click

from acp_proxy.base.errors import BadPlan
from acp_proxy.cli.group import cli_command
from acp_proxy.cli.options import complete_kind
from acp_proxy.cli.screens.output import say, say_json
from acp_proxy.cli.screens.output import width as terminal_width
from acp_proxy.cli.screens.pager import pages
from acp_proxy.cli.screens.styled_text import Ink, pad
from acp_proxy.faults.manual import KindManual, Setting, manual_of, trigger_manual
from acp_proxy.faults.plan import KINDS, load_plan, ready_plans
from acp_proxy.faults.structuring import hint

_WIDTH = 100
PLANS = {
    "hangs": (
        "agent-hangs", "silent-start", "unsettled-prompt", "lost-reply", "hung-permission",
        "lost-permission-request", "ignored-cancel", "slow-agent", "slow-handshake", "slow-pipe",
        "late-reply", "late-updates",
    ),
    "crashes": ("agent-killed", "crash-at-start", "crash-mid-frame", "quiet-exit", "stdout-closed"),
    "wrong bytes": (
        "bad-utf8", "split-utf8", "truncated-frame", "garbage-line", "json-log-line",
        "stray-stdout", "terminal-escapes", "windows-newlines", "noisy-stderr", "huge-frame",
        "giant-frame",
    ),
    "wrong protocol": (
        "error-on-prompt", "auth-required", "lost-auth", "newer-protocol", "duplicate-reply",
        "orphan-reply", "wrong-reply-id", "duplicate-updates", "unknown-update", "unknown-session",
        "unknown-request", "flaky-agent",
    ),
}  # fmt: skip
"""The ready plans, by the effect that a client notices."""


@cli_command("list", short_help="List the kinds of faults, and the ready plans.")
@click.argument("kinds", nargs=-1, metavar="[KIND]...", shell_complete=complete_kind)
@click.option("--json", is_flag=True, help="One JSON object.")
@pages
def list_(kinds: tuple[str, ...], json: bool) -> None:
    """List the kinds of faults with their settings, and the ready plans.

    With KIND, only these kinds are listed.

    Examples:
      acp-proxy faults list
          all there is
      acp-proxy faults list latency reply
          two kinds
    """
    for word in kinds:
        if word not in KINDS:
            raise BadPlan(f"there is no kind {word!r}{hint(word, KINDS)}")
    manuals = [manual_of(kind) for word, kind in KINDS.items() if not kinds or word in kinds]
    plans = {} if kinds else {name: load_plan(f"@{name}").about for name in ready_plans()}
    if json:
        triggers = [] if kinds else list(trigger_manual())
        say_json({"kinds": manuals, "triggers": triggers, "plans": plans})
        return
    if not kinds:
        _say_plans(plans)
    for manual in manuals:
        _say_kind(manual)
    if not kinds:
        say("triggers of every kind", bold=True)
        _say_settings(trigger_manual())


def _say_kind(manual: KindManual) -> None:
    say(manual.kind, bold=True, fg=int(Ink.TO_AGENT))
    only = "" if len(manual.directions) == 2 else f" Only {manual.directions[0]}."
    _say_wrapped(manual.about + only, "  ")
    _say_settings(manual.settings)
    say()


def _say_plans(plans: dict[str, str]) -> None:
    longest = max(map(len, plans)) + 1
    for group, names in PLANS.items():
        say(f"ready plans, for --faults: {group}", bold=True, fg=int(Ink.TO_AGENT))
        for name in names:
            _say_wrapped(plans[name], f"  {pad(f'@{name}', longest)}  ")
        say()


def _say_settings(settings: tuple[Setting, ...]) -> None:
    written = [_written(setting) for setting in settings]
    longest = max(map(len, written), default=0)
    for setting, name in zip(settings, written, strict=True):
        kind = ", ".join(setting.choices) if setting.choices else setting.type
        _say_wrapped(f"{kind}. {setting.about}", f"  {pad(name, longest)}  ")


def _written(setting: Setting) -> str:
    """Returns a setting as a plan spells it, with its default value."""
    has_default = setting.default is not None and setting.default != {}
    return f"{setting.name} = {json_.dumps(setting.default)}" if has_default else setting.name


def _say_wrapped(text: str, head: str) -> None:
    """Wraps a text, and prints it to the right of a heading."""
    room = max(20, (terminal_width() or _WIDTH) - len(head))
    for place, line in enumerate(wrap(text, room) or [""]):
        say((head if place == 0 else " " * len(head)) + line)
