"""The quick parser of ``record`` reads right options, and leaves wrong ones to click."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.record.capture.record_options import RECORD, RecordOptions, parse
from tests.support.cases import each_case


def values(options: RecordOptions | None) -> dict[str, Any]:
    """Returns the options that differ from their defaults, with the command."""
    assert options is not None
    defaults = vars(RecordOptions([], {}))
    return {key: value for key, value in vars(options).items() if value != defaults[key]}


@pytest.mark.parametrize(
    ("args", "environ", "source"),
    [
        (["--keep", "30"], {}, "--keep"),
        (["--keep=500M"], {}, "--keep"),
        ([], {"ACP_PROXY_KEEP": "soon"}, "ACP_PROXY_KEEP"),
    ],
)
def test_a_bad_keep_does_not_stop_the_agent(
    args: list[str], environ: dict[str, str], source: str
) -> None:
    """If `record --keep` has a wrong value, the agent is started all the same."""
    options = parse([*args, "--", "agent"], environ)
    assert options is not None
    assert (options.command, options.keep) == (["agent"], None)
    (line,) = options.ignored
    assert line.startswith(f"{source}: '")
    assert line.endswith("(500kB, 500MB, 2GB, 2GiB); nothing is deleted")


@each_case(
    ("args", "expected"),
    [
        (["agent"], {}),
        (["--", "agent"], {}),
        (["-o", "x.db", "agent"], {"output": "x.db"}),
        (["--output=x=y", "agent"], {"output": "x=y"}),
        (["--output", "--name", "agent"], {"output": "--name"}),
        (["--max-size", "1k", "--grace=2", "agent"], {"max_size": 1000, "grace": 2.0}),
        (["--keep", "7d", "--check", "agent"], {"keep": ("age", 604_800.0), "check": True}),
        (["--require-recording", "--name", "n", "agent"], {"require_recording": True, "name": "n"}),
        (["--name", "a", "--name", "b", "agent"], {"name": "b"}),
        (["--redact", "none", "agent"], {"redact": "none"}),
    ],
)
def test_right_use_is_read(args: list[str], expected: dict[str, Any]) -> None:
    """The quick parser of `record` reads valid options; if one is repeated, the last counts."""
    assert values(parse(args, {})) == {"command": ["agent"], **expected}


@pytest.mark.parametrize(
    ("args", "command"),
    [
        (["agent", "--name", "x"], ["agent", "--name", "x"]),
        (["agent", "--", "-o"], ["agent", "--", "-o"]),
        (["--check", "--", "--", "agent"], ["--", "agent"]),
        (["--", "-weird"], ["-weird"]),
        (["agent", ""], ["agent", ""]),
    ],
)
def test_the_command_is_left_as_it_is(args: list[str], command: list[str]) -> None:
    """`record` passes everything after its options on as the agent's command."""
    options = parse(args, {})
    assert options is not None
    assert options.command == command


@each_case(
    "args",
    [
        [], ["--"], [""], ["--check"], ["--fsync", "agent"], ["--help"], ["-h", "agent"],
        ["--nonsense", "agent"],
        ["-o"], ["--name"], ["--name", "a/b", "agent"], ["--max-size", "lots", "agent"],
        ["--grace", "-1", "agent"], ["--check=1", "agent"], ["--gra", "5", "agent"],
        ["-ox.db", "agent"], ["-", "agent"], ["--redact", "all", "agent"],
        ["--output", "x.jsonl", "agent"], ["--name=", "agent"],
    ],
)  # fmt: skip
def test_other_use_is_left_to_click(args: list[str]) -> None:
    """If options of `record` are wrong, the quick parser leaves the error to the library click."""
    assert parse(args, {}) is None


@pytest.mark.parametrize("args", [["-o=x", "agent"], ["--=x", "agent"]])
def test_an_equals_sign_belongs_to_long_options(args: list[str]) -> None:
    """For `record`, `-o=x` names the file `=x`, not the file `x`."""
    options = parse(args, {})
    assert options is None or options.output == "=x"


# The environment


