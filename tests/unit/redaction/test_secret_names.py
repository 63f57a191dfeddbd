"""Masking recognizes the names of secrets, and no other names."""

from acp_proxy.redaction.secret_names import is_harmless_variable, is_secret_name, kind_of_name
from tests.support.cases import each_case


@each_case(
    "name",
    [
        "Authorization", "Proxy-Authorization", "X-API-Key", "api_key", "apiKey", "OPENAI_API_KEY",
        "aws.secretAccessKey", "Set-Cookie", "access_token", "refreshToken", "GITHUB_TOKEN",
        "client secret", "dbPassword", "DB_PASS", "passphrase", "db_pwd", "credentials",
        "SECRET_KEY_BASE", "secretKeyBase", "private_key_id", "ADMIN_PW", "pwd", "otp", "mfaCode",
        "bearer", "PIN",
        "X-Hub-Signature", "slack_webhook", "SENTRY_DSN", "ConnectionString", "_auth",
    ],
)  # fmt: skip
def test_a_secret_name(name: str) -> None:
    """Masking recognizes names of secrets in any spelling, such as `apiKey` and `X-API-Key`."""
    assert is_secret_name(name)


@each_case(
    "name",
    [
        "spin", "laptop", "forbearer", "salt",
        "max_tokens", "tokenizer", "progressToken", "nextPageToken", "author",
        "bypass", "compass", "publicKey", "monkey", "sessionId", "session", "key", "passed",
        "keyboard", "tokens", "secretary", "",
    ],
)  # fmt: skip
def test_a_harmless_name(name: str) -> None:
    """Masking does not mistake names such as `max_tokens` for the names of secrets."""
    assert not is_secret_name(name)


def test_a_variable_may_be_a_key() -> None:
    """Masking treats `key` as the name of a secret only in variables, headers and URLs."""
    assert is_secret_name("STRIPE_KEY", variable=True)
    assert is_secret_name("X-Session", variable=True)
    assert is_secret_name("sig", variable=True)
    assert is_secret_name("GH_PAT", variable=True)
    assert is_secret_name("SALT", variable=True)
    assert not is_secret_name("BASE_PATH", variable=True)
    assert not is_secret_name("sig")
    assert not is_secret_name("DESIGN_SIGIL", variable=True)
    assert not is_secret_name("PUBLIC_KEY", variable=True)
    assert not is_secret_name("GPG_KEY", variable=True)


def test_the_kind_of_a_name() -> None:
    """`kind_of_name` returns the kind of secret that a name means: token for `GITHUB_TOKEN`."""
    assert kind_of_name("GITHUB_TOKEN") == "token"
    assert kind_of_name("set-cookie") == "cookie"
    assert kind_of_name("PATH") is None


def test_harmless_variables() -> None:
    """`is_harmless_variable` is true for `PATH` and `Content-Type`, but not `OPENAI_API_KEY`."""
    assert all(map(is_harmless_variable, ["PATH", "LC_ALL", "Content-Type", "GPG_KEY"]))
    assert not is_harmless_variable("OPENAI_API_KEY")
