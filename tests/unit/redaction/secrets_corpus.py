"""Secrets of all known forms. They are made at run time, so that no file contains a key."""

from __future__ import annotations

import base64
import json
import random
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from acp_proxy.redaction.key_formats import KeyFormat, key_formats

if TYPE_CHECKING:
    from collections.abc import Iterator

LOWER = "abcdefghijklmnopqrstuvwxyz"
DIGITS = "0123456789"
ALPHABETS = {
    "hex": DIGITS + "abcdef",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "alnum": LOWER + LOWER.upper() + DIGITS,
    "url": LOWER + LOWER.upper() + DIGITS + "_-",
    "base64": LOWER + LOWER.upper() + DIGITS + "+/",
    "dots": LOWER + LOWER.upper() + DIGITS,
    "path": LOWER + LOWER.upper() + DIGITS,
}


class Planted(NamedTuple):
    """A text with a secret in it."""

    name: str
    """A description of the secret, for messages of tests."""
    text: str
    start: int
    end: int

    @property
    def secret(self) -> str:
        """The secret without the text around it."""
        return self.text[self.start : self.end]


def planted(name: str, before: str, secret: str, after: str = "") -> Planted:
    """Returns a secret in a text.

    Args:
        name: a description of the secret.
        before: the text before the secret.
        secret: the text that must be found.
        after: the text after the secret.
    """
    return Planted(name, before + secret + after, len(before), len(before) + len(secret))


def provider_key(row: KeyFormat, chance: random.Random) -> str:
    """Makes a key of a provider, as short as it may be.

    Args:
        row: the format of the key.
        chance: the source of its characters.
    """
    body = "".join(chance.choices(ALPHABETS[row.alphabet], k=row.least - 4))
    return (
        row.prefix
        + "".join(["a", "7", "c" if row.alphabet == "hex" else "K", "2"]).replace(
            "a", "A" if row.alphabet == "upper" else "a"
        )
        + body
    )


def _jwt(chance: random.Random) -> str:
    parts: list[bytes] = [
        json.dumps({"alg": "HS256", "typ": "JWT"}).encode(),
        json.dumps({"sub": str(chance.randrange(10**9)), "name": "someone"}).encode(),
        chance.randbytes(32),
    ]
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def _pem(kind: str, chance: random.Random) -> tuple[str, str, str]:
    packed = base64.b64encode(chance.randbytes(300)).decode()
    lines = [packed[start : start + 64] for start in range(0, len(packed), 64)]
    mark = "-" * 5
    return (
        f"{mark}BEGIN {kind}{mark}",
        "\n" + "\n".join(lines) + "\n",
        f"{mark}END {kind}{mark}\n",
    )


def _all() -> Iterator[Planted]:
    chance = random.Random(2026)

    def value(length: int = 24) -> str:
        return "".join(chance.choices(ALPHABETS["alnum"], k=length - 3)) + "x7Q"

    for row in key_formats():
        key = provider_key(row, chance)
        yield planted(row.prefix, "use ", key, " for it")
        yield planted(row.prefix, "", key)
        yield planted(row.prefix, "密钥", key, "。")
        yield planted(row.prefix, "\x1b[32m", key, "\x1b[0m")
        yield planted(row.prefix, "first line\\n", key, "\\nnext")
    yield planted("jwt", "got ", _jwt(chance), " as cookie")
    for kind in ("PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"):
        yield planted("pem", *_pem(kind, chance))
        yield planted("pem", *(part.replace("\n", "\\n") for part in _pem(kind, chance)))
    yield planted("bearer", "Authorization: Bearer ", value(), "\r\n")
    yield planted("bearer", "sent with bearer ", value(40), " to it")
    basic = base64.b64encode(f"user:{value(12)}".encode()).decode()
    yield planted("basic", "Authorization: Basic ", basic, '"')
    yield planted("url", "postgres://app:", value(12), "@db.example.com:5432/app")
    yield planted("url", "https://", value(20), "@example.com/repo.git")
    yield planted("telegram", "bot 8288467546:", "AA" + value(33), " runs")
    for before, secret, after in [
        ("mysql -uroot -p", "hunter22", " app"), ("mysqldump -h db -u app -p'", "a8b-c", "' x > y"),
        ("sshpass -p ", "hunter22", " ssh x"), ("docker login -u me -p ", "s3cr3t-x", " ghcr.io"),
        ("redis-cli -h cache -a ", "hunter22", " ping"), ("sqlcmd -S db -U sa -P ", "Hunter22", ""),
        ("CREATE USER x IDENTIFIED BY '", "hunter22", "';"), ("setx API_KEY ", "hunter22", "\n"),
        ("machine example.com login me password ", "hunter22", "\n"),
        ("machine example.com\n  login me\n  password ", "hunter22", "\n"),
        ("Server=db;Uid=sa;Pwd=", "hunter22", ";Timeout=5"),
        ("Data Source=db;User ID=sa;Password=", "hunter22", ";"),
    ]:  # fmt: skip
        yield planted(before, before, secret, after)
    for before, after in [
        ('"api_key": "', '"'), ("api_key='", "'"), ("OPENAI_API_KEY=", "\n"),
        ('const apiKey = "', '";'), ("password: ", "\n"), ('token := "', '"'),
        ('\\"accessToken\\":\\"', '\\"'), ("X-Api-Key: ", "\n"), ('"secret" => "', '"'),
        ("https://example.com/?access_token=", "&page=2"), ("client_secret=", "&grant=x"),
        ('<add key="x"/><password>', "</password>"), ('setProperty("API_TOKEN", "', '")'),
        ("AWS_SECRET_ACCESS_KEY=", ""), ('var authToken string = "', '"'),
        ('token: str = "', '"'), ("DB_PASS=", " run"), ("Cookie: sid=", "\n"),
        ("SECRET_KEY_BASE='", "'"), ("GH_PAT=", "\n"), ("ADMIN_PW=", "\n"), ("SALT=", ""),
        ("pw=", " x"), ("tool --password ", " run"), ("tool --api-key '", "'"),
        ("https://example.com/a.db?sig=", "&sv=1"), ("https://example.com/a.db?sp=r&sig=", ""),
    ]:  # fmt: skip
        secret = value()
        start = before.rfind("sid=") if "sid=" in before else len(before)
        yield Planted(before, before + secret + after, start, len(before) + len(secret))


@cache
def secrets() -> list[Planted]:
    """Returns secrets that the search must find in any text."""
    return list(_all())


@cache
def loose_secrets() -> list[Planted]:
    """Returns secrets that the search must find in loose texts, such as error messages."""
    return [
        planted("option", "tool --token ", "abc", " run"),
        planted("option", "tool --password=", "hunter", ""),
        planted("variable", "DB_PASSWORD=", "summer", " ./run"),
        planted("curl", "curl -u someone:", "winter", " https://example.com"),
        planted("option", "--api-key '", "my own key", "'"),
    ]
