"""Commands that begin with ``@NAME``, as the command line reads them."""

from collections.abc import Iterable

from acp_proxy.cli.group import Refusal
from acp_proxy.wording import did_you_mean


def agent_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Returns a command with that of a known agent in place of ``@NAME``.

    Raises:
        Refusal: it begins with ``@``, and no agent has this name.
    """
    if not command[0].startswith("@"):
        return command
    from acp_proxy.capture.agent_lookup import replace_name
    from acp_proxy.known_agents import expanded, known_names

    found = replace_name(command, expanded)
    if found is None:
        raise Refusal(unknown(command[0], [f"@{name}" for name in known_names()], "known agent"))
    return tuple(found)


def complete_agent(_ctx: object, _param: object, incomplete: str) -> list[str]:
    """Offers ``@NAME`` for a command that begins with ``@``; a click callback."""
    if not incomplete.startswith("@"):
        return []
    from acp_proxy.known_agents import known_names

    return [f"@{name}" for name in known_names() if name.startswith(incomplete[1:].lower())]


def unknown(
    word: str, words: Iterable[str], what: str, otherwise: str = "docs/known-agents.md lists them"
) -> str:
    """Returns a sentence on a word that names nothing, with the nearest word that does.

    Args:
        word: what was given.
        words: all that would do.
        what: what it should have named.
        otherwise: what to say if none is near.
    """
    hint = did_you_mean(word.lower(), [one.lower() for one in words])
    return f"no {what} {word!r}{hint or f'; {otherwise}'}"
