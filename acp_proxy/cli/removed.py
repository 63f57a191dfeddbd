"""What earlier versions had: each removed command and option, and what serves instead."""

from collections.abc import Iterator
from typing import Any

import click

REMOVED: dict[str, str] = {
    "audit --markdown": "in a pipe `acp-proxy audit` prints plain text, and --json has all",
    "check --coverage": "`acp-proxy stats` counts the methods and updates of a recording",
    "check --markdown": "`acp-proxy stats --json` counts the methods and updates of a recording",
    "check --sarif FILE": "`acp-proxy check --github` annotates lines, and --json has all findings",
    "check --schema FILE": "the package has the official schemas; --dialect chooses among them",
    **dict.fromkeys(
        (
            f"{command} --{option}"
            for command in ("diff", "report", "verify")
            for option in ("alias PTR", "apart KIND")
        ),
        "`--rules FILE` reads such lists from a file; `acp-proxy diff --learn -o FILE` writes one",
    ),
    "export --format perfetto": "`acp-proxy report` draws a waterfall of each turn",
    "import --from agent-shell": "what Emacs prints as Lisp is no JSON; `acp-proxy record`"
    " records such a client",
    "import --line RE": "a line has a time, `>` or `<`, and the message; `sed` brings others into"
    " that form",
    "import --session N": "`acp-devtools export` writes a session, which `acp-proxy import` reads",
    "report --check": "`acp-proxy check` checks the rules of the protocol in all frames",
    "results": "`--junit` writes a report of a batch, and `--results` a verdict on each recording",
    **{
        f"{command} --{option}": serves
        for command in ("check", "faults sweep", "verify")
        for option, serves in (
            ("shard I/N", "each job names its own recordings, such as those of one directory"),
            ("retries N", "the same command with --results runs again what was lost"),
            (
                "fail-fast",
                "each verdict is printed and written when it is there, and Ctrl-C ends a batch",
            ),
        )
    },
    "redact": "`acp-proxy export REC -o X.db --level secrets` makes a masked copy, with --path and"
    " --pattern as well, and a text where the name ends in .jsonl",
    "upgrade": "`acp-proxy export REC -o X.db` makes a recording with the views of today",
    "rename": "rename the file with `mv`; its new name finds the recording",
    "record --fsync": "the recording survives whatever ends acp-proxy, and no power cut",
    "record --dialect D": "the dialect follows from the messages; `acp-proxy check --dialect D`"
    " checks by the rules of another one",
    **dict.fromkeys(
        ("replay --order causal", "verify --order causal"),
        "`--order session`, the default, keeps the order within each session",
    ),
    **dict.fromkeys(
        ("replay --timing fixed:MS", "verify --timing fixed:MS"),
        "`--timing recorded --idle-cap S` waits as recorded, S seconds at most",
    ),
    "faults explain PLAN REC": "`acp-proxy replay REC --faults PLAN --report FILE` counts how"
    " often each rule fires",
    "faults explain --seed N": "the seed matters where a plan is used, as with `acp-proxy replay"
    " --faults PLAN --seed N`",
    "faults explain --unredacted": "nothing recorded is printed, so nothing is masked",
}
"""What serves instead, by what was typed: ``COMMAND``, or ``COMMAND --option``.

An option that had a value ends with the name of the value in capitals: ``COMMAND --option VALUE``.
Where only a value of an option was removed, it ends with that: ``COMMAND --option value``; what
follows a colon in it may be anything. Where only an argument was removed, it ends with all of them:
``COMMAND FIRST SECOND``. The words of a command are without ``inspect``.
"""
STARTERS = ("record", "replay")
"""Commands that start whatever was removed, since their lines stand in the settings of editors."""


def instead(command: str, word: str = "", value: str = "") -> str | None:
    """Returns a sentence on what was removed; None if it never existed.

    Args:
        command: the name of the command, without its group.
        word: an option of it; "" for the command itself.
        value: the value of that option; or the names of the arguments.
    """
    for typed, serves in REMOVED.items():
        name, flag, argument = parts(typed)
        if (name, flag) != (command, word):
            continue
        if flag and not _is_value(argument):
            return f"`{name} {flag}` was removed: {serves}"
        if value.partition(":")[0] == argument.partition(":")[0]:
            return f"`{typed}` was removed: {serves}"
    return None


def parts(typed: str) -> tuple[str, str, str]:
    """Returns the command, the option and the rest of a row of `REMOVED`; "" for what it has not.

    Args:
        typed: the row.
    """
    words = typed.split()
    after = (n for n, word in enumerate(words) if word.startswith("-") or word.isupper())
    place = next(after, len(words))
    option = next((word for word in words[place : place + 1] if word.startswith("-")), "")
    rest = words[place + bool(option) :]
    return " ".join(words[:place]), option, " ".join(rest)


def of_variable(name: str, value: str) -> str | None:
    """Returns a sentence on what a variable of the environment was for; None if it was not removed.

    Args:
        name: of the variable.
        value: of the variable.
    """
    for typed in REMOVED:
        command, option, argument = parts(typed)
        words = [*command.split(), *option.removeprefix("--").split("-")]
        if words[0] == "record":
            del words[0]
        variable = "_".join(["ACP_PROXY", *words]).upper()
        if option and name == variable:
            return instead(command, option, value)
        if not option and not argument and name.startswith(variable):
            return instead(command)
    return None


def removed_options(command: str) -> Iterator[click.Option]:
    """Yields hidden options for a command that has to start whatever an editor's settings say.

    Each prints its line and changes nothing; its variable is ignored.

    Args:
        command: the name of the command.
    """
    for typed in REMOVED:
        name, flag, argument = parts(typed)
        if name == command and flag and not _is_value(argument):
            yield click.Option(
                [flag],
                is_flag=not argument,
                hidden=True,
                expose_value=False,
                allow_from_autoenv=False,
                multiple=bool(argument),
                callback=_warn,
            )


def _is_value(argument: str) -> bool:
    """Whether it is a value that was removed, and not the name of any value."""
    return argument != argument.upper()


def _warn(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    from acp_proxy.cli.render.output import warn

    if value and not ctx.resilient_parsing:
        warn(instead(ctx.info_name or "", param.opts[0]) or "")
