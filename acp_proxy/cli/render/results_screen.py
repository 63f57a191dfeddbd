"""Shows merged results on a terminal: how all of it went, and a line for what is not clean."""

from acp_proxy.batches.merged import MergedResults
from acp_proxy.batches.results import VerdictKind
from acp_proxy.cli.render.output import Page, stdout_screen
from acp_proxy.cli.render.results_rows import (
    CLEAN_MARK,
    FAILED_MARK,
    UNSURE_MARK,
    headline,
    mark,
    reason,
    remarks,
    word,
)
from acp_proxy.cli.render.styled_text import Ink, piece

_INKS = {CLEAN_MARK: Ink.TO_CLIENT, FAILED_MARK: Ink.TROUBLE, UNSURE_MARK: Ink.STDERR}


def show_results(merged: MergedResults) -> None:
    """Prints merged results."""
    page = Page(stdout_screen())
    for verdict in merged.failed:
        sign = mark(verdict.kind)
        page.print(
            piece(f"{sign} ", _INKS[sign], bold=True),
            piece(verdict.recording, bold=True),
            piece(f"  {word(verdict.kind)}", _INKS[sign]),
            piece(f"  {reason(verdict)}"),
        )
    for text in remarks(merged):
        page.wrap(piece(f"{UNSURE_MARK} ", Ink.STDERR, bold=True), piece(text))
    counts = [
        f"{word(kind)}: {count:,}"
        for kind, count in merged.counts.items()
        if kind is not VerdictKind.CLEAN
    ]
    sign = FAILED_MARK if merged.exit else CLEAN_MARK
    pieces = [piece(f"{merged.header.command}: {headline(merged)}", _INKS[sign], bold=True)]
    if counts:
        pieces.append(piece(f"; {', '.join(counts)}"))
    page.wrap(piece(f"{sign} ", _INKS[sign], bold=True), *pieces)
    page.flush()
