"""The options of ``record`` are read at once where they are right, and left alone where not."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.capture.option_values import (
    read_dialect,
    read_keep,
    read_name,
    read_output,
    read_redaction,
    read_seconds,
    read_seed,
    read_size,
    read_truth,
)
from acp_proxy.capture.options import RECORD, RecordOptions, parse


def values(options: RecordOptions | None) -> dict[str, Any]:
    """What was asked for beyond the defaults, and the command."""
    assert options is not None
    defaults = vars(RecordOptions([], {}))
    return {key: value for key, value in vars(options).items() if value != defaults[key]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500", 500), ("0", 0), ("64k", 64_000), ("64kb", 64_000), ("64KiB", 65_536),
        ("1.5MB", 1_500_000), ("2GiB", 2 << 30), ("1t", 10**12), ("7B", 7), (" 1 k ", 1000),
        (".5k", 500), ("1TiB", 1 << 40),
    ],
)  # fmt: skip
def test_sizes(text: str, expected: int) -> None:
    """A size is a number of bytes, with a decimal or a binary unit."""
    assert read_size(text) == expected


@pytest.mark.parametrize("text", ["", "k", "-1", "1e5", "1x", "1.2.3k", ".", "inf", "1 2", "5kk"])
def test_no_sizes(text: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(ValueError, match="is not a size"):
        read_size(text)


def test_a_size_beyond_all_numbers_is_refused() -> None:
    """A number that no float can hold is no size either, nor an age."""
    with pytest.raises(ValueError, match="is not a size"):
        read_size("9" * 400)
    for unit in ("d", "kB"):
        with pytest.raises(ValueError, match="neither an age"):
            read_keep("9" * 400 + unit)


@pytest.mark.parametrize(("text", "expected"), [("5", 5.0), ("0", 0.0), ("0.5", 0.5), ("1e1", 10)])
def test_seconds(text: str, expected: float) -> None:
    """A time is a number of seconds."""
    assert read_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "5s", "x"])
def test_no_seconds(text: str) -> None:
    """A time is neither negative nor without end, and has no unit."""
    with pytest.raises(ValueError, match="is not a time"):
        read_seconds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", ("age", 30)), ("10m", ("age", 600)), ("8h", ("age", 28_800)),
        ("30d", ("age", 2_592_000)), ("4w", ("age", 2_419_200)), (" 1.5w ", ("age", 907_200)),
        ("500kB", ("size", 5e5)), ("5MB", ("size", 5e6)), ("2GB", ("size", 2e9)),
        ("500KiB", ("size", 500 << 10)), ("500MiB", ("size", 500 << 20)),
        ("1.5GiB", ("size", 3 << 29)), ("5mb", ("size", 5e6)),
    ],
)  # fmt: skip
def test_what_to_keep(text: str, expected: tuple[str, float]) -> None:
    """An age and a size are told apart by the unit."""
    assert read_keep(text) == expected


@pytest.mark.parametrize("text", ["30", "0", "500M", "30M", "2g", "64k", "1t", "7D", "8H", "7B"])
def test_what_could_be_misread_is_not_kept_by(text: str) -> None:
    """A bare number, and one letter that might be a size, delete nothing: ``30`` was 30 bytes."""
    with pytest.raises(ValueError, match=r"neither an age \(30s, 10m, 8h, 30d, 4w\) nor a size"):
        read_keep(text)


@pytest.mark.parametrize("text", ["", "d", "-7d", "7y", "1.2.3d", "soon", "kB", ".", "\u00b2d"])
def test_what_not_to_keep(text: str) -> None:
    """What is neither an age nor a size is refused."""
    with pytest.raises(ValueError, match="is neither an age"):
        read_keep(text)


@pytest.mark.parametrize(
    ("args", "environ", "source"),
    [
        (["--keep", "30"], {}, "--keep"),
        (["--keep=500M"], {}, "--keep"),
        ([], {"ACP_PROXY_KEEP": "soon"}, "ACP_PROXY_KEEP"),
    ],
)
def test_a_bad_keep_costs_no_chat(args: list[str], environ: dict[str, str], source: str) -> None:
    """The agent starts, nothing is deleted, and one line says so and what was expected."""
    options = parse([*args, "--", "agent"], environ)
    assert options is not None
    assert (options.command, options.keep) == (["agent"], None)
    (line,) = options.ignored
    assert line.startswith(f"{source}: '")
    assert line.endswith("(500kB, 500MB, 2GB, 2GiB); nothing is deleted")


def test_masking_is_not_built() -> None:
    """None is the only level; those to come say that they are to come."""
    assert read_redaction("none") == "none"
    with pytest.raises(ValueError, match="not built yet: expected none, got secrets"):
        read_redaction("secrets")
    with pytest.raises(ValueError, match="'all' is no redaction level"):
        read_redaction("all")


def test_dialects() -> None:
    """A dialect is one of four words."""
    assert [read_dialect(text) for text in ("auto", "v1", "v2", "draft-1.0")]
    with pytest.raises(ValueError, match=r"expected one of auto, v1, v2, draft-1\.0"):
        read_dialect("V1")


def test_outputs() -> None:
    """A recording is written into a file that is no text form."""
    assert read_output("a/b") == "a/b"
    for text in ("", "a/", "/"):
        with pytest.raises(ValueError, match="expected the path of a file"):
            read_output(text)
    with pytest.raises(ValueError, match="record writes a database"):
        read_output("x.jsonl")


def test_names() -> None:
    """A name is one that a file can have, and that no command line takes for an option."""
    assert read_name("my run.1") == "my run.1"
    assert read_name("你好 é 😀") == "你好 é 😀"
    assert read_name("x" * 200)
    for text in ("", ".x", "-x", "a/b", "a\0b", "latest", "x" * 201, "你" * 67):
        with pytest.raises(ValueError, match="cannot be a name"):
            read_name(text)


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[31m", "a\x9b", "a\u202eb", "a\u2028b", "a\udcffb"])
def test_a_name_can_be_printed(text: str) -> None:
    """It commands no terminal, hides nothing, and is UTF-8; the complaint has it escaped."""
    with pytest.raises(ValueError, match="cannot be a name") as refusal:
        read_name(text)
    assert str(refusal.value).isprintable()


def test_seeds() -> None:
    """A seed is a whole number that a column can hold."""
    assert [read_seed(text) for text in ("0", " 42 ", "-7", str((1 << 63) - 1))] == [
        0, 42, -7, (1 << 63) - 1,
    ]  # fmt: skip
    for text in ("", "-", "1.5", "x", "--1", "٣", str(1 << 63), "9" * 400):
        with pytest.raises(ValueError, match="is no seed: expected a whole number"):
            read_seed(text)


def test_yes_and_no() -> None:
    """A switch in the environment is written as click reads it."""
    assert all(map(read_truth, ("1", "true", " T ", "YES", "y", "on")))
    assert not any(map(read_truth, ("0", "False", "f", "no", "N", "off", "", " ")))
    with pytest.raises(ValueError, match="'2' is neither yes nor no"):
        read_truth("2")


# Arguments


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["agent"], {}),
        (["--", "agent"], {}),
        (["-o", "x.db", "agent"], {"output": "x.db"}),
        (["--output=x=y", "agent"], {"output": "x=y"}),
        (["--output", "--name", "agent"], {"output": "--name"}),
        (["--max-size", "1k", "--grace=2", "agent"], {"max_size": 1000, "grace": 2.0}),
        (["--keep", "7d", "--fsync", "agent"], {"keep": ("age", 604_800.0), "fsync": True}),
        (["--require-recording", "--name", "n", "agent"], {"require_recording": True, "name": "n"}),
        (["--name", "a", "--name", "b", "agent"], {"name": "b"}),
        (["--redact", "none", "--dialect", "v2", "agent"], {"dialect": "v2"}),
    ],
)
def test_right_use_is_read(args: list[str], expected: dict[str, Any]) -> None:
    """Options are read up to the command, and the last of one kind counts."""
    assert values(parse(args, {})) == {"command": ["agent"], **expected}


@pytest.mark.parametrize(
    ("args", "command"),
    [
        (["agent", "--name", "x"], ["agent", "--name", "x"]),
        (["agent", "--", "-o"], ["agent", "--", "-o"]),
        (["--fsync", "--", "--", "agent"], ["--", "agent"]),
        (["--", "-weird"], ["-weird"]),
        (["agent", ""], ["agent", ""]),
    ],
)
def test_the_command_is_left_as_it_is(args: list[str], command: list[str]) -> None:
    """What follows the options is the agent's, whatever it looks like."""
    options = parse(args, {})
    assert options is not None
    assert options.command == command


