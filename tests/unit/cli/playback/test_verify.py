"""Tests that wrong use of ``verify`` is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.cli.options import limit_ns
from tests.support.command_line import complaint

HELLO = Path(__file__).parents[4] / "recordings" / "hello.db"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify",), "missing argument 'RECORDING...'"),
        (("verify", HELLO), "missing argument '-- AGENT [ARGS]...'"),
        (("verify", HELLO, "--"), "missing argument '-- AGENT [ARGS]...'"),
        (("verify", HELLO, "--", ""), "expected an agent's command"),
        (("verify", "no-such", "--", "true"), "no-such"),
        (("verify", HELLO, "--order", "x", "--", "true"), "'x' is not one of"),
        (("verify", HELLO, "--timing", "x", "--", "true"), "'x' is not a timing"),
        (("verify", HELLO, "--stall-timeout", "x", "--", "true"), "'x' is not a time"),
        (("verify", HELLO, "--timeout", "-1", "--", "true"), "'-1' is not a time"),
        (("verify", HELLO, "--grace", "-1", "--", "true"), "'-1' is not a time"),
        (("verify", HELLO, "--ignore", "x", "--", "true"), "'x' is not a JSON pointer"),
        (("verify", HELLO, "--expect", "x", "--", "true"), "'x' is not one of"),
        (("verify", HELLO, "--cwd", "/no/such", "--", "true"), "expected a directory"),
        (("verify", HELLO, "--report", "/no/such/x", "--", "true"), "cannot write /no/such/x"),
        (("verify", HELLO, "--junit", "/", "--", "true"), "cannot write /: it is a directory"),
        (("verify", HELLO, "-o", "x.jsonl", "--", "true"), "`verify` writes a database"),
    ],
)
def test_wrong_use_is_one_line(
    tmp_path: Path, arguments: tuple[str | Path, ...], words: str
) -> None:
    """`verify` refuses wrong arguments by one line, before it starts an agent or writes a file."""
    assert words in complaint(*arguments, home=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_limit_is_none_only_for_zero() -> None:
    """`verify` never rounds a time limit above zero down to zero, which means no limit."""
    assert [limit_ns(seconds) for seconds in (0, 1e-12, 30)] == [None, 1, 30 * 10**9]
