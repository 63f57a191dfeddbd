"""Who is waited for, and whether that is a hang.

An open request is no fault by itself. A person may think for an hour over a permission, a program
may run for a day; silence counts only where a peer owed an answer and nobody else held it up.
"""

from enum import StrEnum

_PERSON = {"session/request_permission", "elicitation/create", "authenticate", "auth/login"}
_PROGRAM = {"terminal/wait_for_exit"}


class Awaited(StrEnum):
    """Whom an open request waits for."""

    PERSON = "person"
    PROGRAM = "program"
    CLIENT = "client"
    AGENT = "agent"


def awaited(direction: str, method: str | None) -> Awaited:
    """Tells whom a request waits for: its receiver, unless that one waits for somebody itself.

    Args:
        direction: of the request.
        method: its method.
    """
    if method in _PERSON:
        return Awaited.PERSON
    if method in _PROGRAM:
        return Awaited.PROGRAM
    return Awaited.AGENT if direction == "to-agent" else Awaited.CLIENT
