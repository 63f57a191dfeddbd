"""Tests command lines with short forms and typing errors, such as `show` for `inspect show`."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from acp_proxy.cli.inspect import INSPECT
from acp_proxy.cli.main import cli
from acp_proxy.cli.removed import MEANT
from tests.support.cases import each_case
from tests.support.command_line import complaint, run

RECORDINGS = Path(__file__).parents[3] / "recordings"


def test_the_commands_of_inspect_are_commands_of_the_root() -> None:
    """Each command of `acp-proxy inspect` works without the word `inspect`."""
    root = click.Context(cli)
    inspect = cli.get_command(root, "inspect")
    assert isinstance(inspect, click.Group)
    assert not {*INSPECT} & {*cli.list_commands(root), "setup", "doctor", "results"}
    for word in inspect.list_commands(root):
        assert cli.get_command(root, word) is inspect.get_command(root, word)


def test_help_and_mistakes_name_what_was_typed() -> None:
    """If `inspect` is left out, as in `acp-proxy show`, help and errors leave it out, too."""
    assert run("show", "--help").stdout.startswith("Usage: acp-proxy show [OPTIONS] [REC]\n")
    assert complaint("log", "--lin", "3") == (
        "no such option '--lin'; did you mean --lines? See `acp-proxy log --help`"
    )
    assert complaint("note") == "missing argument 'REC'; see `acp-proxy note --help`"


@pytest.mark.parametrize("words", [[], ["inspect"], ["faults"]])
def test_no_line_of_a_list_of_commands_is_cut(words: list[str]) -> None:
    """In the help of acp-proxy, no line of the list of commands is cut at 80 columns."""
    shown = run(*words, "--help", COLUMNS="80").stdout
    assert not re.search(r"^  [a-z].*\w\.\.\.$", shown, re.MULTILINE)


def test_a_group_without_a_command_prints_its_help() -> None:
    """The command group `faults` without a command prints its help."""
    result = run("faults")
    assert result.exit_code == 2
    assert "\nCommands:\n  list " in result.stderr


@pytest.mark.parametrize("word", ["show", "log", "stats", "audit", "secrets", "export"])
def test_what_only_reads_takes_the_latest(word: str) -> None:
    """Commands that only read, such as `show`, read the latest recording if none is given."""
    without = run(word, home=RECORDINGS)
    assert without.exit_code == 0
    assert without.output == run("inspect", word, "latest", home=RECORDINGS).output


@pytest.mark.parametrize(
    "arguments",
    [["note"], ["import"], ["replay"], ["verify"]],
)
def test_what_writes_or_plays_names_its_recording(arguments: list[str]) -> None:
    """A command that writes or plays, such as `note` or `replay`, needs a recording as argument."""
    assert complaint(*arguments, home=RECORDINGS).startswith("missing argument '")


def test_a_gate_names_what_it_checks() -> None:
    """`secrets --check` without a recording is refused, since it does not take the latest."""
    assert complaint("secrets", "--check", home=RECORDINGS).startswith("--check needs the names")


@each_case(
    ("arguments", "near"),
    [
        (["shwo"], "did you mean show?"),
        (["recrod"], "did you mean record?"),
        (["inspect", "lsit"], "did you mean list?"),
        (["inspect", "replay"], "did you mean `acp-proxy replay`?"),
        (["explain"], "did you mean `acp-proxy faults explain`?"),
        (["diff", "a", "b", "--html"], "did you mean `acp-proxy report A --against B`? See"),
        (["ls"], "did you mean `acp-proxy list`?"),
        (["view"], "did you mean `acp-proxy show`?"),
        (["log", "tour", "--grep", "x"], "did you mean `acp-proxy search PATTERN`?"),
        (["show", "tour", "-1"], "did you mean `acp-proxy show latest~1`?"),
        (["log", "-20", "tour"], "did you mean `acp-proxy log REC --lines N`?"),
        (["export", "tour", "--format", "md"], "did you mean `acp-proxy transcript REC`?"),
        (["log", "--turn", "last"], "did you mean `acp-proxy log REC turn:last`?"),
        (["log", "--seq", "tour"], "--seq takes a number, not 'tour': `acp-proxy log tour --seq"),
        (["stats", "tour", "--turn", "x"], "not 'x': `acp-proxy stats tour --turn 1`"),
        (["log", "--around", "foo", "tour"], "not 'foo': `acp-proxy log tour --around 1`"),
        (["transcript", "tour", "--turn", "last"], "`acp-proxy transcript tour --turn 1`"),
        (["show", "tuor"], "did you mean tour?"),
        (["log", "tour", "knid:error"], "did you mean kind?"),
        (["log", "tour", "kind:eror"], "did you mean error?"),
        (["faults", "list", "latncy"], "did you mean latency?"),
        (["faults", "explain", "@late-update"], "did you mean late-updates?"),
    ],
)
def test_a_slip_is_answered_with_the_nearest_word(arguments: list[str], near: str) -> None:
    """The error about a misspelt command or option suggests the most similar one."""
    assert near in complaint(*arguments, home=RECORDINGS)


def test_help_stands_before_a_command_as_well() -> None:
    """`acp-proxy help COMMAND` prints the help of the command."""
    assert run("help", "faults", "list").stdout == run("faults", "list", "--help").stdout
    assert run("help").stdout == run("--help").stdout
    assert run("-V").stdout == run("--version").stdout


@each_case("typed", MEANT)
def test_nothing_that_exists_is_in_the_table_of_mistakes(typed: str) -> None:
    """In the table of mistyped commands, each suggestion exists, and no mistyped command does."""
    name, *option = typed.split()
    command = cli.get_command(click.Context(cli), name)
    if name != "*":
        assert (command is None) == (not option)
    if command is not None and len(option) == 1:
        assert option[0] not in {word for param in command.params for word in param.opts}
    line = MEANT[typed].split()
    assert line[0] == "acp-proxy"
    assert line[1] == "--version" or cli.get_command(click.Context(cli), line[1]) is not None


def test_nothing_is_meant_that_is_not_like_it() -> None:
    """If a mistyped command is similar to no command, the error suggests none."""
    assert "did you mean" not in complaint("faults", "explain", "@nosuch")
    assert complaint("faults", "explain", "@nosuch").count(", ") > 5
    assert "did you mean" not in complaint("xyzzy")


@pytest.mark.parametrize(
    ("word", "meant"),
    [("unanswered", "is:unanswered"), ("failed", "is:failed"), ("errors", "is:error")],
)
def test_a_state_in_place_of_a_recording_is_a_filter(word: str, meant: str) -> None:
    """If `log failed` is typed, the error suggests the filter `is:failed` after a recording."""
    assert complaint("log", word, home=RECORDINGS).endswith(f"`acp-proxy log latest {meant}`")


def test_a_filter_in_place_of_a_recording_is_recognized() -> None:
    """If `log kind:error` is typed, the error says that a filter comes after a recording."""
    assert complaint("log", "kind:error", home=RECORDINGS) == (
        "no recording named 'kind:error': it looks like a filter, which comes after the recording:"
        " `acp-proxy log latest kind:error`"
    )
