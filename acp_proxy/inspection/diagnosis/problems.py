"""What is wrong with a conversation: one sentence for each thing, with the frames it is about.

A *problem* went wrong; a *remark* is worth knowing and may be as it should. Nothing is a problem
that a person or a program may take its time for.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator

from acp_proxy.inspection.describe.values import counted, word
from acp_proxy.inspection.diagnosis.debts import silences, unanswered
from acp_proxy.inspection.diagnosis.endings import ended_agent
from acp_proxy.inspection.diagnosis.evidence import Evidence
from acp_proxy.inspection.diagnosis.facts import PROBLEM, Problem
from acp_proxy.inspection.diagnosis.failures import (
    failed_requests,
    failed_turns,
    refused_logins,
)
from acp_proxy.inspection.diagnosis.late import late_updates
from acp_proxy.inspection.diagnosis.lines import HEAD, Line, read_lines
from acp_proxy.inspection.diagnosis.losses import gaps, lost_answers, stalls, undelivered
from acp_proxy.inspection.diagnosis.prompts import unanswered_prompts
from acp_proxy.inspection.preview import preview
from acp_proxy.inspection.timeline import duration
from acp_proxy.protocol.updates import kind_and_update

_LATE = {
    "agent_message_chunk", "agent_thought_chunk", "thought_message_chunk", "tool_call",
    "tool_call_update", "plan", "plan_update", "agent_message", "agent_thought",
    "tool_call_content_chunk",
}  # fmt: skip
"""Updates that are a turn's work. Commands, modes, options, titles, usage, notices and what is
custom may come at any time, and so may an echo of what the user said."""


def find_problems(evidence: Evidence) -> list[Problem]:
    """Looks for everything, the worst first."""
    found = list(itertools.chain.from_iterable(finder(evidence) for finder in _FINDERS))
    return sorted(found, key=lambda problem: problem.severity != PROBLEM)


def has_problem(evidence: Evidence) -> bool:
    """Whether `find_problems` finds a problem; stops at the first and reads no more than it must.

    It asks the same finders. What no pass over the frames was made for are silences, of which only
    those of a running conversation can be a problem.
    """
    every = itertools.chain.from_iterable(finder(evidence) for finder in _FINDERS)
    return any(problem.severity == PROBLEM for problem in every)


def _late_updates(evidence: Evidence) -> Iterator[Problem]:
    """Updates after the end of a turn that are a turn's work, told by turn."""
    made = evidence.injected.made
    late = {found.seq: found for found in late_updates(evidence.reader) if found.seq not in made}
    by_turn: dict[int, list[tuple[Line, str]]] = {}
    running: set[str | None] = set()  # v2: a session may work without a prompt
    for line in read_lines(evidence.reader, late, HEAD):
        if line.turn is not None:
            continue  # another message of the same batch
        kind, update = kind_and_update(line.part("params"))
        if kind == "state_update":
            (running.add if word(update, "state") == "running" else running.discard)(line.session)
        if kind in _LATE and line.session not in running:
            by_turn.setdefault(late[line.seq].turn, []).append((line, kind))
    for turn, updates in by_turn.items():
        (line, kind), *others = updates
        first, last = late[line.seq], late[updates[-1][0].seq]
        text = preview(line.raw, line.kind, line.method).partition(": ")[2][:60]
        said = f'{kind} "{text}" (#{line.seq})' if text else f"{kind} (#{line.seq})"
        more = f" and {counted(len(others), 'other update')}" if others else ""
        when = f"came after turn {turn} had ended (#{first.end_seq})"
        yield Problem(
            "late-update",
            PROBLEM,
            f"{said}{more} {when}, {duration(last.after_ns)} late",
            [line.seq for line, _ in updates][:100],
        )


def _not_acp(evidence: Evidence) -> Iterator[Problem]:
    for lines in evidence.not_acp:
        text = lines.text[:80]
        who = {"to-client": "on the agent's stdout", "to-agent": "from the client"}[lines.stream]
        what = "1 line" if lines.count == 1 else f"{lines.count:,} lines"
        was = (
            f"was not ACP: #{lines.seq}"
            if lines.count == 1
            else f"were not ACP, first #{lines.seq}"
        )
        yield Problem(
            "not-acp", PROBLEM, f'{what} {who} {was} "{text}" ({lines.reason})', [lines.seq]
        )  # fmt: skip


_FINDERS: tuple[Callable[[Evidence], Iterable[Problem]], ...] = (
    unanswered_prompts, ended_agent, stalls, unanswered, silences, _late_updates, _not_acp, gaps,
    undelivered, lost_answers, failed_requests, refused_logins, failed_turns,
)  # fmt: skip