@pytest.mark.parametrize(
    "args",
    [
        [], ["--"], [""], ["--fsync"], ["--help"], ["-h", "agent"], ["--nonsense", "agent"],
        ["-o"], ["--name"], ["--name", "a/b", "agent"], ["--max-size", "lots", "agent"],
        ["--grace", "-1", "agent"], ["--fsync=1", "agent"], ["--gra", "5", "agent"],
        ["-ox.db", "agent"], ["-", "agent"], ["--redact", "secrets", "agent"],
        ["--output", "x.jsonl", "agent"], ["--name=", "agent"],
    ],
)  # fmt: skip
def test_what_is_not_understood_is_left_to_the_command_line(args: list[str]) -> None:
    """Wrong use, help and rare spellings are not read here."""
    assert parse(args, {}) is None


@pytest.mark.parametrize("args", [["-o=x", "agent"], ["--=x", "agent"]])
def test_an_equals_sign_belongs_to_long_options(args: list[str]) -> None:
    """``-o=x`` names the file ``=x`` and ``--=x`` is no option: neither is read here as another."""
    options = parse(args, {})
    assert options is None or options.output == "=x"


# The environment


def test_each_option_can_be_given_in_the_environment() -> None:
    """A variable is named after its option."""
    texts = {
        "output": "x.db",
        "name": "n",
        "redact": "none",
        "dialect": "v1",
        "max_size": "1k",
        "grace": "1",
        "keep": "1d",
        "fsync": "1",
        "require_recording": "yes",
    }
    environ = {f"ACP_PROXY_{attribute.upper()}": text for attribute, text in texts.items()}
    assert {option.variable for option in RECORD if not option.is_late} == set(environ)
    assert values(parse(["agent"], environ)) == {
        "command": ["agent"],
        "output": "x.db",
        "name": "n",
        "dialect": "v1",
        "max_size": 1000,
        "grace": 1.0,
        "keep": ("age", 86_400.0),
        "fsync": True,
        "require_recording": True,
    }


