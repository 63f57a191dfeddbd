"""SECURITY.md is linked, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from acp_proxy.base.limits import LABEL, PLAN_FILE, WHOLE_VALUE
from acp_proxy.cli.main import cli
from acp_proxy.recording.filters.filter_grammar import DEEPEST

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
_NAMED = re.findall(r"`([^`]+)`", PAGE)


def commands(command: click.Command, *words: str) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    """Yields every command with its options."""
    yield words, {option for parameter in command.params for option in parameter.opts}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, *words, name)


COMMANDS = dict(commands(cli))


def test_the_readme_links_to_it() -> None:
    """The README links to SECURITY.md, and SECURITY.md links only to pages that exist."""
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / target).exists(), target


@pytest.mark.parametrize("option", sorted({n for n in _NAMED if n.startswith("--")}))
def test_an_option_exists(option: str) -> None:
    """SECURITY.md names only options that exist."""
    assert any(option in options for options in COMMANDS.values())


@pytest.mark.parametrize(
    "name", sorted({n for n in _NAMED if re.match(r"(tests|requirements)/", n)})
)
def test_a_file_exists(name: str) -> None:
    """Each file that SECURITY.md names is in the repository."""
    assert (ROOT / name).exists()


@pytest.mark.parametrize(
    "name", sorted({n for n in _NAMED if re.match(r"(acp-proxy|inspect) [a-z]", n)})
)
def test_a_command_exists(name: str) -> None:
    """Each command that SECURITY.md names exists, and has the options that are named with it."""
    words = [word for word in name.removeprefix("acp-proxy ").split() if not word.startswith("-")]
    options = {word for word in name.split() if word.startswith("-")}
    assert options <= COMMANDS[tuple(words)]


@pytest.mark.parametrize("target", sorted({n[5:] for n in _NAMED if n.startswith("make ")}))
def test_a_target_of_make_exists(target: str) -> None:
    """Each target of make that SECURITY.md names is in the Makefile."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_limits_are_those_of_the_code() -> None:
    """The limits that SECURITY.md names, such as 4 MiB and 100 levels, are those of the code."""
    assert (WHOLE_VALUE >> 20, LABEL >> 20, PLAN_FILE, DEEPEST) == (16, 4, 1_000_000, 100)
    for limit in ("more than 16 MiB", "4 MiB", "1 MB", "100 levels"):
        assert limit in PAGE
