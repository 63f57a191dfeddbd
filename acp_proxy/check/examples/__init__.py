"""Conversations that obey or break each rule: people read them, and tests check them.

The file of each group of rules consists of sections such as this:

    # fs.path-absolute: broken
    after a v1 handshake, session s, a prompt
    <- #0 fs/read_text_file {"sessionId": "s", "path": "src/main.py"}
       fs.path-absolute by agent

``->`` goes to the agent and ``<-`` to the client. A message is written in one of three ways:

- as ``#id`` (if there is an id) with a method and its params, or with ``result`` or ``error`` and
  its value,
- as JSON,
- as a line of any text after ``|``. A line after ``cut |`` has no newline at its end, a line after
  ``bytes |`` is written in hexadecimal digits, and a line after ``stderr |`` goes to stderr.

A line that begins with ``==`` is an event: ``== client leaves`` and ``== agent exits`` end the
conversation, and ``== 60 seconds pass`` is a pause. Without a pause, two lines are a second apart.

Below a message are the rules that it breaks, each with the side that breaks the rule. A severity is
added if it is not the usual severity of the rule.
"""

import re
from functools import cache
from importlib import resources

from attrs import frozen

_TITLE = re.compile(r"# (?P<rule>\S+): (?P<kind>legal|broken)")


@frozen
class Example:
    """A conversation that obeys a rule, or breaks it."""

    rule: str
    is_broken: bool
    after: str
    """The messages before the first line, in words; empty without messages."""
    lines: tuple[str, ...]


def examples_of(rule_id: str) -> list[Example]:
    """Returns the examples of a rule in the order of their file."""
    return [example for example in examples(rule_id.partition(".")[0]) if example.rule == rule_id]


@cache
def examples(group: str) -> tuple[Example, ...]:
    """Returns all examples of a group of rules, such as ``fs``. An unknown group has no examples.

    Raises:
        ValueError: a section has no title.
    """
    file = resources.files(__name__).joinpath(f"{group}.txt")
    if not file.is_file():
        return ()
    sections = re.split(r"\n(?=# )", file.read_text("utf-8").strip())
    return tuple(_example(section.splitlines()) for section in sections)


def _example(written: list[str]) -> Example:
    title = _TITLE.fullmatch(written[0])
    if title is None:
        raise ValueError(f"expected '# RULE: legal' or '# RULE: broken', got {written[0]!r}")
    lines = [line.rstrip() for line in written[1:] if line.strip()]
    after = lines.pop(0).removeprefix("after ") if lines and lines[0].startswith("after ") else ""
    return Example(title["rule"], title["kind"] == "broken", after, tuple(lines))
