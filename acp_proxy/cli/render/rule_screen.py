"""Prints what a rule of the protocol asks, with conversations that keep it and that break it."""

from acp_proxy.cli.render.output import Page, stdout_screen
from acp_proxy.cli.render.styled_text import Ink, Piece, piece
from acp_proxy.cli.render.table import aligned
from acp_proxy.conformance.catalogue import address_of, left_out, no_such_rule, rules
from acp_proxy.conformance.examples import Example, examples_of
from acp_proxy.conformance.values import Rule, Severity

_LABEL = 12
_EITHER = "the client and the agent"
_INKS = {"->": Ink.TO_AGENT, "<-": Ink.TO_CLIENT}


def explain_rule(name: str) -> None:
    """Prints all that is known of a rule, or in a line each what the rules of a group ask.

    Args:
        name: the id of the rule, or the name of the group.

    Raises:
        NoSuchRule: no rule and no group has this name.
    """
    page = Page(stdout_screen())
    if (why := left_out().get(name)) is not None:
        page.wrap(piece(""), piece(name, bold=True), piece(f"  is not checked: {why}"))
        page.flush()
        return
    rule = rules().get(name)
    if rule is None:
        _explain_group(page, name)
        return
    page.print(piece(name, bold=True))
    page.wrap(piece("  "), piece(f"{rule.text.rstrip('.')}."))
    page.print()
    rows = {
        "binds": _EITHER if rule.by == "either" else f"the {rule.by}",
        "severity": _severity(rule),
        "dialects": ", ".join(rule.dialects),
        "source": "; ".join(rule.source),
        "page": ", ".join(dict.fromkeys(filter(None, map(address_of, rule.source)))),
        "found by": rule.detection,
    }
    for label, text in rows.items():
        if text:
            page.wrap(piece(label.ljust(_LABEL)), piece(text))
    for one in examples_of(name):
        page.print()
        page.print(*_title(one))
        for line in one.lines:
            page.wrap(*_line(line), indent=5)
    page.flush()


def _explain_group(page: Page, name: str) -> None:
    group = [rule for rule in rules().values() if rule.group == name.removesuffix(".*")]
    if not group:
        raise no_such_rule(name)
    rows = [[piece(rule.id, bold=True), piece(rule.text)] for rule in group]
    page.lines(aligned(rows, page.screen))
    page.flush()


def _severity(rule: Rule) -> str:
    if rule.severity is Severity.INFO:
        return rule.severity.value
    return f"{rule.severity.value}, or less where something else may explain it"


def _title(one: Example) -> list[Piece]:
    title = piece("breaks it", Ink.TROUBLE, bold=True)
    if not one.is_broken:
        title = piece("keeps it", Ink.TO_CLIENT, bold=True)
    return [title, piece(f", after {one.after}" if one.after else "")]


def _line(line: str) -> tuple[Piece, Piece]:
    if line.startswith(" "):
        return piece("     "), piece(line.strip(), Ink.TROUBLE)
    arrow = line.partition(" ")[0]
    return piece("  "), piece(line, _INKS.get(arrow))
