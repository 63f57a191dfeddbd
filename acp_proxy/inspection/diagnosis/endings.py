"""How the agent ended, and in the middle of what."""

from collections.abc import Iterator

from acp_proxy.inspection.describe.values import counted
from acp_proxy.inspection.diagnosis.course import Happened
from acp_proxy.inspection.diagnosis.evidence import Evidence, named_calls, under_way
from acp_proxy.inspection.diagnosis.facts import PROBLEM, REMARK, Problem, TurnSummary
from acp_proxy.inspection.safe_text import plain


def ended_agent(evidence: Evidence) -> Iterator[Problem]:
    """An end in the middle of a turn, or one that nobody asked for; a remark if it is only odd."""
    cut = [turn for turn in evidence.turns if turn.end_seq is None]
    ended = next(iter(evidence.of_kind("exit")), None)
    if ended is None:
        if cut and not evidence.live:
            yield Problem(
                "incomplete", PROBLEM, f"the recording ends {_amid(evidence, cut)}", _prompts(cut)
            )
        return
    signal = _last_signal(evidence.events)
    left = _client_left(evidence, ended)
    seqs = [ended.seq, *_prompts(cut)]
    text, expected = _exit_text(ended, signal)
    if cut:
        after = ", after its client had closed its end" if left is not None else ""
        when = f"{text}{after}, {_amid(evidence, cut)}"
        yield Problem("agent-ended", PROBLEM, f"{when} (#{ended.seq})", seqs)
    elif "reason" in ended.data:
        yield Problem("agent-ended", PROBLEM, f"{text} (#{ended.seq})", seqs)
    elif not expected:
        alone = "" if left is not None or signal is not None else ", its client was still there"
        bad = PROBLEM if not (left or signal) or "signal" in ended.data else REMARK
        yield Problem("agent-ended", bad, f"{text}{alone} (#{ended.seq})", seqs)
    elif left is None and signal is None and evidence.course.counts:
        text = f"{text} by itself, its client was still there (#{ended.seq})"
        yield Problem("agent-ended", REMARK, text, seqs)


def _client_left(evidence: Evidence, ended: Happened) -> Happened | None:
    """The end of the client's output, if that came before the agent's end."""
    for event in evidence.of_kind("eof"):
        by_itself = event.data.get("reason") == "end of file"
        if event.seq < ended.seq and event.data.get("stream") == "to-agent" and by_itself:
            return event
    return None


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
    running = under_way(evidence, first.id, first.prompt_seq, evidence.course.last_seq)
    return f"{where}, with {named_calls(running)} in progress" if running else where


def _prompts(turns: list[TurnSummary]) -> list[int]:
    return [turn.prompt_seq for turn in turns]


def _last_signal(events: list[Happened]) -> Happened | None:
    """The last signal that came by us before the agent's end, if there was one."""
    exit_seq = next((event.seq for event in events if event.kind == "exit"), None)
    ours = [event for event in events if event.kind == "signal"]
    return next((e for e in reversed(ours) if exit_seq is None or e.seq < exit_seq), None)
