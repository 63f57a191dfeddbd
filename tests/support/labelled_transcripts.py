"""Tests labels of frames with transcripts: each frame, and below it the expected labels.

    check('''
        -> #0 session/new {"cwd": "/"}
           session/new, exchange 1
        <- #0 result {"sessionId": "s"}
           session/new, exchange 1, session s
    ''')

A frame after ``->`` goes to the agent, a frame after ``<-`` to the client. The frame is whole JSON,
or ``#id`` (as on the wire) if the message has an id, and then a method with its params, or
``result`` or ``error`` with its value. Frame n is number n of the recording, at n microseconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.jsonrpc import Direction, read

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.protocol.connection_state import Exchange, Transition, Turn
    from acp_proxy.protocol.jsonrpc import Message

NOTHING = "nothing"
"""The word of a transcript for a frame without labels."""

_ARROWS = {"->": Direction.TO_AGENT, "<-": Direction.TO_CLIENT}
_MESSAGE = re.compile(r"(?:#(?P<id>\S+) )?(?P<name>[^\s#]\S*)(?: (?P<value>.+))?")


class Conversation:
    """A connection that gets messages, and the exchanges and turns that it reported.

    Attributes:
        connection: the state machine.
    """

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or Connection()
        self._exchanges: dict[int, Exchange] = {}
        self._turns: dict[int, Turn] = {}

    def feed(self, seq: int, t_ns: int, direction: Direction, message: Message) -> Transition:
        """Feeds a message to the connection, and stores the reported changes."""
        result = self.connection.feed(seq, t_ns, direction, message)
        self._keep(result)
        return result

    @property
    def exchanges(self) -> list[Exchange]:
        """Returns all exchanges in the order of their requests."""
        return [self._exchanges[number] for number in sorted(self._exchanges)]

    @property
    def turns(self) -> list[Turn]:
        """Returns all turns in the order of their prompts."""
        return [self._turns[number] for number in sorted(self._turns)]

    def _keep(self, transition: Transition) -> None:
        exchanges = filter(None, (transition.opened, transition.answered, transition.cancelled))
        self._exchanges.update((exchange.id, exchange) for exchange in exchanges)
        turns = filter(None, (transition.begun, transition.updated, *transition.ended))
        self._turns.update((turn.id, turn) for turn in turns)
        for member in transition.members:
            self._keep(member)


def check(transcript: str, dialect: str = "auto") -> Conversation:
    """Feeds each frame of a transcript, and compares the labels with those in the transcript.

    Returns:
        the conversation, for further checks.
    """
    conversation = Conversation(Connection(dialect=dialect))
    written = [line.strip() for line in transcript.strip().splitlines()]
    assert list(play(written, conversation)) == written
    return conversation


def play(written: list[str], conversation: Conversation) -> Iterator[str]:
    """Yields each frame of a transcript, and after it the labels that it really got.

    Raises:
        ValueError: the transcript does not begin with a frame.
    """
    if written[0][:2] not in _ARROWS:
        raise ValueError(f"expected a frame, such as '-> session/cancel', got {written[0]!r}")
    frames = [line for line in written if line[:2] in _ARROWS]
    for seq, line in enumerate(frames, 1):
        yield line
        message = read(frame(line[2:].strip()))
        yield describe(conversation.feed(seq, seq * 1000, _ARROWS[line[:2]], message))


def frame(text: str) -> bytes:
    """Returns the JSON line of a message that is written as in a transcript.

    Raises:
        ValueError: the message does not have the form of a transcript.
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


def describe(labels: Transition) -> str:
    """Returns labels in the form of a transcript."""
    parts = [labels.method] if labels.method else []
    for name in ("exchange", "session", "turn", "tool_call", "terminal"):
        value = getattr(labels, name)
        parts.extend([] if value is None else [f"{name} {value}"])
    return ", ".join(parts) or NOTHING
