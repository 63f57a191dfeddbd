"""Prints what a rule of the protocol asks, with conversations that keep it and that break it."""

from acp_proxy.cli.render.output import Page, stdout_screen
from acp_proxy.cli.render.styled_text import Ink, Piece, piece
from acp_proxy.conformance.catalogue import left_out, rules
from acp_proxy.conformance.choice import no_such_rule
from acp_proxy.conformance.examples import Example, examples_of

_LABEL = 12
_EITHER = "the client and the agent"
_INKS = {"->": Ink.TO_AGENT, "<-": Ink.TO_CLIENT}


def explain_rule(name: str) -> None:
    """Prints all that is known of a rule.

    Args:
        name: its id.

    Raises:
        NoSuchRule: no rule has this id.
    """
    page = Page(stdout_screen())
    if (why := left_out().get(name)) is not None:
        page.wrap(piece(""), piece(name, bold=True), piece(f"  is not checked: {why}"))
        page.flush()
        return
    rule = rules().get(name)
    if rule is None:
        raise no_such_rule(name)
    page.print(piece(name, bold=True))
    page.wrap(piece("  "), piece(f"{rule.text.rstrip('.')}."))
    page.print()
    rows = {
        "binds": _EITHER if rule.by == "either" else f"the {rule.by}",
        "severity": f"{rule.severity.value}, or less where something else may explain it",
        "dialects": ", ".join(rule.dialects),
        "source": "; ".join(rule.source),
        "found by": f"{rule.detection}",
    }
    for label, text in rows.items():
        page.wrap(piece(label.ljust(_LABEL)), piece(text))
    for one in examples_of(name):
        page.print()
        page.print(*_title(one))
        for line in one.lines:
            page.wrap(*_line(line), indent=5)
    page.flush()


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
