"""Values of options are read as people write them, or refused with a hint."""

from __future__ import annotations

import pytest

from acp_proxy.record.capture.record_options import (
    read_keep,
    read_name,
    read_output,
    read_redaction,
    read_seconds,
    read_seed,
    read_size,
    read_truth,
)
from tests.support.cases import each_case


@each_case(
    ("text", "expected"),
    [
        ("500", 500), ("0", 0), ("64k", 64_000), ("64kb", 64_000), ("64KiB", 65_536),
        ("1.5MB", 1_500_000), ("2GiB", 2 << 30), ("1t", 10**12), ("7B", 7), (" 1 k ", 1000),
        (".5k", 500), ("1TiB", 1 << 40),
    ],
)  # fmt: skip
def test_sizes(text: str, expected: int) -> None:
    """A size in an option, such as `record --max-size`, may have decimal or binary units."""
    assert read_size(text) == expected


@each_case("text", ["", "k", "-1", "1e5", "1x", "1.2.3k", ".", "inf", "1 2", "5kk"])
def test_bad_sizes(text: str) -> None:
    """The error about an invalid size, such as `record --max-size 1x`, contains "is not a size"."""
    with pytest.raises(ValueError, match="is not a size"):
        read_size(text)


def test_a_size_beyond_all_numbers_is_refused() -> None:
    """`record --max-size` and `--keep` refuse a number with four hundred digits."""
    with pytest.raises(ValueError, match="is not a size"):
        read_size("9" * 400)
    for unit in ("d", "kB"):
        with pytest.raises(ValueError, match="neither an age"):
            read_keep("9" * 400 + unit)


@pytest.mark.parametrize(("text", "expected"), [("5", 5.0), ("0", 0.0), ("0.5", 0.5), ("1e1", 10)])
def test_seconds(text: str, expected: float) -> None:
    """The time in the option `record --grace` is a number of seconds."""
    assert read_seconds(text) == expected


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "5s", "x"])
def test_bad_seconds(text: str) -> None:
    """An option that takes seconds, such as `record --grace`, refuses a negative number."""
    with pytest.raises(ValueError, match="is not a time"):
        read_seconds(text)


@each_case(
    ("text", "expected"),
    [
        ("30s", ("age", 30)), ("10m", ("age", 600)), ("8h", ("age", 28_800)),
        ("30d", ("age", 2_592_000)), ("4w", ("age", 2_419_200)), (" 1.5w ", ("age", 907_200)),
        ("500kB", ("size", 5e5)), ("5MB", ("size", 5e6)), ("2GB", ("size", 2e9)),
        ("500KiB", ("size", 500 << 10)), ("500MiB", ("size", 500 << 20)),
        ("1.5GiB", ("size", 3 << 29)), ("5mb", ("size", 5e6)),
    ],
)  # fmt: skip
def test_an_age_or_a_size_to_keep(text: str, expected: tuple[str, float]) -> None:
    """The value of `record --keep` is an age, such as `30d`, or a size, such as `2GB`."""
    assert read_keep(text) == expected


@each_case("text", ["30", "0", "500M", "30M", "2g", "64k", "1t", "7D", "8H", "7B"])
def test_a_value_with_an_unclear_unit_is_refused(text: str) -> None:
    """`record --keep` refuses a value whose unit is missing or unclear, such as `30` or `30M`."""
    with pytest.raises(ValueError, match=r"neither an age \(30s, 10m, 8h, 30d, 4w\) nor a size"):
        read_keep(text)


@each_case("text", ["", "d", "-7d", "7y", "1.2.3d", "soon", "kB", ".", "\u00b2d"])
def test_bad_keep(text: str) -> None:
    """`record --keep` refuses a value that is neither an age nor a size."""
    with pytest.raises(ValueError, match="is neither an age"):
        read_keep(text)


def test_redaction_levels() -> None:
    """The option `record --redact` accepts the levels secrets, private and none."""
    levels = ["secrets", "private", "none"]
    assert [read_redaction(level) for level in levels] == levels
    with pytest.raises(
        ValueError, match="'all' is not a redaction level: expected secrets, private"
    ):
        read_redaction("all")


def test_outputs() -> None:
    """`record -o` accepts the path `a/b`, but refuses `a/`, and `x.jsonl`, which is a text form."""
    assert read_output("a/b") == "a/b"
    for text in ("", "a/", "/"):
        with pytest.raises(ValueError, match="expected the path of a file"):
            read_output(text)
    with pytest.raises(ValueError, match="`record` writes a database"):
        read_output("x.jsonl")


def test_names() -> None:
    """`record --name` accepts `my run.1`, but refuses `.x`, `a/b`, `latest` and 201 letters."""
    assert read_name("my run.1") == "my run.1"
    assert read_name("你好 é 😀") == "你好 é 😀"
    assert read_name("x" * 200)
    for text in ("", ".x", "-x", "a/b", "a\0b", "latest", "x" * 201, "你" * 67):
        with pytest.raises(ValueError, match="cannot be a name"):
            read_name(text)


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[31m", "a\x9b", "a\u202eb", "a\u2028b", "a\udcffb"])
def test_a_name_can_be_printed(text: str) -> None:
    """If the name for `record --name` has control characters, the error shows them as escapes."""
    with pytest.raises(ValueError, match="cannot be a name") as refusal:
        read_name(text)
    assert str(refusal.value).isprintable()


def test_seeds() -> None:
    """The option `--seed` of faults accepts only whole numbers of at most 64 bits."""
    assert [read_seed(text) for text in ("0", " 42 ", "-7", str((1 << 63) - 1))] == [
        0, 42, -7, (1 << 63) - 1,
    ]  # fmt: skip
    for text in ("", "-", "1.5", "x", "--1", "٣", str(1 << 63), "9" * 400):
        with pytest.raises(ValueError, match="is not a seed: expected a whole number"):
            read_seed(text)


def test_yes_and_no() -> None:
    """A switch is on if its variable is `1` or `yes`, off if it is `0` or `no`; `2` is an error."""
    assert all(map(read_truth, ("1", "true", " T ", "YES", "y", "on")))
    assert not any(map(read_truth, ("0", "False", "f", "no", "N", "off", "", " ")))
    with pytest.raises(ValueError, match="'2' is neither yes nor no"):
        read_truth("2")


# Arguments
