"""Shows what `doctor` has found: a line for each result, and below it what helps."""

from collections.abc import Iterator

from attrs import evolve

from acp_proxy.cli.render.output import Page, stdout_screen
from acp_proxy.cli.render.setup_screen import masker
from acp_proxy.cli.render.styled_text import Ink, Piece, Screen, piece
from acp_proxy.doctor.context import CheckResult, CheckStatus, Examination
from acp_proxy.wording import counted

_LABEL = 12
_MOST = 10
"""Results of one check that are shown."""
_MARKS: dict[CheckStatus, tuple[str, Ink]] = {
    CheckStatus.OK: ("✓", Ink.TO_CLIENT),
    CheckStatus.WARNING: ("!", Ink.STDERR),
    CheckStatus.ERROR: ("✗", Ink.TROUBLE),
}


def masked(found: Examination) -> Examination:
    """Masks secrets, unless the command shows them."""
    mask = masker()
    results = [
        evolve(
            result,
            text=mask.text(result.text),
            advice=mask.text(result.advice),
            commands=[mask.text(command) for command in result.commands],
        )
        for result in found.results
    ]
    return evolve(
        found,
        command=[mask.text(word) for word in found.command],
        recordings=mask.text(found.recordings),
        results=results,
    )


def show_examination(found: Examination) -> None:
    """Prints all results.

    Args:
        found: what was found, without secrets.
    """
    page = Page(stdout_screen())
    label, count = "", 0
    for result in found.results:
        count = count + 1 if result.check == label else 1
        shown = result.check if count == 1 else ""
        label = result.check
        if count > _MOST:
            if count == _MOST + 1:
                page.print(piece(" " * (_LABEL + 2)), piece("... --json has all", Ink.FAINT))
            continue
        page.lines(_lines(result, shown, page.screen))
    page.line("")
    page.wrap(*_total(found))
    page.flush()


def _lines(result: CheckResult, label: str, screen: Screen) -> Iterator[str]:
    """Yields the lines of a result; one of its check has a label, and the others none."""
    mark, ink = _MARKS[result.status]
    indent = piece(" " * (_LABEL + len(mark) + 1))
    first, *rest = screen.wrapped(indent, piece(result.text))
    head = screen.paint(piece(mark, ink, bold=True)) + f" {label.ljust(_LABEL)}"
    yield head + first[len(indent[0]) :]
    yield from rest
    if result.advice:
        yield from screen.wrapped(indent, piece(result.advice, Ink.FAINT))
    for command in result.commands:
        # A command that was broken into lines could not be copied.
        yield screen.whole(indent, piece(command, bold=True))


def _total(found: Examination) -> list[Piece]:
    wrong = sum(result.status is CheckStatus.ERROR for result in found.results)
    worth = sum(result.status is CheckStatus.WARNING for result in found.results)
    verdict = piece(f"✗ {counted(wrong, 'problem')}", Ink.TROUBLE, bold=True)
    if not wrong:
        verdict = piece("✓ nothing is wrong", Ink.TO_CLIENT, bold=True)
    verb = "is" if worth == 1 else "are"
    return [verdict, piece(f"; {worth} {verb} worth knowing" if worth else "")]
