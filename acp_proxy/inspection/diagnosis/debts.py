"""Who owes an answer: what was never answered, what hangs, and what is only waited for."""

from collections.abc import Iterator

from acp_proxy.inspection.diagnosis.evidence import (
    Evidence,
    named_calls,
    request_text,
    requests,
    under_way,
)
from acp_proxy.inspection.diagnosis.facts import PROBLEM, REMARK, Problem, Waiting
from acp_proxy.inspection.diagnosis.lines import Line
from acp_proxy.inspection.diagnosis.waits import Awaited, Silence, Wait
from acp_proxy.inspection.timeline import duration
from acp_proxy.safe_text import plain


def find_waiting(evidence: Evidence) -> list[Waiting]:
    """What a running conversation waits for, as far as nothing is wrong with it."""
    if evidence.of_kind("exit"):
        return []  # nobody answers any more
    lanes_of_others = {wait.owed.session for wait in evidence.waits if _holds(wait)}
    hangs = _hangs(evidence)
    waits = [
        wait
        for wait in evidence.waits
        if wait.owed.seq not in hangs and not _is_behind(wait, lanes_of_others)
    ]
    lines = requests(evidence, (wait.owed.seq for wait in waits))
    return [
        Waiting(
            wait.owed.seq, wait.owed.awaited.value, wait.owed.session, wait.owed.turn,
            wait.waited_ns, _waiting_text(evidence, wait, lines.get(wait.owed.seq)),
        )
        for wait in waits
    ]  # fmt: skip


def unanswered(evidence: Evidence) -> Iterator[Problem]:
    """Of a running recording what hangs; of an ended one all requests but the prompts."""
    if evidence.live:
        yield from _hanging(evidence)
        return
    told = {turn.prompt_seq for turn in evidence.turns if turn.end_seq is None}
    asked = [request for request in evidence.unanswered if request.seq not in told]
    seqs = [request.seq for request in asked]
    lines, withheld = requests(evidence, seqs), evidence.injected.withheld(seqs)
    end = evidence.first_end
    held = evidence.injected.that_held(None if end is None else end.seq)
    for request in asked:
        what = request_text(request.method, request.seq, lines.get(request.seq))
        text = f"{request.who_waits}: {what}, {duration(request.waited_ns)}, never answered"
        rule = withheld.get(request.seq) or held or evidence.injected.made.get(request.seq)
        text = text if rule is None else f"{text}, because of fault {rule}"
        yield Problem("unanswered", PROBLEM if rule is None else REMARK, text, [request.seq])


def _hanging(evidence: Evidence) -> Iterator[Problem]:
    hangs = _hangs(evidence)
    lines = requests(evidence, hangs)
    for seq, wait in hangs.items():
        what = request_text(wait.owed.method, seq, lines.get(seq))
        text = f"{_who_waits(wait)}: {what}, {duration(wait.waited_ns)}{_silent(wait)}"
        yield Problem("unanswered", PROBLEM, text, [seq])


def _who_waits(wait: Wait) -> str:
    return "agent waits for client" if _holds(wait) else "client waits for agent"


def _silent(wait: Wait) -> str:
    if not wait.is_streaming:
        return ", nothing came of it"
    return f", nothing came for {duration(wait.silent_ns)} (since #{wait.last_seq})"


def silences(evidence: Evidence) -> Iterator[Problem]:
    """Hangs, unless a tool call was running, or it is told already of what was not answered."""
    if evidence.course is None:
        return
    cut = {turn.prompt_seq for turn in evidence.cut_turns}
    for silence in evidence.course.waits.long:
        owed = silence.owed
        if silence.to_seq is None and owed.seq not in cut:
            continue
        running: dict[int, str] = {}
        if silence.debtor is Awaited.AGENT:
            running = under_way(evidence, owed.turn, owed.seq, silence.from_seq)
        if not running:
            lasted = " until the end" if silence.to_seq is None else ""
            seqs = [seq for seq in (silence.from_seq, silence.to_seq) if seq is not None]
            yield Problem("silence", REMARK, f"{silence_text(silence)}{lasted}", seqs)


def silence_text(silence: Silence) -> str:
    """Who said nothing, for how long, where, and what it owed."""
    owed = silence.owed
    turn = f" in turn {owed.turn}" if owed.turn is not None else ""
    until = f" to #{silence.to_seq}" if silence.to_seq is not None else ""
    what = f"{plain(owed.method or '')} #{owed.seq}"
    return (
        f"the {silence.debtor.value} said nothing for {duration(silence.length_ns)}{turn},"
        f" from #{silence.from_seq}{until}, and owed the answer to {what}"
    )


def _holds(wait: Wait) -> bool:
    return wait.owed.direction == "to-client"


def _is_behind(wait: Wait, held: set[str | None]) -> bool:
    """Whether somebody else in its lane is waited for, who is told."""
    return not _holds(wait) and (wait.owed.session in held or None in held)


def _hangs(evidence: Evidence) -> dict[int, Wait]:
    """What is a hang by now; not while a tool call is under way, whatever that does."""
    return {
        wait.owed.seq: wait
        for wait in evidence.waits
        if wait.is_hang
        and not (
            wait.owed.awaited is Awaited.AGENT
            and under_way(evidence, wait.owed.turn, wait.owed.seq, wait.last_seq)
        )
    }


def _waiting_text(evidence: Evidence, wait: Wait, line: Line | None) -> str:
    owed = wait.owed
    if owed.method == "session/prompt" and owed.turn is not None:
        return _turn_text(evidence, wait)
    why = {Awaited.PERSON: ", a person decides", Awaited.PROGRAM: ", a program runs"}
    what = f"{request_text(owed.method, owed.seq, line)}, {duration(wait.waited_ns)}"
    return f"{_who_waits(wait)}: {what}{why.get(owed.awaited, '')}"


def _turn_text(evidence: Evidence, wait: Wait) -> str:
    turn = wait.owed.turn
    where = f"in turn {turn} (prompt #{wait.owed.seq})"
    if wait.silent_ns is None:
        return f"{where}, {duration(wait.waited_ns)}"
    if not wait.is_streaming:
        return f"{where}, nothing came yet, {duration(wait.waited_ns)}"
    since = f"last update {duration(wait.silent_ns)} ago (#{wait.last_seq})"
    running = under_way(evidence, turn, wait.owed.seq, wait.last_seq)
    if running:
        return f"{where}, {named_calls(running)} in progress, {since}"
    return f"{where}, streaming, {since}"
