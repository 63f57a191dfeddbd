"""Writes down in the log what faults did, right after the line at which they did it.

``FAULT`` says which ``rule`` and ``action`` (its kind) fired at the last line of a stream, and how
much was ``delivered``: ``full``, ``partial`` or ``none``. The bytes that went out stand in ``PART``
records before it, unless they are the ``same`` as the line's. ``last`` is set for a line that
nothing has ended, ``again`` for one that met with a direction that was stopped before. ``MADE`` is
a line that a rule made up, and stands in parts as well; it says ``at`` which time. ``EFFECT`` is
what is no line.
"""

from acp_proxy.capture.log import EFFECT, FAULT, MADE, NullLog
from acp_proxy.runtime.line_cutter import Cut

Actor = tuple[str, str]
"""A rule and its kind."""
Fields = dict[str, str | int | list[str]]
_PART = 1 << 20


class FaultNotes:
    """What faults did on one connection, as its log has it."""

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
            is_again: whether nothing could pass there any more.
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
        """Notes a line that a rule made up, when another one was read at a time."""
        self._parts(stream, line)
        self._log.event(MADE, {"rule": actor[0], "action": actor[1], "at": t_ns}, stream)

    def effect(self, actor: Actor, *, stream: int = 0, **more: int) -> None:
        """Notes something that is no line."""
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
