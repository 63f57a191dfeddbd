"""Writes `docs/rules.md`, the page of all rules of `check`, from the rules' catalogue.

``python -m tests.tools.rules_page`` writes the page; a test compares it with the catalogue.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from acp_proxy.check.catalogue import address_of, left_out, rules
from acp_proxy.check.check_values import source_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.check.check_values import Rule

PAGE = Path(__file__).parents[2] / "docs/rules.md"
_GROUPS = {
    "frame": "Lines",
    "rpc": "JSON-RPC",
    "init": "Initialization",
    "auth": "Authentication",
    "session": "Sessions",
    "mcp": "MCP servers",
    "prompt": "Prompts",
    "turn": "Turns",
    "cancel": "Cancellation",
    "update": "Updates",
    "plan": "Plans",
    "commands": "Slash commands",
    "mode": "Modes",
    "config": "Configuration options",
    "tool": "Tool calls",
    "perm": "Permission",
    "fs": "Files",
    "term": "Terminals",
    "meta": "Extensions",
    "ext": "Extensions by name",
    "path": "Paths",
    "elicit": "Elicitation",
    "nes": "Suggested edits",
    "providers": "Providers",
    "s4": "The 1.0 draft",
    "v2": "Version 2",
    "agent": "How the agent started and ended",
    "answer": "Requests that failed, and answers that may be wrong",
    "fault": "Effects of faults",
    "pipe": "Bytes that were not read",
    "recording": "Losses of the recording",
    "wait": "Waits and silence",
}
_INTRODUCTION = """\
# Rules

[`check`](commands/check.md) checks the rules on this page. Each rule applies in one or more
[dialects](json.md#recording). The column "severity" shows the worst severity of a rule's findings;
a finding is less severe if something else may explain it. The text after "Found by" describes the
cases that `check` reports. `acp-proxy check --explain RULE` prints a rule with two example
conversations: one keeps the rule, and the other breaks it.

Each rule names the section of the specification that contains it. If no specification contains the
rule, it is called "a rule of acp-proxy". The last six groups have rules about the conversation as a
whole: whether it begins, continues and ends. All other groups have rules about messages. Commands
print the [findings](json.md#finding) of both kinds of rules in one list. `tool.no-progress` is only
checked with `--rule tool.no-progress`, since many healthy agents break it.

`make rules` writes this page anew from the catalogue of rules.
"""


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")


def page() -> str:
    """Returns the contents of the page."""
    return "\n".join(_lines()).rstrip("\n") + "\n"


def _lines() -> Iterator[str]:
    every = [*rules().values()]
    groups = dict.fromkeys(rule.group for rule in every)
    yield _INTRODUCTION
    yield "| group | |\n|---|---|"
    for group in groups:
        count = sum(rule.group == group for rule in every)
        yield f"| [`{group}`](#{group}) | {_GROUPS[group]}: {count} |"
    yield "| [left out](#left-out) | what a recording cannot show |"
    for group in groups:
        yield f"\n## {group}\n"
        own = [rule for rule in every if rule.group == group]
        contents = ", ".join(f"[{rule.id.partition('.')[2]}](#{_anchor(rule)})" for rule in own)
        yield f"Rules of the group `{group}` ({_GROUPS[group]}): {contents}.\n"
        yield "| rule | who | severity | dialects | |\n|---|---|---|---|---|"
        yield from map(_row, own)
    yield "\n## Left out\n\n| rule | why |\n|---|---|"
    for name, why in left_out().items():
        yield f"| `{name}` | {_cell(why)} |"


def _row(rule: Rule) -> str:
    sources = "; ".join(map(_linked, rule.source))
    text = f"{rule.text.rstrip('.')}. ({sources})<br>Found by: {rule.detection}"
    dialects = ", ".join(rule.dialects)
    name = f'<a id="{_anchor(rule)}"></a>`{rule.id}`'
    return f"| {name} | {rule.by} | {rule.severity.value} | {dialects} | {_cell(text)} |"


def _anchor(rule: Rule) -> str:
    return rule.id.replace(".", "-")


def _linked(source: str) -> str:
    address = address_of(source)
    return source_text(source) if address is None else f"[{source}]({address})"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
