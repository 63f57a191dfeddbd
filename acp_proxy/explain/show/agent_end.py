"""Finds out how the agent ended, and which requests and turns this end interrupted."""

from collections.abc import Iterator
from signal import SIGTERM

from acp_proxy.base.system import FROM_OUTSIDE, SIGKILL, signal_name
from acp_proxy.base.wording import counted, named_cancels, plain
from acp_proxy.explain.findings import AGENT, CLIENT, ENVIRONMENT, FAULT, Finding, Severity
from acp_proxy.explain.observed_faults import ENDING
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext, named_calls, named_turn
from acp_proxy.explain.show.environment import stderr_line, why_it_never_ran
from acp_proxy.recording.recording import RecordedEvent
from acp_proxy.store.queries.frames import last_frame
from acp_proxy.store.queries.recorded_events import is_stopping_signal

ENDED, NOT_STARTED, EMPTY = "agent.ended", "agent.not-started", "recording.empty"
_CODES_FROM_OUTSIDE = {128 + signum for signum in FROM_OUTSIDE}
"""Exit codes which report that a signal from outside ended the agent or its launcher."""


def agent_end(context: DiagnosisContext) -> Iterator[Finding]:
    """Reports how the agent ended, except after an expected end.

    An end is expected if the client has closed the connection, or acp-proxy has passed on a signal
    to stop, before the agent ends. The agent must also end in an ordinary way, and leave no request
    or turn open.
    """
    if context.reader.live:
        return
    exit_ = next(iter(context.of_kind("exit")), None)
    if exit_ is None:
        is_incomplete = context.recording.state == "incomplete"
        if context.cut or (is_incomplete and not last_frame(context.reader)):
            yield _incomplete(context)
        return
    signal = _signal_before(context, exit_)
    text, is_expected = _exit_text(exit_, signal)
    seqs = tuple(context.cut)
    amid = _amid(context)
    if (rule := context.faults.first_rule(ENDING, exit_.seq)) is not None:
        text = f"fault {rule} ended the agent (#{exit_.seq}){amid}"
        yield Finding("fault.effect", Severity.WARNING, FAULT, exit_.seq, text, seqs)
        return
    severity = _severity(context, exit_, signal, is_expected=is_expected, is_amid=bool(amid))
    if severity is None:
        return
    why = why_it_never_ran(context, exit_) if severity is Severity.ERROR else None
    by, unblamed = _blame(context, exit_, signal, why)
    cut = context.cut_turns[:1]
    if ignored := context.ignored_cancels(cut[0], exit_.t_ns) if cut else []:
        amid = f"{amid}, after it had ignored {named_cancels(ignored)}"
        seqs += (*ignored,)
        if exit_.data.get("signal") in FROM_OUTSIDE:
            by, unblamed = AGENT, None
    is_alone = context.client_end is None and signal is None
    if not amid and "reason" not in exit_.data and is_alone:
        text = f"{text}, while its client was connected"
    said = ""
    if severity is Severity.ERROR and (by == AGENT or why is not None):
        _, line = stderr_line(context)
        said = f': stderr says "{line}"' if line else ""
    because = f": {why}" if why is not None and "reason" not in exit_.data else ""
    rule_id = NOT_STARTED if "reason" in exit_.data else ENDED
    text = f"{text}{amid}{because}{said}"
    yield Finding(rule_id, severity, by, exit_.seq, text, seqs, unblamed)


