"""Passwords in commands are found, and nothing else is."""

import pytest

from acp_proxy.redaction.patterns import find


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mysql -uroot -p", " app"), ("sshpass -p '", "' ssh x"), ("SSHPASS -p", ""),
        ("docker login -u me -p ", " ghcr.io"), ("podman login --password=", " x"),
        ("redis-cli -h cache -a ", " ping"), ("sqlcmd -S db -P ", " -Q x"),
        ("ALTER USER x IDENTIFIED WITH plugin BY '", "'"), ("setx MY_API_KEY ", ""),
        ("machine h\\n login me\\n password ".replace("\\n", "\n"), "\n"),
    ],
)  # fmt: skip
def test_a_password_in_a_command(before: str, after: str) -> None:
    """The password is found in any text, and the words around it are left alone."""
    found = find(f"{before}hunter22{after}", loose=False)
    assert [(one.start, one.end) for one in found] == [(len(before), len(before) + 8)]


@pytest.mark.parametrize(
    "text",
    [
        "mysql -uroot -p", "mysql -h db -port 3306", "sshpass -p $PASSWORD ssh x", "redis-cli ping",
        "docker login --password-stdin", "sqlcmd -p 1", "identified by somebody", "setx PATH x",
        "mysql\n-phunter22", "machine learning", "use sshpass -p to log in",
    ],
)  # fmt: skip
def test_a_command_without_a_password(text: str) -> None:
    """References, other options and sentences are no passwords."""
    assert find(text, loose=False) == []
