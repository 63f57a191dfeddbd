"""Reads and describes the tokens that a message reports, and their cost, in every dialect."""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import field, frozen

from acp_proxy.base.wording import plain
from acp_proxy.explain.describe.phrases import Value, joined, number, part, phrase, word

COUNTS = {
    "input": "inputTokens", "output": "outputTokens", "cached_read": "cachedReadTokens",
    "cached_write": "cachedWriteTokens", "thought": "thoughtTokens", "total": "totalTokens",
}  # fmt: skip
"""For each number in `Tokens`, its name in answers to prompts."""
_MOST = 1 << 64
_UNIT = 12
"""The largest number of characters of a currency that are shown."""


def _optional() -> Any:
    return field(default=None, metadata={"optional": True})


@frozen
class Tokens:
    """Numbers of tokens, and a cost. None stands for a value that the agent did not send."""

    input: int | None = _optional()
    output: int | None = _optional()
    cached_read: int | None = _optional()
    cached_write: int | None = _optional()
    thought: int | None = _optional()
    total: int | None = _optional()
    used: int | None = _optional()
    """How many tokens are in the model's context."""
    window: int | None = _optional()
    """How many tokens fit into the context."""
    cost: float | None = _optional()
    currency: str | None = _optional()
    """The unit of the cost, such as USD."""
    counted: str | None = _optional()
    """How the numbers of a recording were computed.

    - ``turns``: the numbers of all turns were added up.
    - ``session``: the agent sent running totals, and the last total of each session was used.
    - ``unclear``: the last number was used, and the real number may be larger.
    """


def tokens_of(holder: Value) -> Tokens:
    """Reads the tokens in the result of a prompt, or in a session update.

    Args:
        holder: the result or the session update.
    """
    usage = part(holder, "usage") or part(part(part(holder, "_meta"), "quota"), "token_count")
    values: dict[str, Any] = {
        ours: _count(usage, name if name in usage else f"{ours}_tokens")
        for ours, name in COUNTS.items()
    }
    values |= {"used": _count(holder, "used"), "window": _count(holder, "size")}
    cost = part(holder, "cost")
    amount = cost.get("amount")
    if isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount < _MOST:
        values["cost"] = round(float(amount), 9)
        values["currency"] = plain(word(cost, "currency"))[:_UNIT]
    return Tokens(**values)


def _count(value: Value, name: str) -> int | None:
    count = number(value, name)
    return count if count is not None and 0 <= count < _MOST else None


def token_facts(tokens: Tokens | None) -> Iterator[str]:
    """Yields the size of the context, the numbers of tokens and the cost, if they are known.

    Args:
        tokens: the tokens of a recording, or of a turn.
    """
    if tokens is not None:
        context = context_words(tokens)
        counts = count_words(tokens, "" if context else " tokens", short)
        yield from filter(None, (context, counts, cost_words(tokens)))


def brief_words(tokens: Tokens) -> str:
    """Returns the numbers of tokens or, without these, the size of the context; may be empty."""
    return count_words(tokens, "", short) or context_words(tokens)


def context_words(tokens: Tokens) -> str:
    """Returns the size of the context in words; empty if it is not known."""
    of = f" of {short(tokens.window)}" if tokens.window else ""
    return "" if tokens.used is None else f"{short(tokens.used)}{of} tokens"


def usage_words(tokens: Tokens) -> str:
    """Returns all numbers of tokens in words, without rounding; empty if there are none."""
    cached, thought = (str(count or "") for count in (tokens.cached_read, tokens.thought))
    more = phrase("{} cached", cached), phrase("{} thought", thought)
    return joined(count_words(tokens, " tokens"), *more, by=", ")


def count_words(tokens: Tokens, noun: str = "", write: Callable[[int], str] = str) -> str:
    """Returns the numbers of tokens, such as ``18k in, 2k out``; empty if there are none.

    Args:
        tokens: the tokens.
        noun: the text after the first number, such as `` tokens``.
        write: a function that writes a number.
    """
    counts = (tokens.input, tokens.output, tokens.total)
    into, out, total = ("" if count is None else write(count) for count in counts)
    both, least = f"{into or '?'}{noun} in, {out or '?'} out", tokens.counted == "unclear"
    words = both if into or out else phrase("{} tokens", total)
    return phrase("at least {}" if least else "{}", words)


def cost_words(tokens: Tokens) -> str:
    """Returns the cost with its unit, such as ``$0.12``; empty if it is not known."""
    if (cost := tokens.cost) is None:
        return ""
    amount = f"{cost:.2g}" if 0 < cost < 0.1 else f"{cost:,.2f}"
    return f"${amount}" if tokens.currency == "USD" else joined(amount, tokens.currency or "")


def short(count: int) -> str:
    """Writes a large number in thousands or millions, such as ``21k`` or ``1.0M``."""
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if count >= unit:
            return f"{count / unit:.{int(unit == 10**6 or count < 10 * unit)}f}{letter}"
    return str(count)