def empty_recording(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds a recording that has ended without any message from either side."""
    is_over = not context.reader.live and context.recording.state != "incomplete"
    exit_ = next(iter(context.of_kind("exit")), None)
    failed = exit_ is not None and (
        "reason" in exit_.data
        or (context.client_end is None and (exit_.data.get("code") != 0 or "signal" in exit_.data))
    )
    if is_over and not failed and not last_frame(context.reader):
        seq = 0 if exit_ is None else exit_.seq
        text, why = "no message was sent in either direction", "both sides were silent"
        yield Finding(EMPTY, Severity.ERROR, None, seq, text, unblamed=why)


def _incomplete(context: DiagnosisContext) -> Finding:
    seqs = tuple(context.cut) or (context.events[-1].seq if context.events else 0,)
    amid = _amid(context, "the agent").lstrip(",")
    text = f"the recording ends{amid or ' before any message'}"
    why = "the recorder was killed, or could no longer write"
    return Finding("recording.incomplete", Severity.ERROR, None, seqs[0], text, seqs[1:], why)


def _severity(
    context: DiagnosisContext,
    exit_: RecordedEvent,
    signal: RecordedEvent | None,
    *,
    is_expected: bool,
    is_amid: bool,
) -> Severity | None:
    """Returns the severity of the way in which the agent ended; None for an ordinary end."""
    was_asked_to_end = context.client_end is not None or signal is not None
    if is_amid or "reason" in exit_.data:
        return Severity.ERROR
    if is_expected:
        is_odd = not was_asked_to_end and last_frame(context.reader) > 0
        return Severity.INFO if is_odd else None
    if not was_asked_to_end:
        return Severity.ERROR
    signum = exit_.data.get("signal")
    is_terminated = signum == SIGTERM and _stopped_by(context) is not None
    return Severity.ERROR if signum is not None and not is_terminated else Severity.INFO


def _blame(
    context: DiagnosisContext, exit_: RecordedEvent, signal: RecordedEvent | None, why: str | None
) -> tuple[str | None, str | None]:
    """Returns (who is to blame for the agent's end, None), or (None, why nobody is to blame)."""
    if why is not None:
        return ENVIRONMENT, None
    if signal is not None and signal.data.get("action") == "sent":
        if context.client_end is not None and context.client_end.kind != "signal":
            return AGENT, None  # the agent should have ended when its client closed the connection
        return None, "acp-proxy stopped it after its client had left"
    if exit_.data.get("signal") in FROM_OUTSIDE:
        # A signal to the whole process group may end the agent before acp-proxy sees the signal.
        return (ENVIRONMENT if _stopped_by(context) is None else CLIENT), None
    if signal is not None:
        return CLIENT, None
    if exit_.data.get("code") in _CODES_FROM_OUTSIDE and context.client_end is None:
        return ENVIRONMENT, None
    if context.client_end is not None and not context.cut:
        return None, "its client had left"
    return AGENT, None


def _stopped_by(context: DiagnosisContext) -> RecordedEvent | None:
    """Returns the first signal to stop that acp-proxy passed to the agent, or None."""
    return next(filter(is_stopping_signal, context.of_kind("signal")), None)


def _exit_text(exit_: RecordedEvent, signal: RecordedEvent | None) -> tuple[str, bool]:
    """Returns in words how the agent ended, and whether this is a usual way to end."""
    data, at = exit_.data, f"(#{exit_.seq})"
    if "reason" in data:
        return f"{plain(str(data['reason']))} {at}", False
    sent = signal.data.get("signal") if signal is not None else None
    if "signal" not in data:
        code = data.get("code")
        is_expected = code == 0 or (isinstance(sent, int) and code == 128 + sent)
        meaning = ""
        if isinstance(code, int) and code > 128:
            meaning = f" (128 + {signal_name(code - 128)})"
        return f"the agent exited with {code}{meaning} {at}", is_expected
    name = data.get("name", f"signal {data['signal']}")
    if signal is None or sent != data["signal"]:
        how = "was killed by" if data["signal"] in FROM_OUTSIDE else "crashed:"
        return f"the agent {how} {name} {at}, which did not come through acp-proxy", False
    if signal.data.get("action") == "sent":
        why = plain(str(signal.data.get("reason", "")))
        return f"the agent was ended by {name} {at}, which acp-proxy sent: {why}", False
    return f"the agent was ended by {name} {at}, which acp-proxy passed on", True


def _signal_before(context: DiagnosisContext, exit_: RecordedEvent) -> RecordedEvent | None:
    """Returns the last signal that may have ended the agent, or None.

    A signal may have ended the agent if it is a signal to stop, SIGKILL, or the signal with which
    the agent exited.
    """
    for event in context.of_kind("signal")[::-1]:
        signum = event.data.get("signal")
        can_end = is_stopping_signal(event) or signum in (SIGKILL, exit_.data.get("signal"))
        if event.seq < exit_.seq and signum is not None and can_end:
            return event
    return None


def _amid(context: DiagnosisContext, who: str = "it") -> str:
    """Returns a phrase that names what the agent's end interrupted: turns, or else requests."""
    turns = context.cut_turns
    if not turns:
        return context.cut_requests_text(who)
    first = turns[0]
    where = f", in the middle of {named_turn(context, first)}"
    if len(turns) > 1:
        where = f"{where} and {counted(len(turns) - 1, 'other')}"
    running = context.running_calls(first.id, first.prompt_seq)
    return f"{where}, with {named_calls(running)} in progress" if running else where
