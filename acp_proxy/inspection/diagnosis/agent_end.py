"""Finds how the agent ended, and what was open at that time."""

from collections.abc import Iterator
from signal import SIGTERM

from acp_proxy.inspection.diagnosis.context import DiagnosisContext, named_calls, quoted_prompt
from acp_proxy.inspection.diagnosis.values import PROBLEM, REMARK, Finding
from acp_proxy.recording import RecordedEvent
from acp_proxy.safe_text import plain
from acp_proxy.store.exchange_queries import TurnRow
from acp_proxy.store.recorded_events import is_stopping_signal
from acp_proxy.system import SIGKILL, signals
from acp_proxy.wording import counted

_SENT_BY_OTHERS = signals("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")
"""Signals with which an agent does not crash; the system may kill one that takes much memory."""


def agent_end(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds an end of the agent during a turn or without a reason; a harmless one is a remark.

    An agent that is told to stop, or whose client closes its end, while nothing is open has ended
    well. What its client left open is found with the prompts, and what a fault did is no problem.
    """
    if context.recording.lost("ending"):
        return
    cut = context.cut_turns
    exit_ = next(iter(context.of_kind("exit")), None)
    if exit_ is None:
        if cut:
            text = f"the recording ends {_amid(context, cut)}"
            yield Finding("incomplete", PROBLEM, text, _prompts(cut))
        return
    signal, by = _signal_before(context, exit_), None
    text, is_expected = _exit_text(exit_, signal)
    if cut:
        severity, text = PROBLEM, f"{text}, {_amid(context, cut)}"
    else:
        severity, text = _outside_turns(context, exit_, signal, text, is_expected=is_expected)
    if not text:
        return
    if (rule := context.faults.that_ended(exit_.seq)) is not None:
        amid = f" {_amid(context, cut)}" if cut else ""
        severity, text, by = REMARK, f"fault {rule} ended the agent{amid}", "fault"
    elif severity == PROBLEM and _ended_by_itself(exit_, signal):
        by = "agent"
    seqs = [exit_.seq, *_prompts(cut)]
    yield Finding("agent-ended", severity, f"{text} (#{exit_.seq})", seqs, by)


def _ended_by_itself(exit_: RecordedEvent, signal: RecordedEvent | None) -> bool:
    """Whether the agent exited or crashed, and was neither stopped nor could not be started."""
    if signal is not None or "reason" in exit_.data:
        return False
    return exit_.data.get("signal") not in _SENT_BY_OTHERS


def _outside_turns(
    context: DiagnosisContext,
    exit_: RecordedEvent,
    signal: RecordedEvent | None,
    text: str,
    *,
    is_expected: bool,
) -> tuple[str, str]:
    """Returns severity and sentence for an end outside of turns; no sentence if it was ordinary."""
    was_asked_to_end = context.client_end is not None or signal is not None
    if "reason" in exit_.data:
        return PROBLEM, text
    if is_expected:
        is_odd = not was_asked_to_end and context.reader.count() > 0
        return REMARK, f"{text} by itself, its client was still there" if is_odd else ""
    if not was_asked_to_end:
        return PROBLEM, f"{text}, its client was still there"
    signum = exit_.data.get("signal")
    is_terminated = signum == SIGTERM and signal is not None and signal.data["signal"] == signum
    return (PROBLEM if signum is not None and not is_terminated else REMARK), text


def _exit_text(exit_: RecordedEvent, signal: RecordedEvent | None) -> tuple[str, bool]:
    """Returns how the agent ended, and whether that is usual for an agent that is told to stop."""
    data = exit_.data
    if "reason" in data:
        return plain(str(data["reason"])), False
    sent = signal.data.get("signal") if signal is not None else None
    if "signal" not in data:
        code = data.get("code")
        is_expected = code == 0 or (isinstance(sent, int) and code == 128 + sent)
        return f"the agent exited with {code}", is_expected
    name = data.get("name", f"signal {data['signal']}")
    if signal is None or sent != data["signal"]:
        return f"the agent was killed by {name}, which did not come through acp-proxy", False
    if signal.data.get("action") == "sent":
        why = plain(str(signal.data.get("reason", "")))
        return f"the agent was ended by {name}, which acp-proxy sent: {why}", False
    return f"the agent was ended by {name}, which was passed on to it", True


def _signal_before(context: DiagnosisContext, exit_: RecordedEvent) -> RecordedEvent | None:
    """The last signal before the agent's exit that can have ended it.

    Others are passed on as well: SIGUSR1 or SIGWINCH end no agent that handles them, so they
    explain an exit only if it was they that killed it.
    """
    for event in context.of_kind("signal")[::-1]:
        signum = event.data.get("signal")
        can_end = is_stopping_signal(event) or signum in (SIGKILL, exit_.data.get("signal"))
        if event.seq < exit_.seq and signum is not None and can_end:
            return event
    return None


def _amid(context: DiagnosisContext, cut: list[TurnRow]) -> str:
    """Returns a phrase with the turns during which the agent ended, and the running tool calls."""
    first = cut[0]
    prompt = quoted_prompt(context, first)
    where = f"in the middle of turn {first.id} (prompt{prompt} #{first.prompt_seq})"
    if len(cut) > 1:
        where = f"{where} and {counted(len(cut) - 1, 'other')}"
    running = context.running_calls(first.id, first.prompt_seq)
    return f"{where}, with {named_calls(running)} in progress" if running else where


def _prompts(turns: list[TurnRow]) -> list[int]:
    return [turn.prompt_seq for turn in turns]
