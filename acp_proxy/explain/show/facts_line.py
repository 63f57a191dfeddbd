"""One line of facts about a recording: what was asked, done and changed, and how long it took.

`show` prints the line after the findings, and a report shows it below the verdict. Facts that an
imported recording lacks are left out.
"""

from collections import Counter
from collections.abc import Iterator

from attrs import frozen

from acp_proxy.base.wording import counted, duration, share
from acp_proxy.explain.describe.content_texts import signed
from acp_proxy.explain.describe.phrases import joined
from acp_proxy.explain.describe.token_texts import token_facts
from acp_proxy.explain.show.summary_values import REJECTED, Summary, WorkDone
from acp_proxy.explain.stats.turn_times import Part
from acp_proxy.explain.waits import LEAST_NS
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.updates import FAILED, FINAL
from acp_proxy.recording.recording import needs

_PARTS = {
    Part.STREAMING: "agent streaming",
    Part.SILENT: "agent silent",
    Part.PERSON: "a person",
    Part.TERMINALS: "terminals",
    Part.FILES: "files",
    Part.OTHER: "the client",
}
"""The words for the parts of a turn's time."""
_LEAST_SHARE = 10
"""A wait is named in the line of facts if it takes at least a tenth of the time of all turns."""
_ANSWERS = {
    "allow_once": "allowed", "allow_always": "allowed", "granted": "allowed",
    "reject_once": "rejected", "reject_always": "rejected", "denied": "rejected",
}  # fmt: skip
_TROUBLE = FAILED | {"error", "never ended", "never answered"}


def named_parts(silent_call: str) -> dict[Part, str]:
    """Returns the words for the parts of a turn's time.

    Args:
        silent_call: words for the tool calls that ran while the agent was silent; may be empty.
    """
    return {**_PARTS, Part.SILENT: silent_call or _PARTS[Part.SILENT]}


@frozen
class Fact:
    """A fact in the line of facts."""

    text: str
    tone: str = ""
    """How the fact is coloured: good or trouble; empty for a plain fact."""
    seq: int | None = None
    """The number of the frame that the text names, if any."""


def facts_line(summary: Summary) -> list[Fact]:
    """Returns the facts of a recording, in the order in which they are printed.

    Args:
        summary: the summary of the recording.
    """
    turns, calls, answers = Counter[str](), Counter[str](), Counter[str]()
    for turn in summary.turns:
        ended = turn.stop_reason or ("end_turn" if turn.end_seq else summary.unended)
        turns["failed" if turn.outcome == "error" else ended] += 1
    for tally in summary.tool_calls:
        for status, count in summary.statuses_of(tally).items():
            calls[status if status in {*FINAL, REJECTED} else summary.unended] += count
    for answer, count in summary.answers.items():
        is_lost = answer == "open" and not summary.is_open
        answers["never answered" if is_lost else _ANSWERS.get(answer, answer)] += count
    are_permissions = all(question.method == PERMISSION for question in summary.questions)
    commands = Counter(summary.work.exits)
    commands[""] += summary.terminals.answered - commands.total()
    return [
        *_counted("turn", turns, "end_turn"),
        *_time(summary),
        *_counted("call", calls, "completed", " ✓"),
        *_counted("permission" if are_permissions else "question", answers),
        *_files(summary.work),
        *_counted("command", commands, "", alone=", "),
        *_usual_errors(summary),
        *map(Fact, token_facts(summary.tokens)),
    ]


def _counted(
    noun: str, ends: Counter[str], usual: str = "", mark: str = "", alone: str = " "
) -> Iterator[Fact]:
    """Yields the number of turns, calls or commands, and how many of them ended unusually."""
    if (count := ends.total()) <= 0:
        return
    odd = {end: n for end, n in ends.items() if end != usual and n > 0}
    text = counted(count, noun)
    if [*odd.values()] == [count]:
        text += f"{alone}{next(iter(odd))}"
    elif odd:
        text += "".join(f", {n:,} {end}" for end, n in odd.items())
    elif mark:
        yield Fact(f"{text}{mark}", "good")
        return
    is_trouble = not _TROUBLE.isdisjoint(odd)
    yield Fact(f"{text}{' ✗' * is_trouble}", "trouble" * is_trouble)


@needs("middle", "durations", unknown=())
def _time(summary: Summary) -> Iterator[Fact]:
    if total := sum(summary.spent.values()):
        text = duration(total, summary.recording.step_ns)
        part, ns = max(
            summary.spent.items(), key=lambda spent: (spent[0] is not Part.STREAMING, spent[1])
        )
        if total >= LEAST_NS and ns * _LEAST_SHARE >= total:
            text = f"{text}, {share(ns, total)} {named_parts(summary.silent_call)[part]}"
        yield Fact(text)


def _files(work: WorkDone) -> Iterator[Fact]:
    if work.files:
        yield Fact(joined(counted(work.files, "file"), signed(*(work.lines or (0, 0)))))


def _usual_errors(summary: Summary) -> Iterator[Fact]:
    """Yields the number of errors that are usual; all other errors are among the findings."""
    usual = [error for error in summary.error_codes if error.is_routine]
    if usual:
        count, seq = sum(error.count for error in usual), min(error.seq for error in usual)
        yield Fact(f"{counted(count, 'error answer')}{', first' * (count > 1)} #{seq}", seq=seq)
