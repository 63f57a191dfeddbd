"""Prints what recordings exercise of their dialect as text: by section, with what is not seen."""

from acp_proxy.cli.render.output import Page, stdout_screen
from acp_proxy.cli.render.recording_page import shortened
from acp_proxy.cli.render.styled_text import Ink, Piece, piece
from acp_proxy.cli.render.table import aligned
from acp_proxy.conformance.coverage import (
    CoverageItem,
    CoverageReport,
    CoverageSection,
    DialectCoverage,
)
from acp_proxy.conformance.coverage_items import Standing
from acp_proxy.wording import counted, listed

_MOST_RECORDINGS = 5
_LONGEST_NAME = 16
_GAPS = (("not seen", Standing.STABLE), ("unstable, not seen", Standing.UNSTABLE))


def show_coverage(report: CoverageReport) -> None:
    """Prints what was exercised.

    Args:
        report: of all recordings.
    """
    page = Page(stdout_screen())
    for number, one in enumerate(report.dialects):
        if number:
            page.print()
        _show_dialect(page, one)
    page.flush()


def share(seen: int, defined: int) -> str:
    """Writes how many of some items were seen, such as ``6 of 14 (43 %)``; empty if none exist.

    Args:
        seen: how many were.
        defined: how many there are.
    """
    return f"{seen:,} of {defined:,} ({100 * seen // defined} %)" if defined else ""


def title(one: DialectCoverage) -> str:
    """Names the dialect."""
    return f"ACP {one.dialect}" if one.dialect else "a dialect that is not known"


def answers(item: CoverageItem) -> str:
    """Writes how the requests of a method were answered; empty if there was none."""
    of = item.answers or {}
    texts = [counted(of[name], name) for name in ("result", "error") if of.get(name)]
    texts += [f"{of[name]:,} {name}" for name in ("cancelled", "unanswered") if of.get(name)]
    return ", ".join(texts)


def remarks(item: CoverageItem) -> str:
    """Writes what else is known of an item that was seen."""
    texts = []
    if item.standing is not Standing.STABLE:
        texts.append(item.standing.value)
    texts.append(item.text or "")
    texts.append(answers(item))
    if item.used is not None:
        texts.append(f"used {item.used:,} ×" if item.used else "not used")
    return ", ".join(filter(None, texts))


def _show_dialect(page: Page, one: DialectCoverage) -> None:
    names = [covered.recording.name for covered in one.recordings]
    by = f"{counted(len(names), 'recording')}: {listed(names, _MOST_RECORDINGS)}"
    page.wrap(piece(""), piece(f"coverage of {title(one)}", bold=True), piece(f"  by {by}"))
    if one.defined:
        more = f", and {counted(one.unstable, 'unstable one')}" if one.unstable else ""
        page.wrap(piece(""), piece(f"seen: {share(one.seen, one.defined)} stable items{more}"))
    if unread := sum(len(covered.unread) for covered in one.recordings):
        large = counted(unread, "frame")
        text = f"{large} too large to be decoded, of which only the envelope counts"
        page.wrap(piece(""), piece(text, Ink.FAINT))
    for section in one.sections:
        page.print()
        _show_section(page, section, len(names))


def _show_section(page: Page, section: CoverageSection, recordings: int) -> None:
    ink = Ink.TO_AGENT if section.by == "client" else Ink.TO_CLIENT
    name = piece(section.name, ink, bold=True)
    page.print(name, piece(f"  {share(section.seen, section.defined)}"))
    seen = section.seen_items
    width = max((len(f"{item.count:,}") for item in seen), default=0)
    spare = (3, 2) if recordings > 1 else (2,)
    rows = [_row(item, recordings, width) for item in seen]
    page.lines(line.rstrip() for line in aligned(rows, page.screen, spare=spare))
    if section.left_out:
        page.print(piece(f"  … and more names, {section.left_out:,} ×", Ink.FAINT))
    for label, standing in _GAPS:
        if gaps := section.gaps(standing):
            text = piece(", ".join(gaps), None if standing is Standing.STABLE else Ink.FAINT)
            page.wrap(piece("  "), piece(f"{label}: ", Ink.FAINT), text, indent=4)


def _row(item: CoverageItem, recordings: int, width: int) -> list[Piece]:
    is_one, first = recordings == 1, item.first
    name = "" if is_one or first is None else shortened(first.name, _LONGEST_NAME)
    place = "" if first is None else f"{name}#{first.seq}"
    return [
        piece(item.name),
        piece(f"{item.count:>{width},} ×"),
        piece(place, Ink.FAINT),
        *([] if is_one else [piece(f"in {item.recordings:,}", Ink.FAINT)]),
        piece(remarks(item)),
    ]