def test_each_option_can_be_given_in_the_environment() -> None:
    """Except those for stalls, each option of `record` can be set by an environment variable."""
    texts = {
        "output": "x.db",
        "name": "n",
        "redact": "private",
        "max_size": "1k",
        "grace": "1",
        "keep": "1d",
        "require_recording": "yes",
        "check": "on",
    }
    environ = {f"ACP_PROXY_{attribute.upper()}": text for attribute, text in texts.items()}
    early = {option.variable for option in RECORD if not option.is_late}
    assert early - {""} == set(environ)
    assert values(parse(["agent"], environ)) == {
        "command": ["agent"],
        "output": "x.db",
        "name": "n",
        "redact": "private",
        "max_size": 1000,
        "grace": 1.0,
        "keep": ("age", 86_400.0),
        "require_recording": True,
        "check": True,
    }


def test_no_variable_sets_a_command() -> None:
    """No environment variable can set the options `--on-stall` and `--stall` of `record`."""
    options = parse(["--on-stall", "notify-send 'a b' $HOME", "--stall=60", "--", "agent"], {})
    assert options is not None
    assert (options.on_stall, options.stall) == (["notify-send", "a b", "$HOME"], 60.0)
    names = ("ACP_PROXY_ON_STALL", "ACP_PROXY_RECORD_ON_STALL", "ACP_PROXY_STALL", "ON_STALL", "")
    options = parse(["agent"], dict.fromkeys(names, "1"))
    assert options is not None
    assert (options.on_stall, options.stall) == (None, 120.0)


@pytest.mark.parametrize("text", ["", "  ", "'open"])
def test_a_command_that_is_none_is_left_to_click(text: str) -> None:
    """If `--on-stall` of `record` is empty, the quick parser leaves the error to click."""
    assert parse(["--on-stall", text, "agent"], {}) is None


@pytest.mark.parametrize(
    ("flag", "value"), [("--fault", "noop"), ("--faults", "plan.toml"), ("--seed", "1")]
)
def test_faults_are_left_to_click(flag: str, value: str) -> None:
    """If `record` has options for faults, the quick parser leaves all options to click."""
    assert parse([flag, value, "agent"], {}) is None
    assert parse([f"{flag}={value}", "agent"], {}) is None
    assert parse(["agent"], {f"ACP_PROXY_{flag[2:].upper()}": value}) is None
    assert parse(["agent", flag, value], {}) is not None


def test_arguments_override_the_environment() -> None:
    """If `record` has an option as an argument, it ignores the option's environment variable."""
    environ = {"ACP_PROXY_GRACE": "nonsense", "ACP_PROXY_NAME": "a"}
    assert values(parse(["--grace", "1", "--name", "b", "x"], environ)) == {
        "command": ["x"],
        "grace": 1.0,
        "name": "b",
    }


def test_an_empty_variable_counts_as_unset() -> None:
    """An empty environment variable does not set an option of `record`."""
    environ = {option.variable: "" for option in RECORD if option.variable}
    assert values(parse(["agent"], environ)) == {"command": ["agent"]}


@pytest.mark.parametrize(
    ("variable", "text"),
    [("ACP_PROXY_GRACE", "soon"), ("ACP_PROXY_CHECK", "2"), ("ACP_PROXY_OUTPUT", "x.jsonl")],
)
def test_a_bad_variable_is_left_to_click(variable: str, text: str) -> None:
    """If an option's variable is wrong, the quick parser of `record` leaves the error to click."""
    assert parse(["agent"], {variable: text}) is None


# The table


def test_the_table_names_options_in_one_way() -> None:
    """Each option of `record` has a help text; an option such as `--max-size` sets `max_size`."""
    for option in RECORD:
        assert option.flag == "--" + option.attribute.replace("_", "-")
        assert option.attribute in RecordOptions.__annotations__
        assert option.text.endswith(".")
        assert bool(option.metavar) == (option.read is not None)
    assert len({o.attribute for o in RECORD}) == len(RECORD) == len(RecordOptions.__annotations__)


def test_options_have_defaults() -> None:
    """An option of `record` that is not given has its default value."""
    given = dict.fromkeys([option.attribute for option in RECORD])
    options = RecordOptions(("a", "b"), given)
    assert options.command == ["a", "b"]
    assert (options.grace, options.redact) == (5.0, "secrets")
    assert (options.require_recording, options.max_size) == (False, None)
