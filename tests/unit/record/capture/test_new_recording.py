"""The recorder recognizes secrets of its environment variables by hashes."""

from __future__ import annotations

from acp_proxy.record.capture.new_recording import secret_hashes
from tests.support.cases import each_case

KEY = b"k" * 16
VALUE = "Xk27fYqpLm92vbTa"


@each_case(
    "name",
    [
        "MY_API_TOKEN", "OPENAI_API_KEY", "DB_PASSWORD", "client_secret", "PGPASSWORD", "GH_PAT",
        "AWS_SECRET_ACCESS_KEY", "SENTRY_DSN", "TOKEN2", "SLACK_WEBHOOK_URL", "SECRET_KEY_BASE",
    ],
)  # fmt: skip
def test_a_name_that_says_secret(name: str) -> None:
    """If a variable has a secret's name, as `GH_PAT`, `record` stores a keyed hash of its value."""
    (line,) = secret_hashes({name: VALUE}, KEY)
    digest, length, start, word = line.split(" ")
    assert (len(digest), length, start, word) == (32, "16", "12", "vbTa")


@each_case(
    ("name", "value"),
    [
        ("GPG_KEY", "7169605F62C751356D054A26A821E680E5FA6305"), ("MY_PUBLIC_KEY", VALUE),
        ("PATH", VALUE), ("TOKENIZER", VALUE), ("MONKEY", VALUE), ("PWD", VALUE),
        ("A_TOKEN", "short"), ("A_TOKEN", "production"), ("A_TOKEN", "1234567890"),
        ("SSH_KEY", "/home/me/.ssh/id"), ("A_KEY", "api.example.com:443"), ("A_KEY", ""),
    ],
)  # fmt: skip
def test_what_is_no_secret(name: str, value: str) -> None:
    """`record` stores no hash of the value of `PATH`, or of a short value as in `A_TOKEN=short`."""
    assert secret_hashes({name: value}, KEY) == []
