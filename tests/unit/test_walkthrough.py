"""The walkthrough shows what the program prints about the recordings that come with it."""

from __future__ import annotations

from tests.support.cases import each_case
from tests.support.shipped_recordings import SHIPPED
from tests.tools.walkthrough import PAGE, Shown, commands, output


@each_case("shown", [*commands()], ids=lambda shown: shown.command)
def test_a_command_prints_what_is_shown(shown: Shown) -> None:
    """Each output in the manual's walkthrough is what the command above it prints."""
    assert shown.output == output(shown.command)


def test_it_goes_through_every_recording() -> None:
    """The manual's walkthrough has a command for each shipped recording."""
    words = {word for shown in commands() for word in shown.command.split()}
    assert [path.name for path in SHIPPED if f"recordings/{path.name}" not in words] == []


def test_everything_in_its_blocks_is_compared() -> None:
    """The test of the manual's walkthrough compares every line of its blocks."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = text.split("```console\n")[1:]
    lines = sum(block.split("```\n")[0].count("\n") for block in blocks)
    assert lines == sum(1 + shown.output.count("\n") for shown in commands())
