"""Notes in the log what faults did, right after the line at which they did it.

``FAULT`` has the ``rule`` and ``action`` (its kind) that fired at the last line of a stream, and
how much was ``delivered``: ``full``, ``partial`` or ``none``. The bytes that went out stand in
``PART`` records before it, unless they are the ``same`` as the line's. ``last`` is set for a line
without a newline, ``again`` for a line of a direction that was stopped before. ``MADE`` is a line
that a rule has injected, in parts as well, and the time ``at`` which it did. ``EFFECT`` is a side
effect.
"""

from acp_proxy.capture.log_format import EFFECT, FAULT, MADE, NullLog
from acp_proxy.runtime.line_cutter import Cut

Actor = tuple[str, str]
"""A rule and its kind."""
Fields = dict[str, str | int | list[str]]
_PART = 1 << 20


class FaultNotes:
    """The notes on the faults of one connection."""

    def __init__(self, log: NullLog) -> None:
        self._log = log

    def fault(
        self, stream: int, actor: Actor, cut: Cut, delivered: bytes | None, *, is_again: bool
    ) -> None:
        """Notes that a rule fired at the last line that was logged.

        Args:
            stream: the line's.
            actor: the rule.
            cut: the line.
            delivered: what went out in its place.
            is_again: whether the direction had been stopped before.
        """
        if self._log.has_gap:  # the line is not recorded either
            return
        fields: Fields = {"rule": actor[0], "action": actor[1], "delivered": _how(cut, delivered)}
        if delivered == cut.raw + cut.newline:
            fields["same"] = 1
        elif delivered:
            self._parts(stream, delivered)
        if not cut.newline:
            fields["last"] = 1
        if is_again:
            fields["again"] = 1
        self._log.event(FAULT, fields, stream)

    def made(self, stream: int, actor: Actor, line: bytes, t_ns: int) -> None:
        """Notes a line that a rule has injected.

        Args:
            stream: where it goes.
            actor: the rule.
            line: the line, newline included.
            t_ns: when the frame was read at which the rule fired, monotonic nanoseconds.
        """
        self._parts(stream, line)
        self._log.event(MADE, {"rule": actor[0], "action": actor[1], "at": t_ns}, stream)

    def effect(self, actor: Actor, *, stream: int = 0, **more: int) -> None:
        """Notes a side effect.

        Args:
            actor: the rule.
            stream: what it acts on; 0 for the agent.
            more: what else is known, such as a signal.
        """
        self._log.event(EFFECT, {"rule": actor[0], "action": actor[1], **more}, stream)

    def _parts(self, stream: int, data: bytes) -> None:
        for start in range(0, len(data), _PART):
            self._log.part(stream, data[start : start + _PART])


def _how(cut: Cut, delivered: bytes | None) -> str:
    """Whether a line went out in full, in some form, or was cut short, or not at all."""
    if not delivered:
        return "none"
    line = delivered.removesuffix(b"\n").removesuffix(b"\r")
    is_short = len(line) < len(cut.raw) and cut.raw.startswith(line)
    lacks_end = bool(cut.newline) and not delivered.endswith(b"\n")
    return "partial" if is_short or lacks_end else "full"
