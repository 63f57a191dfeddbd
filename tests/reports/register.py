"""The reports, each a function that writes its conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.reports.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Callable

V1 = "https://agentclientprotocol.com/protocol/v1/"
SCHEMA = "the schema of protocol version 1"


class Report(NamedTuple):
    """What a thread says went wrong, and who broke the protocol at which line."""

    name: str
    thread: str | None
    title: str
    side: str | None
    sentence: str
    write: Callable[[Conversation], list[int]]

    def build(self) -> tuple[str, dict[str, Any]]:
        """The text form, and the entry of the list."""
        conversation = Conversation(self.name)
        frames = self.write(conversation)
        entry = {
            "file": f"{self.name}.jsonl",
            "thread": self.thread,
            "title": self.title,
            "what": " ".join((self.write.__doc__ or "").split()),
            "side": self.side,
            "seq": frames[0] if frames else None,
            "also": sorted(set(frames[1:]) - set(frames[:1])),
            "sentence": self.sentence,
        }
        return "".join(line + "\n" for line in conversation.lines), entry


REPORTS: list[Report] = []


def report(
    thread: str | None, title: str, side: str | None, sentence: str
) -> Callable[[Callable[[Conversation], list[int]]], Callable[[Conversation], list[int]]]:
    """Registers a function that writes a conversation.

    The function gives the line at which the break shows, then others that are as good; none
    where nothing is broken. Its docstring says what happened on the wire.
    """

    def register(
        write: Callable[[Conversation], list[int]],
    ) -> Callable[[Conversation], list[int]]:
        name = getattr(write, "__name__", "").replace("_", "-")
        REPORTS.append(Report(name, thread, title, side, sentence, write))
        return write

    return register
