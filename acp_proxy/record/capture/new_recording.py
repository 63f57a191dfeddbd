"""Names a new recording and opens its log.

Secrets in our environment variables are never written. Masking recognizes a secret by its length,
four of its characters and its keyed hash, which are in the log. The log and the key are deleted
after indexing.
"""

import os
import time
from errno import ENOSPC

from acp_proxy import __version__
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.capture.pumps import Interceptor
from acp_proxy.record.capture.record_options import RecordOptions
from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.file_names import (
    DAMAGED_SUFFIX,
    LOG_SUFFIX,
    SQLITE_SUFFIXES,
    candidates,
    fresh_name,
    make_private,
    recordings_directory,
)
from acp_proxy.recording.log_format import HASHES_KEY, MARKER_KEY, SECRETS_KEY, START, Log

PARENT = "ACP_PROXY_PARENT"
"""The environment variable that gives the agent the ids of the recording and the connection. An
acp-proxy that the agent starts reads this variable."""

SECRETS = "ACP_PROXY_SECRETS"
"""The environment variable that lists variables with secret values and their markers, as
comma-separated ``NAME=MARKER``. `verify` sets this variable."""


MADE_BY = "ACP_PROXY_MADE_BY"
"""The environment variable with the name of the command, such as `verify`, that starts the recorder
for its own use. The recording contains this name."""


_OURS = (SECRETS, MADE_BY)

_SECRET_ENDINGS = (
    "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "_PASS", "_PWD", "_PW", "APIKEY",
    "_KEY", "_SECRETS", "CREDENTIAL", "CREDENTIALS", "_AUTH", "_PAT", "_DSN", "COOKIE", "WEBHOOK",
    "WEBHOOK_URL", "CONNECTION_STRING", "SECRET_KEY_BASE", "_SALT",
)  # fmt: skip
_PUBLIC_ENDINGS = ("GPG_KEY", "PUBLIC_KEY", "PUB_KEY", "PUBKEY")
"""Endings of names whose values are public: a fingerprint, a public key."""
_WORD = 4
_SHORTEST, _LONGEST = 8, 4096


class Identity:
    """The ids of a recording, its clocks at the start, and its parent recording."""

    def __init__(self, options: RecordOptions, interceptor: Interceptor) -> None:
        self.id = os.urandom(6).hex()
        self.wall_ns = time.time_ns()
        self.origin_ns = time.monotonic_ns()
        self.parent, _, outer = os.environ.get(PARENT, "").partition("/")
        self.connection_id = outer or self.id
        self._options = options
        self._interceptor = interceptor

    def path(self) -> str:
        """Returns the path that the recording should have; a file may already exist there."""
        options = self._options
        if options.output:
            return os.path.abspath(options.output)
        stem = options.name or fresh_name(options.command, self.id, self.wall_ns)
        return os.path.join(recordings_directory(os.environ), stem + ".db")

    def fields(self, path: str) -> "dict[str, str | int | list[str]]":
        """Returns the fields of the log's first record."""
        uname, key = os.uname(), os.urandom(16)
        stem = os.path.splitext(os.path.basename(path))[0]
        fields: dict[str, str | int | list[str]] = {
            "id": self.id,
            "name": (self._options.output and self._options.name) or stem,
            "tool_version": __version__,
            "wall": self.wall_ns,
            "origin": self.origin_ns,
            "arg": self._options.command,
            "cwd": _working_directory(),
            "platform": f"{uname.sysname} {uname.machine}",
            "redaction": self._options.redact,
            MARKER_KEY: key.hex(),
            "connection_id": self.connection_id,
            "pid": os.getpid(),
            **self._interceptor.fields,
        }
        if made_by := os.environ.get(MADE_BY):
            fields["made_by"] = made_by
        if self.parent:
            fields["parent"] = self.parent
        if self._options.redact != "none":
            fields[SECRETS_KEY] = _known_secrets()
            fields[HASHES_KEY] = secret_hashes(dict(os.environ), key)
        return fields

    def agent_environment(self) -> "dict[str, str]":
        """Returns our environment, with the id of this recording, for the agent."""
        inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
        return {**inherited, PARENT: f"{self.id}/{self.connection_id}"}


def open_log(options: RecordOptions, identity: Identity) -> Log:
    """Opens the log under the first free name.

    Args:
        options: the options of the command line.
        identity: ids and clocks of the recording, for the log's first record.

    Returns:
        The log. If no log can be written, the reason is reported on stderr, and the returned log
        stores nothing. With `--require-recording`, the process exits with 1 instead.
    """
    wanted = identity.path()
    try:
        make_private(os.path.dirname(wanted))
        path, log = _first_free(wanted, options)
        if not log.event(START, identity.fields(path)):
            log.remove()
            if os.path.exists(path):
                os.unlink(path)
            raise OSError(ENOSPC, os.strerror(ENOSPC))
    except OSError as e:
        where = wanted + LOG_SUFFIX
        problem = f"cannot record into {where}: {e.strerror}"
        if options.require_recording:
            warn(f"{problem}; the agent was not started, since it must be recorded")
            os._exit(1)
        warn(f"{problem}; the conversation goes on unrecorded")
        return Log()
    if path != wanted:
        warn(f"{wanted} exists; recording into {path}")
    return log


def _first_free(wanted: str, options: RecordOptions) -> "tuple[str, CaptureLog]":
    for path in candidates(wanted):
        if any(os.path.lexists(path + suffix) for suffix in (DAMAGED_SUFFIX, *SQLITE_SUFFIXES)):
            continue
        try:
            log = CaptureLog.create(path + LOG_SUFFIX, max_size=options.max_size)
        except FileExistsError:
            continue
        try:
            _claim(path)
        except FileExistsError:
            log.remove()
            os.close(log.fd)
            continue
        except OSError:  # the indexer will report it; the log is what matters
            pass
        return path, log
    raise FileExistsError(17, "no free name is left")


def _claim(path: str) -> None:
    """Creates the database as an empty file, so that no other program can take its name.

    Raises:
        OSError: the path exists (perhaps as a broken link), or no file can be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(path, flags, 0o600))


def _known_secrets() -> "list[str]":
    """Returns markers and known secrets in one list: each secret directly follows its marker."""
    secrets: list[str] = []
    for part in os.environ.get(SECRETS, "").split(","):
        name, _, marker = part.partition("=")
        if value := os.environ.get(name):
            secrets += (marker, value)
    return secrets


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def secret_hashes(environment: "dict[str, str]", key: bytes) -> "list[str]":
    """Returns a line for each secret: its hash, its length, and four characters with their index.

    Args:
        environment: the values of variables by their names.
        key: the key of the hashes.
    """
    values = {value for name, value in environment.items() if _is_secret(name, value)}
    return [line for value in sorted(values) if (line := _line(value, key))]


def _line(value: str, key: bytes) -> str:
    from _blake2 import blake2b  # hashlib has it too, but is slow to import

    for start in range(len(value) - _WORD, -1, -1):  # keys of one kind often begin alike
        word = value[start : start + _WORD]
        if all(c.isalnum() or c in "-_.+=" for c in word):  # JSON does not escape these
            digest = blake2b(value.encode(), key=key, digest_size=16).hexdigest()
            return f"{digest} {len(value)} {start} {word}"
    return ""


def _is_secret(name: str, value: str) -> bool:
    plain = name.upper().rstrip("0123456789")
    if not plain.endswith(_SECRET_ENDINGS) or plain.endswith(_PUBLIC_ENDINGS):
        return False
    if not (_SHORTEST <= len(value) <= _LONGEST and value.isascii() and value.isprintable()):
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
