"""The probes of ``acp-proxy try --probe``: what each sends, and what an agent has to answer.

``probes.json`` lists them in the order in which they are played. In the params and the expected
answer of a step, the text ``{name}`` stands for a value that is known when the step is played.
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
    """A line, which may be no message at all."""
    params: Any = None
    expect: Any = None
    """The form of the answer, see `misfit`; None if nothing may be answered."""
    cancel: str | None = None
    """When the turn is cancelled: ``at-once``, or at its ``first-update``."""
    keep: str | None = None
    """The name under which the session id of the answer is known afterwards."""


@frozen
class Probe:
    """A question to an agent."""

    id: str
    text: str
    """The sentence that holds if the agent does as it should."""
    severity: str
    """How bad it is if it does not: ``error`` for a MUST, ``warning`` for anything else."""
    source: tuple[str, ...]
    """The places in the specifications."""
    rank: int
    """How many requests the agent must have answered: 0 for a probe that needs an agent of its own,
    1 after ``initialize``, 2 after ``session/new``."""
    dialects: tuple[str, ...] = (V1, V2, DRAFT)
    opens: bool = False
    """Whether the answer to this probe leads to the next rank."""
    needs: str | None = None
    """The path of a capability, or of a member of the answer to ``session/new``, that must be
    offered."""
    after: str | None = None
    """The probe that must hold first."""
    steps: tuple[ProbeStep, ...] = ()
    """The messages. A probe without any is about all that passes in the others."""

    @property
    def prompts(self) -> int:
        """How many turns the probe costs: its prompts that must have a result."""
        return sum(step.request == PROMPT and "result" in step.expect for step in self.steps)


@cache
def probes() -> tuple[Probe, ...]:
    """Returns all probes, in the order in which they are played."""
    return converter.structure(stored("probes.json"), tuple[Probe, ...])


def misfit(form: Any, value: Any, name: str = "the answer") -> str | None:
    """Returns how a value differs from its form, in words; None if it does not.

    Args:
        form: a list is one of several values, a text is the name of a type, with ``?`` if the
            value may be null or missing, ``{"not": X}`` is another value than X, and any other
            object has the forms of members.
        value: the value.
        name: how the words name the value.
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
    """Returns a JSON value as text, cut if it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
