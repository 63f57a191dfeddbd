"""Commands read and write files with rules of `diff`."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import click
import pytest
from attrs import asdict
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.rules_file import ComparisonRules, _read
from tests.support.command_line import complaint, run
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3).map(tuple)


@given(ignore=TEXTS, alias=TEXTS, apart=TEXTS)
def test_what_is_written_is_read(
    ignore: tuple[str, ...], alias: tuple[str, ...], apart: tuple[str, ...]
) -> None:
    """A `--rules` file for `diff` that acp-proxy writes is valid TOML with the same rules."""
    rules = ComparisonRules(ignore, alias, apart)
    written = {name: values for name, values in asdict(rules).items() if values}
    assert {name: tuple(values) for name, values in tomllib.loads(rules.toml).items()} == written
    assert rules.toml.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ignore = [", "not TOML: "),
        ('ignor = ["/x"]', "unknown key 'ignor'; did you mean ignore?"),
        ("x = 1", "unknown key 'x': expected ignore, alias, apart"),
        ('ignore = "/x"', "ignore: expected a list of strings, got '/x'"),
        ("alias = [1]", "alias: expected a list of strings, got [1]"),
        ('alias = ["x"]', "'x' is not a JSON pointer: expected one such as /params/prompt/0/text"),
        ('ignore = ["/~2"]', "'/~2' is not a JSON pointer"),
        ('apart = ["/x"]', "'/x' is not a kind of message: expected a method or an update"),
        ('apart = [""]', "'' is not a kind of message"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """A `--rules` file for `diff` with a wrong rule is refused; the error names file and rule."""
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(click.BadParameter) as error:
        _read(None, None, path)
    assert error.value.message.startswith(f"{path}: ")
    assert said in error.value.message


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """If a file of `--rules` cannot be read, the error of `diff` or `verify` says why."""
    assert _read(None, None, None) == ComparisonRules()
    path = record_conversation(tmp_path / "a.db")
    for words in (("diff", path, path), ("report", path), ("replay", path), ("verify", path)):
        said = complaint(*words, "--rules", tmp_path / "gone.toml", "--", "true")
        assert f"cannot read {tmp_path / 'gone.toml'}: no such file or directory" in said
    assert "'utf-8' codec" in complaint("diff", path, path, "--rules", path)


def test_rules_come_from_the_environment_too(tmp_path: Path) -> None:
    """`diff` exits with 2 if ACP_PROXY_DIFF_RULES names a file of rules that does not exist."""
    path = record_conversation(tmp_path / "a.db")
    assert run("diff", path, path, ACP_PROXY_DIFF_RULES=str(tmp_path / "no.toml")).exit_code == 2
