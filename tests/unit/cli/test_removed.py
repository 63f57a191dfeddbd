"""What earlier versions had still answers: one line that says what serves instead."""

import click
import pytest

from acp_proxy.cli.main import cli
from acp_proxy.cli.removed import REMOVED, instead, removed_options
from tests.commands import run

_STARTERS = ("record", "replay")
"""Commands whose lines stand in the settings of editors, so they start."""


@pytest.mark.parametrize("typed", [one for one in REMOVED if one.split()[0] not in _STARTERS])
def test_what_was_removed_says_what_serves_instead(typed: str) -> None:
    """It is one line on stderr, and the exit code of wrong use."""
    done = run(*typed.split())
    assert done.exit_code == 2
    assert done.stderr == f"acp-proxy: {instead(*typed.split()[:2])}\n"
    assert not done.stdout


@pytest.mark.parametrize("typed", [one for one in REMOVED if one.split()[0] in _STARTERS])
def test_the_command_of_an_editor_starts_whatever_was_removed(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The option is read with its value and its line is printed; the rest of the line counts."""
    name, *option = typed.split()
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    with command.make_context(name, [*option, "rest"]) as context:
        assert ("rest",) in context.params.values()
    assert capsys.readouterr().err == f"acp-proxy: {instead(name, option[0])}\n"


def test_nothing_that_exists_is_in_the_table() -> None:
    """A row for a command or an option that is there would never be told."""
    for typed in REMOVED:
        name, *option = typed.split()
        command = cli.get_command(click.Context(cli), name)
        if command is not None:
            assert option
            shown = [one for one in command.params if not getattr(one, "hidden", False)]
            assert option[0] not in {word for one in shown for word in one.opts}


def test_a_variable_of_a_removed_option_changes_nothing() -> None:
    """It has no effect, and no message."""
    for name in _STARTERS:
        for option in removed_options(name):
            assert option.resolve_envvar_value(click.Context(cli)) is None
