"""Tells whether a command shows secrets, and masks the secrets in its messages."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acp_proxy.base.wording import counted, plain
from acp_proxy.cli.shared_flags import UNREDACTED

if TYPE_CHECKING:
    from acp_proxy.explain.masked_secrets import MaskedValue
    from acp_proxy.redaction.redactor import Redactor

_LONGEST_LINE, _KEPT_END = 300, 100
"""The largest number of characters of a line. From the end of a longer line, `_KEPT_END` characters
are kept."""
unredacted_option = UNREDACTED.option
is_unredacted = UNREDACTED.is_given
"""Whether the command shows secrets."""


def new_redactor(known: Mapping[str, str] | None = None) -> "Redactor":
    """Returns a redactor with a new key, for texts outside of recordings.

    A known secret keeps its marker. All other secrets get new markers.

    Args:
        known: the known secrets, each with its marker.
    """
    from acp_proxy.redaction.redactor import Redactor, RedactorState

    return Redactor(RedactorState(os.urandom(16).hex(), values=dict(known or {})))


def without_secrets(text: str) -> str:
    """Returns a message without its secrets, unless the command shows them."""
    if is_unredacted():
        return text
    # Imported late: most commands print no message, and most messages contain none of these words.
    from acp_proxy.redaction.needles import of_all_words

    if not of_all_words().are_in(text.encode("utf-8", "replace")):
        return text
    from acp_proxy.redaction.secret_patterns import find

    return new_redactor().text(text) if find(text, loose=True) else text


def one_line(text: str) -> str:
    """Returns a message as one short printable line with secrets masked, to be put into a verdict.

    A long message is cut in the middle, because the reason is often at the end.
    """
    text = plain(" ".join(without_secrets(text).split()))
    if len(text) <= _LONGEST_LINE:
        return text
    return f"{text[: _LONGEST_LINE - _KEPT_END - 3]}...{text[-_KEPT_END:]}"


def output_without_secrets(text: str, known: Mapping[str, str]) -> str:
    """Returns the output of a program with secrets masked, even if the end of a secret is cut off.

    Args:
        text: lines of any kind.
        known: secrets that may have been sent to the program, each with a marker.
    """
    if not known:
        return without_secrets(text)
    from acp_proxy.protocol.jsonrpc import Stream
    from acp_proxy.redaction.edits import apply

    redactor = new_redactor(known)
    lines = (line.encode("utf-8", "surrogateescape") for line in text.split("\n"))
    masked = (apply(line, redactor.changed(Stream.STDERR, line)) for line in lines)
    return b"\n".join(masked).decode("utf-8", "replace")


def masked_summary(masked: "Sequence[MaskedValue]", level: str) -> str:
    """Describes in words how much is masked.

    Args:
        masked: the masked values.
        level: the level of masking: ``secrets`` or ``private``.
    """
    kinds = Counter({value.marker: value.kind for value in masked}.values())
    words = "no secret was found"
    if masked:
        named = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        verb = "is" if kinds.total() == 1 else "are"
        secrets, places = counted(kinds.total(), "secret"), counted(len(masked), "place")
        words = f"{secrets} {verb} masked in {places} ({named})"
    return f"{words}; private text is masked" if level == "private" else words
