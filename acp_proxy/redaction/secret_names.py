"""Recognizes names that mark the value of a header, a variable or a property as a secret."""

import re

_KINDS = {
    "credential": ("authorization", "credential", "credentials", "creds"),
    "cookie": ("cookie",),
    "key": (
        "apikey", "apikeys", "accesskey", "accountkey", "authkey", "encryptionkey", "masterkey",
        "privatekey", "secretkey", "secretkeybase", "privatekeyid", "sharedkey", "signingkey",
    ),
    "token": ("token",),
    "secret": ("secret", "secrets", "signature"),
    "password": (
        "password", "passwords", "passwd", "passphrase", "passcode", "pwd", "mfacode",
    ),
    "url": ("webhook", "webhookurl", "dsn", "connectionstring"),
}  # fmt: skip
_ENDINGS = {ending: kind for kind, endings in _KINDS.items() for ending in endings}
"""Endings of the names of secrets, without separators, each with the kind of the secret."""
_LAST_PARTS = dict.fromkeys(("pass", "pw", "otp", "pin"), "password")
_LAST_PARTS |= {"auth": "credential", "bearer": "token"}
"""Endings that count only if they are a separate word: in `DB_PASS`, but not in `bypass`."""
_VARIABLE_ENDINGS = {"key": "key", "session": "cookie"}
"""Endings that mark a secret only in the names of headers, variables and URL parameters."""
_VARIABLE_LAST_PARTS = {"sig": "secret", "pat": "token", "salt": "secret"}
"""Endings that mark a secret only in the names of headers, variables and URL parameters, and only
as a separate word: ``sig``, but not ``design``."""
_HARMLESS_ENDINGS = (
    # Positions in lists, and ids of the Model Context Protocol.
    "progresstoken", "pagetoken", "nexttoken", "continuationtoken", "synctoken", "synccursor",
    # Tokens of programs and of language models; not secrets.
    "cancellationtoken", "canceltoken", "bostoken", "eostoken", "padtoken", "unktoken",
    "masktoken", "septoken", "clstoken", "starttoken", "endtoken", "stoptoken", "pertoken",
    "maxtoken", "mintoken", "firsttoken", "lasttoken", "prevtoken", "previoustoken",
    "currenttoken", "nextpagetoken",
    # Keys that are public, and words that end like "key".
    "publickey", "pubkey", "gpgkey", "primarykey", "foreignkey", "sortkey", "partitionkey",
    "cachekey", "hotkey", "monkey", "donkey", "turkey", "whiskey", "hockey", "jockey",
    # Switches.
    "nopassword", "nocookie", "notoken",
)  # fmt: skip
_ENDING = re.compile(f"(?:{'|'.join(sorted(_ENDINGS, key=len, reverse=True))})$")
_SEPARATORS = str.maketrans("", "", "-_. ")
_PART = re.compile(r"[A-Z]?[a-z0-9]+$|[A-Z0-9]+$")
_HARMLESS_VARIABLES = {
    # Variables.
    "_", "ci", "colorterm", "columns", "debug", "display", "editor", "force_color", "gpg_key",
    "home", "hostname", "lang", "language", "lines", "logname", "log_level", "manpath", "no_color",
    "node_env", "oldpwd", "pager", "path", "pathext", "pwd", "pythondontwritebytecode",
    "pythonhashseed", "pythonioencoding", "pythonpath", "pythonunbuffered", "pythonutf8",
    "rust_backtrace", "rust_log", "shell", "shlvl", "systemroot", "temp", "term",
    "term_program", "term_program_version", "tmp", "tmpdir", "tz", "user", "username",
    "virtual_env", "visual", "windir", "xdg_cache_home", "xdg_config_home", "xdg_data_home",
    "xdg_runtime_dir", "xdg_session_type", "xdg_state_home",
    # Headers.
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control",
    "connection", "content-encoding", "content-length", "content-type", "host",
    "mcp-protocol-version", "user-agent",
}  # fmt: skip


def kind_of_name(name: str, *, variable: bool = False) -> str | None:
    """Returns the kind of secret that a name stands for; None if the name is harmless.

    Args:
        name: the name of a header, a variable, an option or a property, in any spelling.
        variable: whether the name belongs to a header, a variable or a URL parameter. More endings
            count for these names, such as `key`, `session` and `sig`.
    """
    plain = name.translate(_SEPARATORS).lower().rstrip("0123456789")
    if plain.endswith(_HARMLESS_ENDINGS):
        return None
    if ending := _ENDING.search(plain):
        return _ENDINGS[ending[0]]
    part = match[0].lower() if (match := _PART.search(name)) else ""
    if kind := _LAST_PARTS.get(part):
        return kind
    if variable:
        if kind := _VARIABLE_LAST_PARTS.get(part):
            return kind
        for end, kind in _VARIABLE_ENDINGS.items():
            if plain.endswith(end):
                return kind
    return None


def is_secret_name(name: str, *, variable: bool = False) -> bool:
    """Whether a value with the given name is a secret.

    Args:
        name: the name of a header, a variable, an option or a property, in any spelling.
        variable: see `kind_of_name`.
    """
    return kind_of_name(name, variable=variable) is not None


def is_harmless_variable(name: str) -> bool:
    """Whether a name belongs to a header or an environment variable without a secret."""
    name = name.lower()
    return name in _HARMLESS_VARIABLES or name.startswith("lc_")
