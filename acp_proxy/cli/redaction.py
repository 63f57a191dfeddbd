"""Keeps whether a command shows secrets, and masks them in its messages."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from acp_proxy.inspection.secrets import MaskedValue

_UNREDACTED = "acp_proxy.unredacted"
"""The key in click's context; a group and its commands share the value."""


def is_unredacted() -> bool:
    """Whether the command shows secrets."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_UNREDACTED))


def without_secrets(text: str) -> str:
    """Returns a message without its secrets, unless the command shows them."""
    if is_unredacted():
        return text
    # Imported late: most commands print no message, and most messages contain no such word.
    from acp_proxy.redaction.needles import of_all_words

    if not of_all_words().are_in(text.encode("utf-8", "replace")):
        return text
    from acp_proxy.redaction.patterns import find

    if not find(text, loose=True):
        return text
    from acp_proxy.redaction.redactor import Redactor, RedactorState

    return Redactor(RedactorState(os.urandom(16).hex())).text(text)


def output_without_secrets(text: str, known: Mapping[str, str]) -> str:
    """Returns what a program has printed without its secrets, also where one is cut.

    Args:
        text: lines of any kind.
        known: secrets that the program may have been sent, each with a marker.
    """
    if not known:
        return without_secrets(text)
    from acp_proxy.protocol.peers import Stream
    from acp_proxy.redaction.edits import apply
    from acp_proxy.redaction.redactor import Redactor, RedactorState

    redactor = Redactor(RedactorState(os.urandom(16).hex(), values=dict(known)))
    lines = (line.encode("utf-8", "surrogateescape") for line in text.split("\n"))
    masked = (apply(line, redactor.changed(Stream.STDERR, line)) for line in lines)
    return b"\n".join(masked).decode("utf-8", "replace")


def masked_summary(masked: "Sequence[MaskedValue]", level: str) -> str:
    """Returns in words how much is masked.

    Args:
        masked: the values.
        level: what was to be masked: ``secrets`` or ``private``.
    """
    from acp_proxy.wording import counted

    kinds = Counter({value.marker: value.kind for value in masked}.values())
    words = "no secret was found"
    if masked:
        named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        verb = "is" if kinds.total() == 1 else "are"
        secrets, places = counted(kinds.total(), "secret"), counted(len(masked), "place")
        words = f"{secrets} {verb} masked in {places} ({named})"
    return f"{words}; private text is masked" if level == "private" else words


def _show_secrets(ctx: click.Context, _param: object, value: bool) -> None:
    if value:
        ctx.meta[_UNREDACTED] = True


unredacted_option = click.option(
    "--unredacted",
    is_flag=True,
    expose_value=False,
    allow_from_autoenv=False,
    callback=_show_secrets,
    help="Show the secrets that the file holds.",
)
"""Commands do not pass its value on; `is_unredacted` returns it."""
