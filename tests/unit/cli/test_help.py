"""The help of a command is short by default, and whole with `--help-all`."""

from __future__ import annotations

import re

import click

from acp_proxy.cli.inspect import INSPECT
from acp_proxy.cli.main import cli
from tests.support.cases import each_case
from tests.support.command_line import COMMANDS, flags, run

LEAVES = [name for name, command in COMMANDS.items() if not isinstance(command, click.Group)]


def help_of(name: str, option: str = "--help") -> list[str]:
    """Returns the lines that a command prints on a terminal of 80 columns."""
    return run(*name.split()[1:], option, COLUMNS="80").stdout.splitlines()


@each_case("name", COMMANDS)
def test_the_help_of_a_command_fits_on_a_page(name: str) -> None:
    """No command has more than 50 lines of 80 columns of help."""
    lines = help_of(name)
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 80


@each_case("name", LEAVES)
def test_the_help_of_a_command_begins_with_examples(name: str) -> None:
    """The help of a command shows examples before the options."""
    text = "\n".join(help_of(name))
    examples = text.partition("\nExamples:\n")[2].partition("\n\n")[0]
    assert 1 <= len(re.findall(r"^  \S", examples, re.MULTILINE)) <= 2
    assert re.search(r"\n\n(What|How|Output|Help):\n", text.partition("\nExamples:\n")[2])


@each_case("name", LEAVES)
def test_the_whole_help_has_every_option_and_example(name: str) -> None:
    """`acp-proxy COMMAND --help-all` prints every option and every example of the command."""
    text = "\n".join(help_of(name, "--help-all"))
    assert set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?![\w-])", text)) >= flags(COMMANDS[name])
    whole = f"{COMMANDS[name].help}\n{COMMANDS[name].epilog}"
    for line in re.findall(r"^ +acp-proxy .*$", whole, re.MULTILINE):
        assert line.strip() in text


def test_the_help_of_the_root_says_what_serves_for_what() -> None:
    """The table "I want to ..." in `acp-proxy --help` names each command exactly once."""
    table = "\n".join(help_of("acp-proxy")).partition("I want to ...")[2].partition("\n\n")[0]
    cells = re.findall(r"^.{50}([a-z, ]+)(?:-- AGENT)?$", table, re.MULTILINE)
    words = [word.strip() for cell in cells for word in cell.split(",")]
    root = click.Context(cli)
    assert sorted(words) == sorted({*INSPECT, *cli.list_commands(root)} - {"inspect"})


def test_the_usage_names_a_command_in_one_way() -> None:
    """The help of a command never contains the word `inspect`."""
    assert help_of("acp-proxy inspect show") == help_of("acp-proxy show")
