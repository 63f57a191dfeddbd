"""Finds secrets among the variables of our environment, and makes keyed hashes of them.

The values themselves are written nowhere. Who masks the log recognizes a value by its length, by
four of its characters and by its hash, of which the log has the key; the log is removed.
"""

_ENDINGS = (
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "_PASS", "_PWD", "_PW", "APIKEY",
    "_KEY", "_SECRETS", "CREDENTIAL", "CREDENTIALS", "_AUTH", "_PAT", "_DSN", "COOKIE", "WEBHOOK",
    "WEBHOOK_URL", "CONNECTION_STRING", "SECRET_KEY_BASE", "_SALT",
)  # fmt: skip
_PUBLIC = ("GPG_KEY", "PUBLIC_KEY", "PUB_KEY", "PUBKEY")
"""Endings of names of what anybody may know: a fingerprint, a public key."""
_WORD = 4
_LEAST, _MOST = 8, 4096


def hashes(environment: "dict[str, str]", key: bytes) -> "list[str]":
    """Returns a line for each secret value: hash, length, and the place and text of four letters.

    Args:
        environment: the values of variables by their names.
        key: the key of the hashes.
    """
    values = {value for name, value in environment.items() if _is_secret(name, value)}
    return [line for value in sorted(values) if (line := _line(value, key))]


def _line(value: str, key: bytes) -> str:
    from _blake2 import blake2b  # as in hashlib, which takes long to import

    for start in range(len(value) - _WORD, -1, -1):  # keys of one kind often begin alike
        word = value[start : start + _WORD]
        if all(c.isalnum() or c in "-_.+=" for c in word):  # written in JSON as it is
            digest = blake2b(value.encode(), key=key, digest_size=16).hexdigest()
            return f"{digest} {len(value)} {start} {word}"
    return ""


def _is_secret(name: str, value: str) -> bool:
    plain = name.upper().rstrip("0123456789")
    if not plain.endswith(_ENDINGS) or plain.endswith(_PUBLIC):
        return False
    if not (_LEAST <= len(value) <= _MOST and value.isascii() and value.isprintable()):
        return False
    return not (_is_word(value) or _is_path(value) or _is_host(value))


def _is_word(value: str) -> bool:
    is_word = value.isalpha() and len(value) <= 16 and (value[1:].islower() or value.isupper())
    return is_word or not value.strip("+-0123456789.,:")


def _is_path(value: str) -> bool:
    starts = value.startswith(("/", "~/", "./", "../", "file://")) or value[1:3] == ":\\"
    return starts and (value.count("/") != 1 or len(value) < 20)


def _is_host(value: str) -> bool:
    host, _, port = value.partition(":")
    is_name = host.islower() and host.replace("-", "").replace(".", "").isalnum()
    is_name = is_name and "." in host and host.rpartition(".")[2].isalpha()
    return is_name and (not port or port.isdigit())
