"""The search for secrets in free text finds secrets, and no harmless text."""

import pytest

from acp_proxy.redaction.secret_patterns import ends_open, find, may_hold, search, tail
from acp_proxy.redaction.text_search import SecretMatch
from tests.support.cases import each_case
from tests.unit.redaction.look_alikes import look_alikes
from tests.unit.redaction.secrets_corpus import Planted, loose_secrets, secrets

MIXED = "Zf3D0LXCM3" + "EIMbgJpUNn" + "kRtOfOueHz"


@each_case(
    ("before", "secret", "after", "kind"),
    [
        ("key ", "sk-" + "ant-api03-" + MIXED, " ok", "key"),
        ("", "gh" + "p_" + MIXED + "a1B2c3", "", "token"),
        ("Authorization: Bearer ", MIXED, "\n", "credential"),
        ("https://user:", "hunter2x", "@host/", "password"),
        ('API_KEY = "', MIXED, '"', "key"),
        ("Basic ", "dXNlcjpw" + "YXNz", "", "credential"),
        ("-----BEGIN RSA PRIVATE KEY-----", "\n" + MIXED + "\n", "-----END RSA", "pem"),
        ("", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.abc", " x", "jwt"),
    ],
)  # fmt: skip
def test_a_secret_is_found(before: str, secret: str, after: str, kind: str) -> None:
    """The match of a search for secrets is the secret alone, without the text around it."""
    text = before + secret + after
    expected = [SecretMatch(len(before), len(before) + len(secret), kind)]
    assert find(text, loose=False) == expected
    assert find(text, loose=True) == expected
    assert may_hold(text.encode())


@pytest.mark.parametrize("loose", [False, True])
def test_a_quotation_mark_before_the_name_ends_after_it(loose: bool) -> None:
    """After a quoted name, as in `'?token=' for 3`, masking keeps the text that follows."""
    assert find("`password=` and step 3 of 4, as User 1 does", loose=loose) == []
    assert find("'?token=' for 3 Users, and 4 of Them", loose=loose) == []
    assert find(f'"token="{MIXED} x', loose=loose) == [SecretMatch(8, 38, "token")]
    assert find(f"token=`{MIXED} x`", loose=loose) == [SecretMatch(7, 39, "token")]


def test_a_named_value_is_secret_in_loose_text() -> None:
    """In a command, masking treats the word after a secret's name as the secret."""
    text = "--token abc --password=def"
    assert find(text, loose=False) == []
    assert find(text, loose=True) == [SecretMatch(8, 11, "token"), SecretMatch(23, 26, "password")]


@pytest.mark.parametrize("loose", [False, True])
def test_harmless_texts_are_left_alone(loose: bool) -> None:
    """The search for secrets finds a secret in at most 0.5% of more than 2,000 harmless texts."""
    texts = look_alikes()
    assert len(texts) >= 2000
    masked = [text for text in texts if find(text, loose=loose)]
    assert len(masked) <= len(texts) * 0.005, masked


@pytest.mark.parametrize("loose", [False, True])
def test_each_shape_is_found(loose: bool) -> None:
    """The search for secrets finds a generated secret from its first to its last character."""
    for case in secrets():
        matches = find(case.text, loose=loose)
        assert matches, case.name
        assert (matches[0].start, matches[-1].end) == (case.start, case.end), case.name
        assert may_hold(case.text.encode()), case.name


@pytest.mark.parametrize("case", loose_secrets(), ids=lambda case: case.name)
def test_a_name_is_enough_in_loose_text(case: Planted) -> None:
    """In loose text, such as an error, masking replaces any value beside a secret's name."""
    assert [(m.start, m.end) for m in find(case.text, loose=True)] == [(case.start, case.end)]
    assert find(case.text, loose=False) == []
    assert may_hold(case.text.encode())


@pytest.mark.parametrize(
    "piece",
    [
        "a", "eyJ", "-----BEGIN", "sk-", "-----BEGIN PRIVATE KEY-----", "password=", 'password="',
        "://", "bearer ", "token ", "/xoxd-", "eyJaaaaaaaaaaaa.", "glpat-", "curl -u ",
    ],
)  # fmt: skip
def test_no_text_takes_quadratic_time(piece: str) -> None:
    """The search for secrets reads 200 kB of one repeated text in linear time."""
    text = piece * (200_000 // len(piece))
    find(text, loose=True)
    may_hold(text.encode())
    tail(text)


@each_case(
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
    """The search for secrets finds the password in a command, as `mysql -uroot -phunter22 app`."""
    matches = find(f"{before}hunter22{after}", loose=False)
    assert [(match.start, match.end) for match in matches] == [(len(before), len(before) + 8)]


@each_case(
    "text",
    [
        "mysql -uroot -p", "mysql -h db -port 3306", "sshpass -p $PASSWORD ssh x", "redis-cli ping",
        "docker login --password-stdin", "sqlcmd -p 1", "identified by somebody", "setx PATH x",
        "mysql\n-phunter22", "machine learning", "use sshpass -p to log in",
    ],
)  # fmt: skip
def test_a_command_without_a_password(text: str) -> None:
    """The search for secrets finds nothing in a command such as `sshpass -p $PASSWORD ssh x`."""
    assert find(text, loose=False) == []


@pytest.mark.parametrize(
    ("text", "start"),
    [("so sk-an", 3), ("Bearer ", 0), ("x eyJhb", 2), ("a password=ab", 2), ("a\\npassword", 1)],
)
def test_the_end_may_begin_a_secret(text: str, start: int) -> None:
    """If a text ends within a possible secret, `tail` returns the offset of the secret."""
    assert tail(text) == start
    assert tail(text, search(text, loose=False)) == start
    assert tail(text, search(text, loose=True)) == start


def test_other_ends_begin_no_secret() -> None:
    """If a text does not end within a possible secret, masking holds nothing of it back."""
    assert tail("nothing here") == len("nothing here")
    assert tail("a token is spent") == len("a token is spent")
    assert not ends_open("nothing here")


@pytest.mark.parametrize("loose", [False, True])
def test_the_value_of_an_option_may_go_on(loose: bool) -> None:
    """If a text ends with `--token abc`, masking waits, since the secret may go on."""
    text = "run --token abc"
    assert tail(text) == tail(text, search(text, loose=loose)) == 4
