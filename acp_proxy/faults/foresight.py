"""Knows of lines before anybody has read them that no rule can fire at them.

So they need not wait for the engine: they can go out first, and be given to it afterwards. A rule
*sleeps*, and cannot fire, while one of these holds:

- Its filter asks for a word that nobody has said. A text that a frame is labelled with, such as its
  method, stands in the frame, or where it was taken from: in the request that it answers, or in the
  prompt of its turn. That is an earlier frame, perhaps of the other direction. So a rule sleeps
  until a word that it asks for has stood in a line of either direction.
- Its ``window`` is not open.
- Not more frames have come than its ``after`` lets pass; each of them may have been a match.

In JSON a character can be written as an escape. A word is looked for in what its line says with
escapes read, and is not looked for at all if it has a character besides plain ASCII. What this
module says may be too careful, and must never be too bold: a frame that is foreseen to pass does.
"""

import re
from collections.abc import Mapping, Sequence

from acp_proxy.faults.plan import Rule
from acp_proxy.faults.triggers import is_open
from acp_proxy.filters.conditions import (
    Among,
    Condition,
    Every,
    Like,
    Some,
)
from acp_proxy.protocol.peers import Direction

Words = frozenset[bytes]
"""One of them has to be said."""

_SAID = ("method", "session", "tool_call", "terminal")
"""Columns whose texts stand in a line as they are, but for escapes."""
_PLAIN = re.compile(r"[ !#-\[\]-~]+")
"""What JSON can write without an escape, in ASCII."""
_WILD = re.compile(r"[*?\[]")
_BACKSLASH = ord("\\")
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


class Foresight:
    """What the rules of a plan wait for.

    Args:
        rules: those that can fire in each direction, in order.

    Attributes:
        awake: those of them that may mean a frame, by what has been said.
    """

    def __init__(self, rules: Mapping[Direction, Sequence[Rule]]) -> None:
        self.awake = rules
        self._rules = rules
        every = [rule for some in rules.values() for rule in some]
        self._unsaid = {rule.name: _words(rule.chosen.condition) for rule in every}
        self._words = {word for some in self._unsaid.values() for words in some for word in words}
        self._frames = 0
        self._ahead = 0
        """How many of the frames were foreseen and have not come yet."""
        self._cross_off(set())

    def rules_out(self, direction: Direction, data: bytes, ns: int) -> bool:
        """Whether no rule can fire at the next lines; if so, they are counted as heard.

        Args:
            direction: where they go.
            data: the lines, each with its newline.
            ns: when they were read, since the connection began.
        """
        frames = data.count(b"\n")
        if self._can_fire(direction, frames, ns):
            return False
        if self._listen(data) and self._can_fire(direction, frames, ns):
            return False
        self._frames += frames
        self._ahead += frames
        return True

    def hear(self, line: bytes) -> None:
        """Takes note of the next line, of any direction; of those first that were foreseen."""
        if self._ahead:
            self._ahead -= 1
        else:
            self._frames += 1
            self._listen(line)

    def _can_fire(self, direction: Direction, frames: int, ns: int) -> bool:
        """Whether one of the rules that are awake can, at one of so many frames."""
        for rule in self.awake[direction]:
            if self._frames + frames > rule.trigger.after and is_open(rule.trigger, ns):
                return True
        return False

    def _listen(self, data: bytes) -> bool:
        """Returns whether something is said that rules have waited for; it is crossed off."""
        if _BACKSLASH in data and (b"\\u" in data or b"\\/" in data):
            data = _ESCAPE.sub(_character, data)
        for word in self._words:
            if word in data:
                self._cross_off({word for word in self._words if word in data})
                return True
        return False

    def _cross_off(self, said: set[bytes]) -> None:
        """Wakes the rules for which nothing is left to be said."""
        self._words -= said
        for name, some in self._unsaid.items():
            self._unsaid[name] = [words for words in some if words.isdisjoint(said)]
        self.awake = {
            direction: [rule for rule in rules if not self._unsaid[rule.name]]
            for direction, rules in self._rules.items()
        }


def _words(condition: Condition) -> list[Words]:
    """What has to be said before a condition can hold: of each set a word."""
    match condition:
        case Among(column, values) if column in _SAID and all(map(_PLAIN.fullmatch, values)):
            return [frozenset(value.encode() for value in values)]
        case Like(column, pattern) if column in _SAID:
            start = _WILD.split(pattern, maxsplit=1)[0]
            return [frozenset([start.encode()])] if _PLAIN.fullmatch(start) else []
        case Every(parts):
            return [words for part in parts for words in _words(part)]
        case Some(parts):
            firsts = [next(iter(_words(part)), None) for part in parts]
            known = [words for words in firsts if words is not None]
            return [frozenset[bytes]().union(*known)] if len(known) == len(firsts) else []
    return []


def _character(escape: re.Match[bytes]) -> bytes:
    """What an escape stands for, or something that is in no word."""
    if escape[1] is not None and (code := int(escape[1], 16)) < 128:
        return bytes([code])
    return b"/" if escape[2] == b"/" else b"\\"
