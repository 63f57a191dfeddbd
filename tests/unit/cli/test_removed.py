"""Removed commands and options are answered by a line that names their successors."""

from pathlib import Path

import click
import pytest

from acp_proxy.cli.main import cli
from acp_proxy.cli.removed import REMOVED, STARTERS, instead, of_variable, parts, removed_options
from tests.support.cases import each_case
from tests.support.command_line import run


@each_case("typed", [typed for typed in REMOVED if typed.split()[0] not in STARTERS])
def test_what_was_removed_says_what_serves_instead(typed: str) -> None:
    """If a command of an earlier version is typed, the error names what replaces it."""
    result = run(*typed.split())
    assert result.exit_code == 2
    assert result.stderr == f"acp-proxy: {instead(*parts(typed))}\n"
    assert not result.stdout


@pytest.mark.parametrize("typed", [typed for typed in REMOVED if typed.split()[0] in STARTERS])
def test_the_command_of_an_editor_starts_whatever_was_removed(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """If `record` or `replay` gets a removed option, it prints the successor and starts anyway."""
    name, *option = typed.split()
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    with command.make_context(name, [*option, "rest"]) as context:
        assert ("rest",) in context.params.values()
    assert capsys.readouterr().err == f"acp-proxy: {instead(*parts(typed))}\n"


def test_the_manual_lists_all_that_was_removed() -> None:
    """The manual lists each removed command and option."""
    rows: dict[str, list[str]] = {}
    for typed, serves in REMOVED.items():
        rows.setdefault(serves, []).append(f"`{typed}`")
    table = [f"| {', '.join(typed)} | {serves} |" for serves, typed in rows.items()]
    page = Path(__file__).parents[3].joinpath("docs", "removed.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("| `")] == table


def test_nothing_that_exists_is_in_the_table() -> None:
    """No command in the table of removed commands still exists."""
    for typed in REMOVED:
        name, *option = typed.split()
        command = cli.get_command(click.Context(cli), name)
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), option.pop(0))
        if command is not None:
            assert option
            shown = [param for param in command.params if not getattr(param, "hidden", False)]
            words = {word for param in shown for word in param.opts}
            assert option[0] not in words or option[1] != option[1].upper()


def test_a_variable_of_a_removed_option_changes_nothing() -> None:
    """Environment variables for removed options of `record` and `replay` are ignored."""
    for name in STARTERS:
        for option in removed_options(name):
            assert option.resolve_envvar_value(click.Context(cli)) is None


def test_only_the_removed_values_of_an_option_are_refused() -> None:
    """`instead` names a successor of `verify --timing fixed:2.5`, but none of `--order session`."""
    assert instead("verify", "--order", "session") is None
    assert instead("verify", "--timing", "fixed:2.5") == instead("verify", "--timing", "fixed:MS")
    assert instead("verify", "--timing") is None


def test_a_removed_value_in_a_variable_is_treated_as_a_typed_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """If a variable sets a removed value, `replay` warns and runs, but `verify` exits with 2."""
    env = {"ACP_PROXY_REPLAY_ORDER": "causal", "ACP_PROXY_VERIFY_ORDER": "causal"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        command = cli.get_command(click.Context(cli), "replay")
        assert command is not None
        with command.make_context("replay", ["rest"], auto_envvar_prefix="ACP_PROXY_REPLAY"):
            assert (
                capsys.readouterr().err == f"acp-proxy: {instead('replay', '--order', 'causal')}\n"
            )
        result = run("verify", "hello", "--", "true")
    assert (result.exit_code, result.stderr) == (
        2,
        f"acp-proxy: {instead('verify', '--order', 'causal')}\n",
    )


def test_a_variable_of_what_was_removed_is_known() -> None:
    """If a variable sets a removed option or value, `of_variable` returns what replaces it."""
    assert of_variable("ACP_PROXY_DIALECT", "v1") == instead("record", "--dialect")
    assert of_variable("ACP_PROXY_REDACT_LEVEL", "private") == instead("redact")
    assert of_variable("ACP_PROXY_VERIFY_ORDER", "causal") == instead("verify", "--order", "causal")
    for name, value in (("REDACT", "none"), ("VERIFY_ORDER", "session"), ("CHECK_DIALECT", "v2")):
        assert of_variable(f"ACP_PROXY_{name}", value) is None
