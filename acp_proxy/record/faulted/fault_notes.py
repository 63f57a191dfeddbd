"""Notes in the log what faults did to a line, right after that line.

The records are:

- ``FAULT``: the ``rule`` that fired at the latest line of its stream, the kind of the rule
  (``action``), and how much of the line was ``delivered``: ``full``, ``partial`` or ``none``.
  ``last`` is set for a line without a newline, and ``again`` for a line of a direction that was
  already stopped.
- ``PART``: bytes that go out, logged before their ``FAULT`` or ``MADE`` record. If a fault did not
  change the bytes, ``FAULT`` has ``same``, and there is no ``PART``.
- ``MADE``: a rule injected a line at the time ``at``. Its ``PART`` records contain the line.
- ``SENT``: the number and the delay of a held line that goes out.
- ``EFFECT``: a side effect.

If bytes go out, ``FAULT`` and ``MADE`` tell when, by one of two fields: ``late`` is the delay in
nanoseconds, and ``held`` is the number of a line that is held back.

The bytes of a line and its notes are logged in one write, since separate writes would be slow.
"""

import time
from functools import lru_cache

from acp_proxy.base.limits import PIECE
from acp_proxy.protocol.framing import Cut
from acp_proxy.recording.log_format import DATA, EFFECT, FAULT, MADE, PART, SENT, Log, pack_fields

Actor = tuple[str, str]
"""The name of a rule, and the rule's kind."""
Moment = tuple[str, int] | None
"""When bytes go out: ``late`` and the delay in nanoseconds, or ``held`` and the number of the line
that is held back. None if nothing goes out."""


class FaultNotes:
    """The notes on the faults of one connection; `write` logs them."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._records: list[tuple[int, int, int, bytes]] = []

    def read(self, stream: int, t_ns: int, data: bytes) -> None:
        """Adds bytes that were read.

        Args:
            stream: the stream that the bytes were read from.
            t_ns: when the bytes were read, in monotonic nanoseconds.
            data: the bytes as they were read.
        """
        self._records.append((DATA, stream, t_ns, data))

    def fault(
        self,
        actor: Actor,
        stream: int,
        t_ns: int,
        cut: Cut,
        delivered: bytes,
        *,
        is_again: bool,
        moment: Moment = None,
    ) -> None:
        """Notes that a rule fired at the latest line that was read.

        Args:
            actor: the name and the kind of the rule.
            stream: the stream of the line.
            t_ns: when the line was read, in monotonic nanoseconds.
            cut: the line with its line ending.
            delivered: the bytes sent instead of the line; may be empty.
            is_again: whether the direction was already stopped.
            moment: when the delivered bytes go out.
        """
        is_same = delivered == cut.raw + cut.newline
        if not is_same:
            self._add_parts(stream, t_ns, delivered)
        how = "full" if is_same else _how(cut, delivered)
        payload = _fault_payload(actor, how, is_same, not cut.newline, is_again, moment)
        self._records.append((FAULT, stream, t_ns, payload))

    def made(
        self, actor: Actor, stream: int, t_ns: int, line: bytes, moment: Moment = None
    ) -> None:
        """Notes a line that a rule has injected.

        Args:
            actor: the name and the kind of the rule.
            stream: the stream that the line is sent to.
            t_ns: when the frame that triggered the rule was read, in monotonic nanoseconds.
            line: the line, newline included.
            moment: when the line goes out.
        """
        self._add_parts(stream, t_ns, line)
        fields: dict[str, str | int | list[str]] = {"rule": actor[0], "action": actor[1]}
        fields |= {"at": t_ns, **dict([moment] if moment else [])}
        self._records.append((MADE, stream, t_ns, pack_fields(fields)))

    def sent(self, stream: int, t_ns: int, number: int, late_ns: int) -> None:
        """Notes that a line goes out after it was held back.

        Args:
            stream: the stream that the line is sent to.
            t_ns: when the delivery was decided, in monotonic nanoseconds.
            number: the number of the line.
            late_ns: how long ago the line was received.
        """
        payload = pack_fields({"held": number, "late": late_ns})
        self._records.append((SENT, stream, t_ns, payload))

    def effect(self, actor: Actor, *, stream: int = 0, **more: int) -> None:
        """Notes a side effect.

        Args:
            actor: the name and the kind of the rule.
            stream: the stream that the side effect acts on; 0 for the agent.
            more: more fields, such as a signal.
        """
        payload = pack_fields({"rule": actor[0], "action": actor[1], **more})
        self._records.append((EFFECT, stream, time.monotonic_ns(), payload))

    def write(self) -> None:
        """Logs everything added since the previous call."""
        records, self._records = self._records, []
        if len(records) == 1 and records[0][0] == DATA:
            self._log.append(*records[0][1:])
        elif records:
            self._log.append_all(records)

    def _add_parts(self, stream: int, t_ns: int, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._records.append((PART, stream, t_ns, data[start : start + PIECE]))


@lru_cache
def _fault_payload(
    actor: Actor, delivered: str, is_same: bool, is_last: bool, is_again: bool, moment: Moment
) -> bytes:
    fields: dict[str, str | int | list[str]] = {}
    fields |= {"rule": actor[0], "action": actor[1], "delivered": delivered}
    flags = {"same": is_same, "last": is_last, "again": is_again}
    fields |= {name: 1 for name, is_set in flags.items() if is_set}
    return pack_fields(fields | dict([moment] if moment else []))


def _how(cut: Cut, delivered: bytes) -> str:
    """Returns how much of a line went out: all of it, perhaps changed; a part; or nothing."""
    if not delivered:
        return "none"
    line = delivered.removesuffix(b"\n").removesuffix(b"\r")
    is_short = len(line) < len(cut.raw) and cut.raw.startswith(line)
    lacks_end = bool(cut.newline) and not delivered.endswith(b"\n")
    return "partial" if is_short or lacks_end else "full"
