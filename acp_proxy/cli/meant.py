"""Words that people type and that are no commands, options or values, with the line that works."""

MEANT = {
    "explain": "acp-proxy faults explain",
    "sweep": "acp-proxy faults sweep",
    "ls": "acp-proxy list",
    "tail": "acp-proxy log --follow",
    "cat": "acp-proxy log",
    "grep": "acp-proxy search",
    "find": "acp-proxy search",
    "view": "acp-proxy show",
    "info": "acp-proxy show",
    "why": "acp-proxy show",
    "open": "acp-proxy report",
    "dump": "acp-proxy export",
    "compare": "acp-proxy diff",
    "delete": "acp-proxy prune",
    "rm": "acp-proxy prune",
    "start": "acp-proxy record -- AGENT",
    "run": "acp-proxy record -- AGENT",
    "play": "acp-proxy replay",
    "test": "acp-proxy verify",
    "diagnose": "acp-proxy doctor",
    "version": "acp-proxy --version",
    "diff --html": "acp-proxy report A --against B",
    "export --format json": "acp-proxy log REC --json",
    "export --format markdown": "acp-proxy transcript REC",
    "export --format md": "acp-proxy transcript REC",
    "log --last": "acp-proxy log REC --lines N",
    "log --limit": "acp-proxy log REC --lines N",
    "log --tail": "acp-proxy log REC --lines N",
    "log --turn last": "acp-proxy log REC turn:last",
    "log -N": "acp-proxy log REC --lines N",
    "report --open": "acp-proxy report REC -o page.html",
    "show --seq": "acp-proxy log REC --seq N",
    "transcript --markdown": "acp-proxy transcript REC -o chat.md",
    "* --filter": "acp-proxy log REC FILTER",
    "* --grep": "acp-proxy search PATTERN",
    "* --html": "acp-proxy report REC",
    "* --method": "acp-proxy log REC method:NAME",
    "* -N": "acp-proxy show latest~1",
}
"""What works instead of a command, an option, or a value of an option.

A ``*`` stands for any command, and ``-N`` for an option that is a negative number.
"""


def meant(command: str, option: str = "", value: str = "") -> str:
    """Returns a hint at the line that works, for the end of a message; empty if there is none.

    Args:
        command: the name of the command, without ``inspect``.
        option: the option as it was typed; empty for the command itself.
        value: the value of the option.
    """
    option = "-N" if option[1:].isdecimal() else option
    typed = (" ".join(filter(None, (name, option, value))) for name in (command, "*"))
    line = next((MEANT[words] for words in typed if words in MEANT), "")
    return line and f"; did you mean `{line}`?"
