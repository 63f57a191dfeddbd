"""``corrupt``: bytes are changed."""

from codecs import BOM_UTF8
from collections.abc import Iterable
from enum import StrEnum

from attrs import frozen

from acp_proxy.faults.fault import Chance, Effect, Fault, PassingFrame


class CorruptMode(StrEnum):
    """How bytes are changed."""

    FLIP = "flip"
    """One bit is flipped at random, but not into a newline."""
    BAD_UTF8 = "bad-utf8"
    """A byte that is invalid in UTF-8 is inserted at random."""
    BAD_JSON = "bad-json"
    """The last character, a bracket, is removed."""
    NUL = "nul"
    """A NUL byte is inserted at random."""
    BOM = "bom"
    """A byte order mark is put in front."""
    CRLF = "crlf"
    """The line ends in CR LF."""


@frozen
class CorruptFault(Fault):
    """Bytes of the frame are changed."""

    kind = "corrupt"

    mode: CorruptMode = CorruptMode.FLIP
    """How the bytes are changed."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Changes the frame."""
        data = frame.delivery.data
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        end = data[len(line) :]
        yield frame.delivery.with_data(self._changed(line, end, frame.chance))

    def _changed(self, line: bytes, end: bytes, chance: Chance) -> bytes:
        at = chance.below(len(line) + 1, "place")
        match self.mode:
            case CorruptMode.FLIP:
                return _flipped(line, chance) + end
            case CorruptMode.BAD_UTF8:
                return line[:at] + b"\xff" + line[at:] + end
            case CorruptMode.BAD_JSON:
                return line.rstrip()[:-1] + end
            case CorruptMode.NUL:
                return line[:at] + b"\0" + line[at:] + end
            case CorruptMode.BOM:
                return BOM_UTF8 + line + end
            case CorruptMode.CRLF:
                return line + (b"\r\n" if end else b"")

    def describe(self) -> str:
        """Describes what happens to a frame."""
        return _WORDS[self.mode]


_WORDS = {
    CorruptMode.FLIP: "has a bit flipped",
    CorruptMode.BAD_UTF8: "has a byte in it that is not UTF-8",
    CorruptMode.BAD_JSON: "lacks its last bracket",
    CorruptMode.NUL: "has a NUL byte in it",
    CorruptMode.BOM: "begins with a byte order mark",
    CorruptMode.CRLF: "ends in CR LF",
}


def _flipped(line: bytes, chance: Chance) -> bytes:
    if not line:
        return line
    at = chance.below(len(line), "place")
    bit = chance.below(8, "bit")
    changed = line[at] ^ (1 << bit)
    if changed in b"\r\n":
        changed = line[at] ^ (1 << (bit + 1) % 8)
    return line[:at] + bytes([changed]) + line[at + 1 :]
