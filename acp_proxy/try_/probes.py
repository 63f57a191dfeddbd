"""The probes of ``acp-proxy try --probe``: what each sends, and what an agent has to answer.

``probes.json`` lists the probes in the order in which they are played. In the params and the
expected answer of a step, ``{name}`` is replaced by a value, such as the session's id.
"""

import json
from functools import cache
from typing import Any

from attrs import frozen

from acp_proxy.base.forms import converter
from acp_proxy.protocol.dialects import DRAFT, PROMPT, V1, V2
from acp_proxy.try_.forms import stored

_TYPES = {"array": list, "integer": int, "object": dict, "string": str}
_MOST_SHOWN = 160


@frozen
class ProbeStep:
    """One message to the agent: a request, a notification, or any line."""

    request: str | None = None
    """The method of a request."""
    notify: str | None = None
    """The method of a notification."""
    send: str | None = None
    """A line to send unchanged, such as broken JSON."""
    params: Any = None
    expect: Any = None
    """The form of the right answer, see `misfit`. None if the agent must not answer at all."""
    cancel: str | None = None
    """When to cancel the turn: ``at-once`` or ``first-update``; None not to cancel the turn."""
    keep: str | None = None
    """The name under which later steps use the session id in the answer; None if no step needs
    it."""


@frozen
class Probe:
    """A question about the protocol that is asked of an agent, in one or more messages."""

    id: str
    text: str
    """A sentence about the right behaviour of an agent. The probe holds if the sentence is true."""
    severity: str
    """How bad a wrong answer is: ``error`` if the protocol says MUST, otherwise ``warning``."""
    source: tuple[str, ...]
    """The sections of the specifications that require the answer."""
    rank: int
    """When the probe is played: 0 with a fresh agent of its own, 1 after ``initialize``, 2 after
    ``session/new``."""
    dialects: tuple[str, ...] = (V1, V2, DRAFT)
    opens: bool = False
    """Whether a right answer to this probe makes the agent ready for the next rank."""
    needs: str | None = None
    """The path of a capability, or of a member of the answer to ``session/new``, that the agent
    must offer, such as ``session.modes``. None if the agent need not offer anything."""
    after: str | None = None
    """The id of a probe that must hold before this probe is played; None without a condition."""
    steps: tuple[ProbeStep, ...] = ()
    """The messages to send. A probe without steps is judged by the lines of all other probes."""

    @property
    def prompts(self) -> int:
        """How many turns the probe causes: the number of its prompts that have to succeed."""
        return sum(step.request == PROMPT and "result" in step.expect for step in self.steps)


@cache
def probes() -> tuple[Probe, ...]:
    """Returns all probes, in the order in which they are played."""
    return converter.structure(stored("probes.json"), tuple[Probe, ...])


def misfit(form: Any, value: Any, name: str = "the answer") -> str | None:
    """Returns how a value differs from the expected form, in words; None if the value fits.

    Args:
        form: a list contains the allowed values. A string is the name of a type, with ``?`` if the
            value may be null or missing. ``{"not": X}`` allows any value except X. Any other object
            contains the forms of the value's members.
        value: the JSON value; None if it is missing.
        name: the words for the value at the beginning of the result.
    """
    shown = "missing" if value is None else brief(value)
    if isinstance(form, list):
        if any(type(value) is type(choice) and value == choice for choice in form):
            return None
        return f"{name} is {shown}, not {' or '.join(map(brief, form))}"
    if isinstance(form, str):
        kind = form.rstrip("?")
        is_such = type(value) is _TYPES[kind] or (value is None and kind != form)
        return None if is_such else f"{name} is {shown}, not of type {kind}"
    if "not" in form:
        return f"{name} is {shown} again" if value == form["not"] else None
    if not isinstance(value, dict):
        return f"{name} is {shown}"
    prefix = "" if name == "the answer" else f"{name}."
    misfits = (misfit(part, value.get(key), f"{prefix}{key}") for key, part in form.items())
    return next(filter(None, misfits), None)


def brief(value: Any) -> str:
    """Returns a JSON value as text; the end of a long text is cut off."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