@pytest.mark.parametrize(
    ("flag", "value"), [("--fault", "noop"), ("--faults", "plan.toml"), ("--seed", "1")]
)
def test_faults_are_left_to_the_command_line(flag: str, value: str) -> None:
    """What faults are asked for has to be understood as a whole before anything starts."""
    assert parse([flag, value, "agent"], {}) is None
    assert parse([f"{flag}={value}", "agent"], {}) is None
    assert parse(["agent"], {f"ACP_PROXY_{flag[2:].upper()}": value}) is None
    assert parse(["agent", flag, value], {}) is not None


def test_arguments_outweigh_the_environment() -> None:
    """A variable that an argument overrides is not even read."""
    environ = {"ACP_PROXY_GRACE": "nonsense", "ACP_PROXY_NAME": "a"}
    assert values(parse(["--grace", "1", "--name", "b", "x"], environ)) == {
        "command": ["x"],
        "grace": 1.0,
        "name": "b",
    }


def test_an_empty_variable_is_none() -> None:
    """A variable that is set to nothing says nothing."""
    environ = {option.variable: "" for option in RECORD}
    assert values(parse(["agent"], environ)) == {"command": ["agent"]}


@pytest.mark.parametrize(
    ("variable", "text"),
    [("ACP_PROXY_GRACE", "soon"), ("ACP_PROXY_FSYNC", "2"), ("ACP_PROXY_OUTPUT", "x.jsonl")],
)
def test_a_wrong_variable_is_left_to_the_command_line(variable: str, text: str) -> None:
    """Wrong use in the environment is no better than in the arguments."""
    assert parse(["agent"], {variable: text}) is None


# The table


def test_the_table_names_options_in_one_way() -> None:
    """Flags, attributes and variables follow from each other, and each has an explanation."""
    for option in RECORD:
        assert option.flag == "--" + option.attribute.replace("_", "-")
        assert option.attribute in RecordOptions.__annotations__
        assert option.text.endswith(".")
        assert bool(option.metavar) == (option.read is not None)
    assert len({o.attribute for o in RECORD}) == len(RECORD) == len(RecordOptions.__annotations__)


def test_what_is_not_given_has_its_default() -> None:
    """None stands for what was not given, and is replaced."""
    given = dict.fromkeys([option.attribute for option in RECORD])
    options = RecordOptions(("a", "b"), given)
    assert options.command == ["a", "b"]
    assert (options.grace, options.redact, options.dialect) == (5.0, "none", "auto")
    assert (options.fsync, options.require_recording, options.max_size) == (False, False, None)
