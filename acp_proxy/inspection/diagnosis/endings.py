"""How the agent ended, and in the middle of what."""

from collections.abc import Iterator
from signal import SIGTERM

from acp_proxy.inspection.describe.values import counted
from acp_proxy.inspection.diagnosis.course import Happened
from acp_proxy.inspection.diagnosis.evidence import Evidence, named_calls, under_way
from acp_proxy.inspection.diagnosis.facts import PROBLEM, REMARK, Problem, TurnSummary
from acp_proxy.safe_text import plain


def ended_agent(evidence: Evidence) -> Iterator[Problem]:
    """An end in the middle of a turn, or one that nobody asked for; a remark if it is only odd.

    An agent that is told to stop, or whose client closes its end, while nothing is open has ended
    well. What its client left open is told of the prompts, and what a fault has done is no problem.
    """
    cut = evidence.cut_turns
    ended = next(iter(evidence.of_kind("exit")), None)
    if ended is None:
        if cut:
            yield Problem(
                "incomplete", PROBLEM, f"the recording ends {_amid(evidence, cut)}", _prompts(cut)
            )
        return
    signal = _last_signal(evidence.events)
    text, expected = _exit_text(ended, signal)
    if cut:
        found = PROBLEM, f"{text}, {_amid(evidence, cut)}"
    else:
        found = _unexpected(evidence, ended, signal, text, expected=expected)
    severity, text = found
    if not text:
        return
    if (rule := evidence.injected.that_ended(ended.seq)) is not None:
        amid = f" {_amid(evidence, cut)}" if cut else ""
        severity, text = REMARK, f"fault {rule} ended the agent{amid}"
    yield Problem("agent-ended", severity, f"{text} (#{ended.seq})", [ended.seq, *_prompts(cut)])


def _unexpected(
    evidence: Evidence, ended: Happened, signal: Happened | None, text: str, *, expected: bool
) -> tuple[str, str]:
    """How much an end matters that was in the middle of no turn, and a sentence; or nothing."""
    left = evidence.client_left
    if "reason" in ended.data:
        return PROBLEM, text
    if expected:
        is_odd = left is None and signal is None and evidence.reader.count() > 0
        return REMARK, f"{text} by itself, its client was still there" if is_odd else ""
    alone = "" if left is not None or signal is not None else ", its client was still there"
    told_to_end = signal is not None and signal.data.get("signal") == SIGTERM
    is_bad = alone or ("signal" in ended.data and not (told_to_end and _is_by(ended, signal)))
    return (PROBLEM if is_bad else REMARK), f"{text}{alone}"


def _is_by(ended: Happened, signal: Happened | None) -> bool:
    return signal is not None and ended.data.get("signal") == signal.data.get("signal")


def _exit_text(ended: Happened, signal: Happened | None) -> tuple[str, bool]:
    """How the agent ended, and whether that is how an agent ends that is told to."""
    data = ended.data
    if "reason" in data:
        return plain(str(data["reason"])), False
    told = signal.data.get("signal") if signal is not None else None
    if "signal" not in data:
        code = data.get("code")
        expected = code == 0 or (isinstance(told, int) and code == 128 + told)
        return f"the agent exited with {code}", expected
    name = data.get("name", f"signal {data['signal']}")
    if signal is None or told != data["signal"]:
        return f"the agent was killed by {name}, which did not come through acp-proxy", False
    if signal.data.get("action") == "sent":
        why = plain(str(signal.data.get("reason", "")))
        return f"the agent was ended by {name}, which acp-proxy sent: {why}", False
    return f"the agent was ended by {name}, which was passed on to it", True


def _amid(evidence: Evidence, cut: list[TurnSummary]) -> str:
    """In the middle of which turns, and of what in them."""
    first = cut[0]
    prompt = f' "{first.prompt[:60]}"' if first.prompt else ""
    where = f"in the middle of turn {first.id} (prompt{prompt} #{first.prompt_seq})"
    if len(cut) > 1:
        where = f"{where} and {counted(len(cut) - 1, 'other')}"
    running = under_way(evidence, first.id, first.prompt_seq)
    return f"{where}, with {named_calls(running)} in progress" if running else where


def _prompts(turns: list[TurnSummary]) -> list[int]:
    return [turn.prompt_seq for turn in turns]


def _last_signal(events: list[Happened]) -> Happened | None:
    """The last signal that came by us before the agent's end, if there was one."""
    exit_seq = next((event.seq for event in events if event.kind == "exit"), None)
    ours = [event for event in events if event.kind == "signal"]
    return next((e for e in reversed(ours) if exit_seq is None or e.seq < exit_seq), None)
