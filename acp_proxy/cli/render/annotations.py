"""Commands of GitHub's workflows that show a message beside a line of a file."""

from acp_proxy.safe_text import visible


def annotation(level: str, text: str, **values: str | None) -> str:
    """Returns a line that no text can make another command of.

    Args:
        level: ``error``, ``warning`` or ``notice``.
        text: the message.
        **values: of the command, such as ``file``, ``line`` and ``title``; None for none.
    """
    given = {name: value for name, value in values.items() if value is not None}
    members = ",".join(f"{name}={_value(value)}" for name, value in given.items())
    return f"::{level} {members}::{_message(text)}" if members else f"::{level}::{_message(text)}"


def _message(text: str) -> str:
    text = visible(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
