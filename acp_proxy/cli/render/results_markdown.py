"""Merged results as Markdown for a pull request, no longer than GitHub takes for a comment.

It begins with a marker, by which a workflow finds the comment that it updates. Verdicts and what is
missing come first, then a folded section for each difference, the most frequent first. Sections
that do not fit are left out, and the last line says how many.
"""

from collections.abc import Iterable, Iterator, Sequence

from acp_proxy.batches.merged import MergedResults
from acp_proxy.batches.results import JobVerdict
from acp_proxy.cli.render.markdown import code, fenced, prose
from acp_proxy.cli.render.results_rows import (
    CLEAN_MARK,
    FAILED_MARK,
    grouped,
    headline,
    listed_findings,
    mark,
    missing_recordings,
    remarks,
    runs,
    versions_remark,
    without_findings,
    word,
)
from acp_proxy.conformance.catalogue import rules
from acp_proxy.conformance.values import SEVERITIES
from acp_proxy.inspection.findings import AGENT, CLIENT, ENVIRONMENT, FAULT, Finding
from acp_proxy.wording import counted

MARKER = "<!-- acp-proxy -->"
LONGEST = 65_536
"""Bytes; GitHub takes as many characters for a comment."""
_RESERVED = 600
"""Of them for what was left out, and the command."""
_SIDES = (CLIENT, AGENT, ENVIRONMENT, FAULT)
_MOST_NAMES = 20
_MOST_ROWS = 20
_LONGEST_TEXT, _MOST_LINES = 1_000, 20
"""Of one difference."""
_LONGEST_CELL = 300
_LONGEST_COMMAND = 200

_Found = tuple[JobVerdict, Finding]


def markdown(merged: MergedResults) -> str:
    """Returns the report."""
    sign = FAILED_MARK if merged.exit else CLEAN_MARK
    title = f"### {sign} acp-proxy {merged.header.command}: {headline(merged)}"
    head = [MARKER, title, "", *_verdicts(merged)]
    for text in (*remarks(merged, code), versions_remark(merged, code)):
        head += [] if text is None else ["", text]
    sections = [*_findings(merged), *_differences(merged)]
    room = LONGEST - _RESERVED - _size(head)
    fitting: list[Sequence[str]] = []
    for section in sections:
        if (size := _size(section)) <= room:
            fitting.append(section)
            room -= size
    lines = [*head, *(line for section in fitting for line in section), "", _command(merged)]
    if left := len(sections) - len(fitting):
        verb = "is" if left == 1 else "are"
        text = f"{counted(left, 'more section')} {verb} left out: a comment has 64 KB at most."
        lines += ["", f"{text} The results have all."]
    return "\n".join(lines) + "\n"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in lines)


def _verdicts(merged: MergedResults) -> Iterator[str]:
    yield "| verdict | recordings |"
    yield "|---|---:|"
    for kind, count in merged.counts.items():
        yield f"| {mark(kind)} {word(kind)} | {count:,} |"
    if missing := missing_recordings(merged):
        yield f"| ! missing | {missing:,} |"


def _command(merged: MergedResults) -> str:
    words = " ".join(merged.header.words[:_LONGEST_COMMAND]).removesuffix("--").strip()
    version = code(merged.header.version[:_LONGEST_COMMAND])
    return f"acp-proxy {version} {code(words[:_LONGEST_COMMAND])}".rstrip()


def _differences(merged: MergedResults) -> Iterator[Sequence[str]]:
    """Yields a section for all recordings that came to the same."""
    for verdict, names in grouped(without_findings(merged)):
        yield [*_section(verdict, names)]


def _section(verdict: JobVerdict, names: Sequence[str]) -> Iterator[str]:
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    first = verdict.first_divergence
    at = "" if first is None or first.seq is None or more else f" at {_frame(first.seq)}"
    title = f"{mark(verdict.kind)} {_name(names[0])}{more}: {word(verdict.kind)}{at}"
    yield from ("", f"<details><summary>{title}</summary>", "")
    text = "\n".join(runs(verdict)) or verdict.error or ""
    if first is not None:
        text = first.text
    if text:
        yield from fenced(_cut(text))
        yield ""
    if verdict.attempt > 1 and not more:
        yield f"After {verdict.attempt:,} attempts."
        yield ""
    if verdict.new_recording and not more:
        yield f"New recording: {_name(verdict.new_recording)}"
        yield ""
    if more:
        yield f"{counted(len(names), 'recording')}: {_names(names)}"
        yield ""
    yield "</details>"


def _findings(merged: MergedResults) -> Iterator[Sequence[str]]:
    """Yields a section for each rule that a side broke, the worst first."""
    groups: dict[tuple[str, str | None], list[_Found]] = {}
    for one in merged.recordings:
        for finding in listed_findings(one.verdict):
            groups.setdefault((finding.rule, finding.by), []).append((one.verdict, finding))
    for (rule, _), found in sorted(groups.items(), key=lambda item: _severity(item[1])):
        yield [*_rule(rule, found)]


def _rule(rule: str, found: Sequence[_Found]) -> Iterator[str]:
    sign = FAILED_MARK if _severity(found) == 0 else "!"
    names = {verdict.recording for verdict, _ in found}
    count = f"{counted(len(found), 'finding')} in {counted(len(names), 'recording')}"
    first = found[0][1]
    whose = first.whose if first.by in _SIDES else _name(first.whose)
    title = f"{sign} {_name(rule)} {whose}: {count}"
    yield from ("", f"<details><summary>{title}</summary>", "")
    if (known := rules().get(rule)) is not None:
        yield prose(known.text)
        yield ""
    yield "| recording | frame | |"
    yield "|---|---:|---|"
    for verdict, finding in found[:_MOST_ROWS]:
        method = f"{_name(finding.method)} " if finding.method else ""
        text = f"{method}{_name(finding.text)}"
        yield f"| {_name(verdict.recording)} | {_frame(finding.seq)} | {text} |"
    if len(found) > _MOST_ROWS:
        yield ""
        yield f"And {len(found) - _MOST_ROWS:,} more."
    yield from ("", "</details>")


def _severity(found: Sequence[_Found]) -> int:
    return min(SEVERITIES.index(finding.severity) for _, finding in found)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(map(_name, names[:_MOST_NAMES])) + more


def _frame(seq: int) -> str:
    return code(f"#{seq}")  # of which GitHub would make a link to an issue otherwise


def _name(text: str) -> str:
    return code(text[:_LONGEST_CELL])


def _cut(text: str) -> str:
    lines = text[:_LONGEST_TEXT].splitlines()
    cut = "\n".join(lines[:_MOST_LINES])
    return cut if len(cut) == len(text.rstrip("\n")) else f"{cut}\n..."
