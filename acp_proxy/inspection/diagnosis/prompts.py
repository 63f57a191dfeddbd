"""Prompts that were never answered: the first thing to know about a conversation that has ended."""

from collections.abc import Iterator

from acp_proxy.inspection.diagnosis.course import Happened
from acp_proxy.inspection.diagnosis.evidence import (
    Evidence,
    named_calls,
    request_text,
    requests,
    under_way,
)
from acp_proxy.inspection.diagnosis.facts import PROBLEM, REMARK, Problem, TurnSummary
from acp_proxy.inspection.diagnosis.waits import Wait
from acp_proxy.inspection.timeline import duration


def unanswered_prompts(evidence: Evidence) -> Iterator[Problem]:
    """The prompts that no answer came to, but for those in which the agent or recorder died."""
    if evidence.live:
        return
    cut = {turn.id for turn in evidence.cut_turns}
    open_ = [turn for turn in evidence.turns if turn.end_seq is None and turn.id not in cut]
    seqs = [turn.prompt_seq for turn in open_]
    lines, withheld = requests(evidence, seqs), evidence.injected.withheld(seqs)
    for turn in open_:
        left = evidence.client_left
        seq = turn.prompt_seq
        what = request_text("session/prompt", seq, lines.get(seq))
        end = evidence.first_end
        rule = withheld.get(seq) or evidence.injected.that_held(None if end is None else end.seq)
        never = "was never answered" if turn.outcome != "result" else "was accepted and never ended"
        text = f"{what} {never}{_meanwhile(evidence, turn, left)}"
        text = text if rule is None else f"{text}, because of fault {rule}"
        about = [seq] if left is None else [seq, left.seq]
        yield Problem("unanswered", PROBLEM if rule is None else REMARK, text, about)


def _meanwhile(evidence: Evidence, turn: TurnSummary, left: Happened | None) -> str:
    """What happened in place of an answer, to be read after it."""
    later = evidence.prompt_after(turn)
    if later is not None:
        return f"; the client went on with session/prompt (#{later.prompt_seq})"
    wait = next((w for w in evidence.open_at_end if w.owed.seq == turn.prompt_seq), None)
    if left is None:
        until = "until the end"
    else:
        how = left.data.get("name") if left.kind == "signal" else "closed its end"
        until = f"until the client gave up ({how}, #{left.seq})"
    # The agent cannot answer before its own question is answered, so that one is the client's.
    if (asked := _asked_of_client(evidence, turn)) is not None:
        return f"; the agent waited for its client to answer {asked} {until}"
    if left is None:
        return "" if wait is None else f", {_how_long(evidence, wait, until)}"
    if wait is None:
        return f"; {until}"
    return f"; {_how_long(evidence, wait, until)}"


def _asked_of_client(evidence: Evidence, turn: TurnSummary) -> str | None:
    """The first request of the agent in a turn that its client had not answered at the end."""
    for wait in evidence.open_at_end:
        owed = wait.owed
        if owed.direction == "to-client" and owed.turn == turn.id:
            return request_text(owed.method, owed.seq, requests(evidence, [owed.seq]).get(owed.seq))
    return None


def _how_long(evidence: Evidence, wait: Wait, until: str) -> str:
    """How long nothing came, or in the middle of what it was."""
    running = under_way(evidence, wait.owed.turn, wait.owed.seq)
    if running:
        return f"{named_calls(running)} in progress, {duration(wait.waited_ns)} {until}"
    if wait.silent_ns is None:  # somebody else was waited for
        return f"{duration(wait.waited_ns)} {until}"
    since = f" since #{wait.last_seq}," if wait.is_streaming else ""
    return f"silent for {duration(wait.silent_ns)}{since} {until}"
