"""The quick parser of options of `record` agrees with click."""

from __future__ import annotations

import os
from itertools import chain
from typing import Any
from unittest import mock

import click
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.main import cli
from acp_proxy.cli.record import record
from acp_proxy.record.capture.record_options import RECORD, RecordOptions, parse

VALUES = (
    "x.db", "x.jsonl", "a/b", "", " ", "name", ".hidden", "none", "secrets", "v1", "V1", "auto",
    "1k", "1.5MB", "2GiB", "5", "0", "-1", "0.5", "7d", "5m", "nan", "inf", "1e3", "x=y", "--",
    "30", "500M", "2GB", "--name", "1", "true", "no", "2", "\u00b2d", "\udcff", "-o",
)  # fmt: skip
EARLY = [option for option in RECORD if not option.is_late]
FLAGS = [flag for option in EARLY for flag in (option.flag, option.short) if flag]

texts = st.sampled_from(VALUES) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=5
)
pairs = st.tuples(st.sampled_from(FLAGS), texts).map(list)
spellings = st.one_of(
    pairs,
    pairs,
    st.sampled_from([["--check"], ["--require-recording"], ["--check=1"], ["--gr", "5"]]),
    st.tuples(st.sampled_from([f for f in FLAGS if f.startswith("--")]), texts).map(
        lambda pair: ["=".join(pair)]
    ),
    st.sampled_from(
        [["-ox.db"], ["-o=x.db"], ["--=x"], ["--nonsense"], ["--help"], ["-h"], ["-"], ["-x"], []]
    ),
)
arguments = st.builds(
    lambda options, dashes, command: [*chain.from_iterable(options), *dashes, *command],
    st.lists(spellings, max_size=4),
    st.sampled_from([[], ["--"]]),
    st.lists(st.sampled_from(["agent", "--name", "--", "-o", "x y", ""]), max_size=3),
)
environments = st.dictionaries(
    st.sampled_from(
        [option.variable for option in EARLY if option.variable]
        + ["ACP_PROXY_RECORD_NAME", "ACP_PROXY_ON_STALL", "ACP_PROXY_STALL"]
    ),
    texts,
    max_size=2,
)


def by_click(args: list[str]) -> RecordOptions:
    """Returns the options that click parses from the arguments of ``record``."""
    parent = click.Context(cli, info_name="acp-proxy", **cli.context_settings)
    values = dict(record.make_context("record", list(args), parent=parent).params)
    return RecordOptions(values.pop("command"), values)


@given(arguments, environments)
def test_both_read_the_same(args: list[str], environ: dict[str, str]) -> None:
    """The quick parser of `record` reads the same values from options as click."""
    quick = parse(args, environ)
    with mock.patch.dict(os.environ, environ, clear=True):
        if quick is not None:
            assert vars(quick) == vars(by_click(args))
            return
        with mock.patch("acp_proxy.record.capture.starter.record") as start:
            result = CliRunner().invoke(cli, ["record", *args], prog_name="acp-proxy")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    if result.exit_code == 0:
        assert start.called or result.stdout.startswith("Usage: acp-proxy record")
    else:
        assert result.exit_code == 2
        assert not start.called
        assert result.stdout == ""
        (line,) = result.stderr.splitlines()
        assert line.startswith("acp-proxy: ")
        assert line.endswith(" --help`")


def plain_value(option: Any) -> st.SearchStrategy[str]:
    """Draws a value that an option of ``record`` accepts."""
    good = {
        "output": ["x.db", "a/b"], "name": ["n"], "redact": ["none"],
        "max_size": ["1k", "0"], "grace": ["0", "1.5"], "keep": ["7d", "2GB"],
        "on_stall": ["notify 'a b'"], "stall": ["60"],
    }  # fmt: skip
    return st.sampled_from(good[option.attribute])


@given(st.data())
def test_ordinary_use_needs_no_click(data: st.DataObject) -> None:
    """`record` reads ordinary options without importing click."""
    args, environ = [], {}
    for option in data.draw(st.lists(st.sampled_from(EARLY), unique=True)):
        value = data.draw(plain_value(option)) if option.read else ""
        if option.variable and data.draw(st.booleans()):
            environ[option.variable] = value or "1"
        else:
            args += [option.flag, value] if option.read else [option.flag]
    options = parse([*args, "--", "agent"], environ)
    assert options is not None
    with mock.patch.dict(os.environ, environ, clear=True):
        assert vars(options) == vars(by_click([*args, "--", "agent"]))
