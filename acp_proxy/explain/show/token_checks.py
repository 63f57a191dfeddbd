"""Finds reports of tokens that cannot be true, or that clients read wrongly."""

from collections.abc import Iterator

from acp_proxy.base.limits import LAST_NUMBER, LINE_EDGE
from acp_proxy.explain.findings import AGENT, Finding, Severity
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext, named_turn
from acp_proxy.store.queries.frames import updates_with


def full_contexts(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds updates with more tokens in the context than the context can hold."""
    for seq, tokens in context.tokens.beyond.items():
        text = f"the agent reported {tokens.used:,} used of {tokens.window:,} tokens (#{seq})"
        yield Finding("answer.usage-beyond-size", Severity.WARNING, AGENT, seq, text)


def running_totals(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds sessions in which the usage of each turn includes the turns before."""
    ends = {turn.id: turn.end_seq or 0 for turn in context.turns}
    for ids in context.tokens.totals.values():
        every = [context.tokens.turns[turn] for turn in ids]
        counts = [(t.total if t.input is None else t.input) or 0 for t in every]
        if len(set(counts)) > 1:
            shown, seq = ", ".join(f"{count:,}" for count in counts[:3]), ends[ids[-1]]
            what = f"the usage in the answers to {len(ids)} prompts never falls"
            why = "so it is of the session so far, not of the turn"
            text = f"{what} ({shown} … {counts[-1]:,} tokens), {why} (#{seq})"
            related = tuple(ends[turn] for turn in ids[:-1])
            yield Finding("answer.usage-total", Severity.INFO, AGENT, seq, text, related)


def uncounted_turns(context: DiagnosisContext) -> Iterator[Finding]:
    """Finds turns with text whose usage is 0; a command may be answered without a model."""
    for turn in context.turns:
        tokens, prompt = context.tokens.turns.get(turn.id), context.prompts.get(turn.id, "")
        if tokens is None or turn.stop_reason != "end_turn" or prompt.startswith("/"):
            continue
        if (tokens.input, tokens.output, tokens.total or 0) != (0, 0, 0):
            continue
        span = turn.prompt_seq, turn.end_seq or LAST_NUMBER
        if any(updates_with(context.reader, b'"agent_message', [span], LINE_EDGE)):
            what = f"{named_turn(context, turn)} has text, but a usage of 0 tokens"
            text = f"{what} (#{turn.end_seq})"
            yield Finding("answer.usage-zero", Severity.INFO, AGENT, span[1], text, span[:1])
