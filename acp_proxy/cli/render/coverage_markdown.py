"""Writes what recordings exercise as Markdown, for the README of an agent or a client."""

from collections.abc import Iterator

from acp_proxy.cli.render.coverage_screen import remarks, share, title
from acp_proxy.cli.render.markdown import code, escaped, prose
from acp_proxy.conformance.coverage import (
    CoverageItem,
    CoverageReport,
    CoverageSection,
    DialectCoverage,
)
from acp_proxy.conformance.coverage_items import Standing
from acp_proxy.wording import counted


def markdown(report: CoverageReport) -> Iterator[str]:
    """Yields the lines of a report in Markdown."""
    for number, one in enumerate(report.dialects):
        if number:
            yield ""
        yield from _dialect(one)


def _dialect(one: DialectCoverage) -> Iterator[str]:
    yield f"## Coverage of {title(one)}"
    yield ""
    recordings = counted(len(one.recordings), "recording")
    items = f" exercise {share(one.seen, one.defined)} stable items" if one.defined else ""
    yield f"{recordings}{items}."
    if one.defined:
        yield ""
        yield "| | seen |"
        yield "|---|---|"
    for section in one.sections:
        if section.defined:
            yield f"| {section.name} | {share(section.seen, section.defined)} |"
    for section in one.sections:
        yield ""
        yield from _section(section, len(one.recordings))


def _section(section: CoverageSection, recordings: int) -> Iterator[str]:
    yield f"### {section.name[0].upper()}{section.name[1:]}"
    yield ""
    shown = [one for one in section.items if one.count or one.standing is Standing.STABLE]
    if shown:
        yield "| | seen | times | recordings | first | |"
        yield "|---|---|---:|---:|---|---|"
        yield from (_row(item, recordings) for item in shown)
    if section.left_out:
        yield ""
        yield f"More names: {section.left_out:,} times."
    if gaps := section.gaps(Standing.UNSTABLE):
        yield ""
        yield f"Unstable, not seen: {', '.join(map(code, gaps))}."


def _row(item: CoverageItem, recordings: int) -> str:
    if not item.count or item.first is None:
        return f"| {code(item.name)} | no | | | | |"
    name = f"{item.first.name} " if recordings > 1 else ""
    cells = [
        code(item.name),
        "yes",
        f"{item.count:,}",
        f"{item.recordings:,}",
        f"{escaped(name)}{code(f'#{item.first.seq}')}",
        prose(remarks(item)),
    ]
    return f"| {' | '.join(cells)} |"
