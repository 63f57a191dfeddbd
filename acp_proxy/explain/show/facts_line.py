"""One line of facts about a recording: what was asked, done and changed, and how long it took.

`show` prints the line after the findings, and a report has it below its verdict. Facts that an
imported recording lacks are left out; they are never 0.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from attrs import frozen

from acp_proxy.base.wording import counted, duration, share
from acp_proxy.explain.describe.content_texts import signed
from acp_proxy.explain.describe.phrases import joined
from acp_proxy.explain.show.summary_values import Summary, TurnSummary
from acp_proxy.explain.stats.turn_times import Part
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.updates import FAILED, FINAL
from acp_proxy.recording.recording import needs

PARTS = {
    Part.STREAMING: "agent streaming",
    Part.SILENT: "agent silent",
    Part.PERSON: "a person",
    Part.TERMINALS: "terminals",
    Part.FILES: "files",
    Part.OTHER: "other requests",
}
"""The words for the parts of a turn's time."""
_LEAST_NS = 10**9
"""Turns that took less are not divided among those who were waited for."""
_LEAST_SHARE = 10
"""A wait is named if it takes at least a tenth of the time of all turns."""
_NEVER = "never ended"
_TROUBLE = ("failed", "error", _NEVER)
_ANSWERS = {
    "allow_once": "allowed", "allow_always": "allowed", "granted": "allowed",
    "reject_once": "rejected", "reject_always": "rejected", "denied": "rejected",
}  # fmt: skip


@frozen
class Fact:
    """A fact of the line."""

    text: str
    tone: str = ""
    """good, trouble or caution; empty for a plain fact."""


def facts_line(summary: Summary) -> list[Fact]:
    """Returns the facts of a recording, in the order in which they are printed.

    Args:
        summary: the summary of the recording.
    """
    return [*_facts(summary)]


def _facts(summary: Summary) -> Iterator[Fact]:
    yield from _turns(summary)
    yield from _time(summary)
    yield from _calls(summary)
    yield from _answers(summary)
    yield from _work(summary)


def _turns(summary: Summary) -> Iterator[Fact]:
    if summary.turns:
        odd = Counter(_how(turn, summary) for turn in summary.turns)
        del odd["end_turn"], odd["ended"]
        yield _fact("turn", len(summary.turns), odd)


def _how(turn: TurnSummary, summary: Summary) -> str:
    """Returns how a turn ended, in a word."""
    if turn.outcome == "error":
        return "failed"
    unended = "open" if summary.is_open else _NEVER
    return turn.stop_reason or ("ended" if turn.end_seq else unended)


def _fact(noun: str, count: int, odd: Mapping[str, int]) -> Fact:
    """Returns a fact about things of which some went another way than usual."""
    words = [word if n == count == 1 else f"{n:,} {word}" for word, n in odd.items() if n]
    text = (" " if count == 1 else ", ").join([counted(count, noun), *words])
    is_trouble = any(odd.get(word) for word in _TROUBLE)
    return Fact(f"{text} ✗" if is_trouble else text, "trouble" if is_trouble else "")


@needs("middle", "durations", unknown=())
def _time(summary: Summary) -> Iterator[Fact]:
    spent, step_ns = summary.spent, summary.recording.step_ns
    if not (total := sum(spent.values())):
        return
    waits = {part: ns for part, ns in spent.items() if part is not Part.STREAMING}
    longest = max(waits, key=lambda part: waits[part])
    text = duration(total, step_ns)
    if total >= _LEAST_NS and waits[longest] * _LEAST_SHARE >= total:
        text = f"{text}, {share(waits[longest], total)} {PARTS[longest]}"
    yield Fact(text)


def _calls(summary: Summary) -> Iterator[Fact]:
    statuses = Counter[str]()
    for tally in summary.tool_calls:
        statuses.update(tally.statuses)
    if not (count := statuses.total()):
        return
    failed = sum(statuses[name] for name in FAILED)
    unended = sum(n for name, n in statuses.items() if name not in FINAL)
    odd = {
        "failed": failed,
        "cancelled": statuses["cancelled"],
        "open" if summary.is_open else _NEVER: unended,
    }
    fact = _fact("call", count, odd)
    yield Fact(f"{fact.text} ✓", "good") if statuses["completed"] == count else fact


def _answers(summary: Summary) -> Iterator[Fact]:
    """Yields the permissions and forms that a person was asked for, with the answers."""
    answers = Counter[str]()
    for answer, count in summary.answers.items():
        answers[_ANSWERS.get(answer, answer)] += count
    if not (count := answers.total()):
        return
    is_lost = "open" in answers and not summary.is_open
    if is_lost:
        answers["never answered"] = answers.pop("open")
    are_permissions = all(question.method == PERMISSION for question in summary.questions)
    noun = counted(count, "permission" if are_permissions else "question")
    words = ", ".join(f"{n:,} {answer}" for answer, n in answers.items())
    words = next(iter(answers)) if len(answers) == 1 else words
    yield Fact(f"{noun} ({words}){' ✗' * is_lost}", "trouble" if is_lost else "")


def _work(summary: Summary) -> Iterator[Fact]:
    """Yields the changed files, the commands in terminals, and the tokens in the context."""
    work, commands = summary.work, summary.terminals.answered
    if work.files:
        yield Fact(joined(counted(work.files, "file"), signed(*(work.lines or (0, 0)))))
    if commands:
        ends = [
            joined(f"{n:,}" if len(work.exits) > 1 else "", how) for how, n in work.exits.items()
        ]
        is_good = work.exits == {"exit 0": commands}
        is_known = sum(work.exits.values()) == commands
        tone = "good" if is_good else "caution" if is_known else ""
        yield Fact(", ".join([counted(commands, "command"), *ends]), tone)
    if work.tokens is not None:
        used, size = work.tokens
        yield Fact(f"{_short(used)}{f' of {_short(size)}' if size else ''} tokens")


def _short(count: int) -> str:
    """Writes a large number in thousands or millions, such as ``21k`` or ``1.0M``."""
    for unit, word in ((10**6, "M"), (10**3, "k")):
        if count >= unit:
            return f"{count / unit:.{int(unit == 10**6 or count < 10 * unit)}f}{word}"
    return str(count)
