"""Reads which way a message went from what stands before it in a line."""

import re
from typing import NamedTuple

from acp_proxy.protocol.peers import Stream

_TO_AGENT, _TO_CLIENT = Stream.TO_AGENT, Stream.TO_CLIENT
_CLIENT_NAME = rb"(?:client|editor|ide|zed|toad|user)"
_AGENT_NAME = rb"(?:agent|server)"
_CLIENT = rb"(?:" + _CLIENT_NAME + rb"|C)"
_AGENT = rb"(?:" + _AGENT_NAME + rb"|A)"
_ARROW = (
    rb"\s{0,3}(?:-{1,9}>|={1,9}>|\xe2\x86\x92|\xe2\x87\x92|\xe2\x9e\xa1(?:\xef\xb8\x8f)?|to)\s{0,3}"
)
_BACK = (
    rb"\s{0,3}(?:<-{1,9}|<={1,9}|\xe2\x86\x90|\xe2\x87\x90|\xe2\xac\x85(?:\xef\xb8\x8f)?)\s{0,3}"
)
_SENDS = (
    rb"\s{1,3}(?:sends?|sent|sending|writes|wrote|responds|responded|replies|replied|says|said)"
)
_RECEIVES = rb"\s{1,3}(?:receives?|received|receiving|reads|gets?|got)"
_WORD = rb"(?<![A-Za-z0-9])"
_END = rb"(?![A-Za-z0-9])"
_PEERS = (
    (re.compile(_WORD + _CLIENT + _ARROW + _AGENT + _END, re.IGNORECASE), _TO_AGENT),
    (re.compile(_WORD + _AGENT + _BACK + _CLIENT + _END, re.IGNORECASE), _TO_AGENT),
    (re.compile(_WORD + _AGENT + _ARROW + _CLIENT + _END, re.IGNORECASE), _TO_CLIENT),
    (re.compile(_WORD + _CLIENT + _BACK + _AGENT + _END, re.IGNORECASE), _TO_CLIENT),
    (re.compile(rb"(?i:(?<![a-z])(?:to|from)[-_ ](?:agent|client)(?![a-z]))"), None),
    (re.compile(_WORD + _CLIENT_NAME + _SENDS + _END, re.IGNORECASE), _TO_AGENT),
    (re.compile(_WORD + _AGENT_NAME + _SENDS + _END, re.IGNORECASE), _TO_CLIENT),
    (re.compile(_WORD + _CLIENT_NAME + _RECEIVES + _END, re.IGNORECASE), _TO_CLIENT),
    (re.compile(_WORD + _AGENT_NAME + _RECEIVES + _END, re.IGNORECASE), _TO_AGENT),
)
_VERB = re.compile(
    rb"(?i:(?<![a-z])(?:(?P<out>outgoing|sends?|sending|sent|stdin|writ(?:e|es|ing|ten))"
    rb"|incoming|recv|receiv(?:e|es|ed|ing)|stdout|read|got)(?![a-z]))"
)
_SIDES = (
    (re.compile(rb"-{2,9}>|={2,9}>|>>|->|=>|\xe2\x86\x92|\xe2\x87\x92|\xe2\x9e\xa1"), _TO_AGENT),
    (re.compile(rb"<-{2,9}|<={2,9}|<<|<-|<=|\xe2\x86\x90|\xe2\x87\x90|\xe2\xac\x85"), _TO_CLIENT),
    (re.compile(rb"(?<![A-Za-z])(?:OUT|TX|[Oo]ut)(?=\s*[:\]|])"), _TO_AGENT),
    (re.compile(rb"(?<![A-Za-z])(?:IN|RX|[Ii]n)(?=\s*[:\]|])"), _TO_CLIENT),
    (_VERB, None),
    (re.compile(rb"(?i:\[client\]|^\s*client\s*:)"), _TO_AGENT),
    (re.compile(rb"(?i:\[(?:agent|server)\]|^\s*(?:agent|server)\s*:)"), _TO_CLIENT),
    (re.compile(rb"(?:^|[\]\s|])>\s*$"), _TO_AGENT),
    (re.compile(rb"(?:^|[\]\s|])<\s*$"), _TO_CLIENT),
)  # fmt: skip
_STDERR = re.compile(rb"(?i:(?<![a-z])stderr(?![a-z]))")
_EDGE = 300


class Marker(NamedTuple):
    """What a line says of the direction of its message."""

    stream: Stream
    names_peers: bool
    """Whether it names who sends; an arrow is seen from the side that wrote the log."""
    is_vague: bool = False
    """Whether a word can mean either side, or something else."""


def edges(prefix: bytes) -> bytes:
    """Returns the two ends of a long text, where a line says when it was written and what it is."""
    return prefix if len(prefix) <= 2 * _EDGE else prefix[:_EDGE] + b" " + prefix[-_EDGE:]


def read_marker(prefix: bytes) -> Marker | None:
    """Reads the text before a message; None if it says nothing of the direction."""
    prefix = edges(prefix)
    for pattern, stream in _PEERS:
        if (match := pattern.search(prefix)) is not None:
            return Marker(stream or _to_or_from(match[0].lower()), True)
    for pattern, side in _SIDES:
        if (match := pattern.search(prefix)) is not None:
            return Marker(side, False) if side is not None else _of_last_verb(prefix, match)
    return None


def _of_last_verb(prefix: bytes, match: re.Match[bytes]) -> Marker:
    """Reads the verb that is nearest to the message: "I sent it, and got:"."""
    while (later := _VERB.search(prefix, match.end())) is not None:
        match = later
    return Marker(_TO_AGENT if match["out"] else _TO_CLIENT, names_peers=False, is_vague=True)


def _to_or_from(words: bytes) -> Stream:
    return _TO_AGENT if words.startswith(b"to") == words.endswith(b"agent") else _TO_CLIENT


_WORDS = {
    **dict.fromkeys(
        (b"out", b"o", b"sent", b"send", b"outgoing", b"request", b">", b"tx", b"write"),
        Marker(_TO_AGENT, names_peers=False),
    ),
    **dict.fromkeys(
        (b"in", b"i", b"received", b"recv", b"incoming", b"response", b"<", b"rx", b"read"),
        Marker(_TO_CLIENT, names_peers=False),
    ),
    **dict.fromkeys(
        (b"client", b"editor", b"c2a", b"client-to-agent", b"editor-to-agent", b"fromclient",
         b"toagent"),
        Marker(_TO_AGENT, names_peers=True),
    ),
    **dict.fromkeys(
        (b"agent", b"server", b"a2c", b"agent-to-client", b"agent-to-editor", b"fromagent",
         b"toclient"),
        Marker(_TO_CLIENT, names_peers=True),
    ),
}  # fmt: skip


def read_word(word: bytes) -> Marker | None:
    """Reads a word that stands for a direction, such as the value of a member or of a group."""
    return _WORDS.get(word.strip().lower()) or read_marker(word)


def is_stderr(prefix: bytes) -> bool:
    """Whether a line says that it is one of the agent's standard error."""
    return _STDERR.search(prefix) is not None
