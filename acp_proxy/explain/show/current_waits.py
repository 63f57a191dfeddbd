"""Says who has to act in a running conversation, and how long this wait has taken so far."""

from collections.abc import Sequence

from attrs import frozen

from acp_proxy.base.wording import duration, plain
from acp_proxy.explain.show.chosen_messages import StoredMessage, request_text, requests_by_number
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext, quoted_prompt
from acp_proxy.explain.show.summary_values import CurrentWait
from acp_proxy.explain.stats.turn_times import PAUSE_NS
from acp_proxy.explain.waits import (
    HANGS,
    OpenWait,
    Party,
    PendingRequest,
    SilenceLimits,
    named_wait,
)
from acp_proxy.protocol.dialects import PROMPT

CALL_NS = 600 * 10**9
"""While a tool call runs, the agent hangs if it is silent for this long."""


@frozen
class WaitWords:
    """The words for a wait. They contain its duration, which grows until the wait ends."""

    before: str
    since_ns: int
    """When the duration began, in nanoseconds since the start of the recording."""
    after: str = ""
    streaming: str = ""
    """The words while the agent sends messages without a pause; empty if it sends none."""

    def at(self, now_ns: int) -> str:
        """Describes the wait at a given time, such as ``agent silent 7 s, prompt #4 open``.

        Args:
            now_ns: the time, in nanoseconds since the start of the recording.
        """
        lasted_ns = now_ns - self.since_ns
        if self.streaming and lasted_ns <= PAUSE_NS:
            return self.streaming
        return f"{self.before} {duration(lasted_ns, 10**9)}{self.after}"


@frozen
class LiveWait:
    """A wait of a running conversation, for a display that is updated while the wait goes on."""

    seq: int
    """The number of the frame with the request, or with the prompt of the turn."""
    party: str
    """Who has to act: person, program, client or agent."""
    words: WaitWords
    limit_ns: int | None
    """A wait of at least this length is a hang; None if the wait is never a hang."""


def find_waiting(context: DiagnosisContext) -> list[CurrentWait]:
    """Returns the waits of a running conversation, except the waits that are hangs."""
    hanging = hangs(context)
    waits = [wait for wait in _waits(context) if wait.request.seq not in hanging]
    messages = requests_by_number(context.reader, (wait.request.seq for wait in waits))
    return [_current_wait(context, wait, messages.get(wait.request.seq)) for wait in waits]


def live_waits(context: DiagnosisContext) -> list[LiveWait]:
    """Returns all waits of a running conversation, in the order in which they are shown."""
    waits = []
    for wait in _waits(context):
        calls = _running_calls(context, wait)
        limits = {Party.AGENT: CALL_NS if calls else HANGS.agent_ns, Party.CLIENT: HANGS.client_ns}
        party, words = wait.request.awaited, waiting_words(context, wait, calls)
        waits.append(LiveWait(wait.request.seq, party.value, words, limits.get(party)))
    return sorted(waits, key=lambda wait: wait.party == Party.AGENT)


def _waits(context: DiagnosisContext) -> list[OpenWait]:
    """Returns the open waits, except waits for an agent that itself waits for the client."""
    if context.of_kind("exit"):
        return []  # an answer can no longer come
    # The agent cannot answer in a session in which it waits for the client.
    asking = {w.request.session for w in context.waits if w.request.direction == "to-client"}
    return [
        wait
        for wait in context.waits
        if not (wait.request.direction == "to-agent" and asking & {wait.request.session, None})
    ]


def waiting_for(waiting: Sequence[CurrentWait]) -> str:
    """Returns who has to act in a running conversation, and how long the wait has taken so far.

    Examples are ``a person: permission 12 s`` and ``agent silent 7 s, prompt #4 open``. The
    text is empty without a wait.

    Args:
        waiting: the result of `find_waiting`.
    """
    if not waiting:
        return ""
    first = next((wait for wait in waiting if wait.awaited != Party.AGENT), waiting[0])
    return first.words


def hangs(context: DiagnosisContext, limits: SilenceLimits = HANGS) -> dict[int, OpenWait]:
    """Returns the hangs of a running conversation. The key is the frame number of the request.

    Args:
        context: the context with the open waits.
        limits: the lengths of the shortest silences that are hangs.
    """
    hanging = {}
    for wait in context.waits:
        if not wait.is_hang(limits):
            continue
        request = wait.request
        has_call = request.awaited is Party.AGENT and bool(
            context.running_calls(request.turn, request.seq, wait.last_seq)
        )
        if wait.is_hang(limits, has_call=has_call):
            hanging[request.seq] = wait
    return hanging


def hang_text(context: DiagnosisContext, wait: OpenWait) -> str:
    """Returns a sentence such as ``agent silent 60 s, prompt #4 open: "fix the test"``.

    Args:
        context: the context with the open waits.
        wait: an open request or turn that hangs.
    """
    turn = next((turn for turn in context.turns if turn.id == wait.request.turn), None)
    prompt = "" if turn is None else quoted_prompt(context, turn)
    return f"{_current_wait(context, wait, None).text}{prompt and ':'}{prompt}"


def _current_wait(
    context: DiagnosisContext, wait: OpenWait, message: StoredMessage | None
) -> CurrentWait:
    request, calls = wait.request, _running_calls(context, wait)
    words = waiting_words(context, wait, calls).at(context.end_ns)
    text = f"{words}, {_named(request)} open" if calls else words
    if message is not None and request.direction == "to-client":
        text = f"{words}, {request_text(request.method, request.seq, message)}"
    return CurrentWait(
        request.seq, request.awaited.value, request.session, request.turn, wait.waited_ns, text,
        wait.silent_ns, words,
    )  # fmt: skip


def _running_calls(context: DiagnosisContext, wait: OpenWait) -> dict[int, str]:
    """Returns the titles of the running tool calls, if the agent or a program has to act."""
    turn = next((turn for turn in context.turns if turn.id == wait.request.turn), None)
    if turn is None or wait.request.awaited not in (Party.AGENT, Party.PROGRAM):
        return {}
    return context.running_calls(turn.id, turn.prompt_seq)


def waiting_words(context: DiagnosisContext, wait: OpenWait, calls: dict[int, str]) -> WaitWords:
    """Returns who has to act, and since when, such as ``call pytest -q 31.0 s``.

    Args:
        context: the context with the open waits.
        wait: the open request or turn.
        calls: the titles of the running tool calls, by the numbers of their first frames.
    """
    request, party, end_ns = wait.request, wait.request.awaited, context.end_ns
    who = named_wait(party, request.method, [*calls.values()]).removeprefix("the ")
    if calls:
        return WaitWords(who, context.time_of(min(calls)))
    if party is not Party.AGENT:
        return WaitWords(who, end_ns - wait.waited_ns)
    named = _named(request)
    if wait.silent_ns is None:
        return WaitWords(f"{named} open", end_ns - wait.waited_ns)
    streaming = f"agent streaming, {named} open" if wait.is_streaming else ""
    return WaitWords("agent silent", end_ns - wait.silent_ns, f", {named} open", streaming)


def _named(request: PendingRequest) -> str:
    method = plain(request.method or "a request")[:80]
    return f"{'prompt' if method == PROMPT else method} #{request.seq}"
