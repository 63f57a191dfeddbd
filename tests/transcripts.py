"""Conversations written as transcripts: this frame, and below it the labels that it gets.

    check('''
        -> #0 session/new {"cwd": "/"}
           session/new, exchange 1
        <- #0 result {"sessionId": "s"}
           session/new, exchange 1, session s
    ''')

``->`` goes to the agent and ``<-`` to the client. After it stands a message: ``#id`` (the token as
it is on the wire) if it has one, then a method and its params, or ``result`` or ``error`` and its
value; or the whole line as JSON. Frame n is number n of the recording, at n microseconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.correlation import Correlator, Labels
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.peers import Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

NOTHING = "nothing"
"""How the labels of a frame are written that has none."""

_ARROWS = {"->": Direction.TO_AGENT, "<-": Direction.TO_CLIENT}
_MESSAGE = re.compile(r"(?:#(?P<id>\S+) )?(?P<name>[^\s#]\S*)(?: (?P<value>.+))?")


def check(transcript: str, dialect: str = "auto") -> Correlator:
    """Feeds each frame of a transcript and compares its labels with those that are written there.

    Returns:
        the correlator, for whoever wants to know more of it.
    """
    correlator = Correlator(Connection(dialect=dialect))
    written = [line.strip() for line in transcript.strip().splitlines()]
    assert list(play(written, correlator)) == written
    return correlator


def play(written: list[str], correlator: Correlator) -> Iterator[str]:
    """Yields the frames among the lines of a transcript, each with the labels that it really got.

    Raises:
        ValueError: the transcript does not begin with a frame.
    """
    if written[0][:2] not in _ARROWS:
        raise ValueError(f"expected a frame, such as '-> session/cancel', got {written[0]!r}")
    frames = [line for line in written if line[:2] in _ARROWS]
    for seq, line in enumerate(frames, 1):
        yield line
        message = read(frame(line[2:].strip()))
        yield describe(correlator.feed(seq, seq * 1000, _ARROWS[line[:2]], message))


def frame(text: str) -> bytes:
    """Makes the line that the wire would carry of how it is written in a transcript.

    Raises:
        ValueError: it is written in no way that is known here.
    """
    if text.startswith(("{", "[")):
        return text.encode()
    match = _MESSAGE.fullmatch(text)
    if match is None or (match["name"] in ("result", "error") and not match["value"]):
        raise ValueError(f"expected a message, such as '#1 session/prompt {{}}', got {text!r}")
    name, value = match["name"], match["value"]
    members = ['"jsonrpc": "2.0"']
    if match["id"]:
        members.append(f'"id": {match["id"]}')
    if name in ("result", "error"):
        members.append(f'"{name}": {value}')
    else:
        members.append(f'"method": "{name}"')
        members.extend([f'"params": {value}'] if value else [])
    return f"{{{', '.join(members)}}}".encode()


def describe(labels: Labels) -> str:
    """Writes labels as a transcript does."""
    parts = [labels.method] if labels.method else []
    for name in ("exchange", "session", "turn", "tool_call", "terminal"):
        value = getattr(labels, name)
        parts.extend([] if value is None else [f"{name} {value}"])
    return ", ".join(parts) or NOTHING
