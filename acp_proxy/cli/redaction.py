"""Keeps whether a command shows secrets, and masks them in its messages."""

import os

import click

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
