"""Decides whether a path is in a session's directory, and whether its file contains credentials.

Only the text of the path is examined; the disk is not read. ``.`` and ``..`` are resolved in the
text. A relative path begins at the session's directory.
"""

import ntpath
import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from attrs import evolve

from acp_proxy.base.limits import SHORT_LIST, SHOWN_LINE
from acp_proxy.explain.audit.audit_values import AuditedPath, PathPlace
from acp_proxy.protocol.directories import is_windows, is_within, local_path

_REMEMBERED = 500
"""Paths with fewer characters than this are cached."""
_WORDS = re.compile(r"[^\s;|&<>()\"'`=,{}]+")
_COMMAND = 20_000
"""The number of characters at the beginning of a command that are searched for paths."""
_CHANGES_DIRECTORY = re.compile(r"\b(?:cd|pushd|chdir|Set-Location)\s")
_URI_TAIL = re.compile(r"[?#][^/\\%]*\Z")
"""A query or a fragment at the end of a URI, such as a line number."""
_PATH = re.compile(r"(?:/|~[\w.-]*/|\.\.(?:/|$)|\$\{?HOME\}?/|[A-Za-z]:[/\\])")
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/lib/", "/lib64/", "/opt/homebrew/bin/", "/dev/")
"""The directories of programs and devices, which nearly every command names."""

_SECRET_FILES = frozenset({
    ".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials",
    ".htpasswd", ".dockercfg", ".vault-token", ".terraformrc", "credentials", "kubeconfig",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "shadow", "gshadow", "key4.db", "logins.json",
    "application_default_credentials.json", "wallet.dat", "secring.gpg", "master.key",
})  # fmt: skip
_SECRET_STEMS = ("credentials", "secrets", "secret", "client_secret", "service-account")
_DATA_ENDINGS = (".json", ".yml", ".yaml", ".toml", ".ini", ".txt", ".xml", ".csv", ".cfg")
_SECRET_ENDINGS = (
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".env", ".ovpn",
)  # fmt: skip
_SECRET_DIRECTORIES = frozenset(
    {".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".password-store", "gcloud"}
)
_HARMLESS = frozenset({"known_hosts", "cacert.pem", "ca-bundle.pem", "ca-certificates.pem"})
_HARMLESS_ENDINGS = (".pub", ".example", ".sample", ".template", ".dist")
_TOKEN_FILES = (("auth.json", (".codex", ".composer", "opencode")), ("hosts.yml", ("gh",)),
                ("oauth_creds.json", (".gemini", ".qwen")))  # fmt: skip


def locate(path: str, directories: Sequence[str], operation: str | None = None) -> AuditedPath:
    """Returns a path, and whether it is inside the session's directories.

    Args:
        path: the path as it was sent, or a ``file:`` URI.
        directories: the directories of the session, the working directory first; empty if they are
            not known.
        operation: the operation on the file; None if it is not known.
    """
    find = _locate_again if len(path) < _REMEMBERED else _locate
    return find(path, tuple(directories), operation)


def _locate(path: str, directories: tuple[str, ...], operation: str | None) -> AuditedPath:
    local = local_path(path)
    if local is None:
        local = local_path(_URI_TAIL.sub("", path))
    base = directories[0] if directories else ""
    whole = path if local is None else local
    if local is not None and directories and not _is_absolute(local):
        whole = f"{base}/{local}"
    flavour = ntpath if is_windows(whole) else posixpath
    shown = whole if local is None else flavour.normpath(whole)
    place = _place(path, local, whole, directories)
    if place is PathPlace.INSIDE and is_within(whole, [base]):
        shown = flavour.relpath(shown, flavour.normpath(base))
    secret = looks_like_credentials(shown)
    return AuditedPath(cut(path), cut(shown), place, secret, operation)


_locate_again = lru_cache(1024)(_locate)
"""The function `_locate` with a cache."""


def may_be_same(audited_path: AuditedPath, other: AuditedPath) -> bool:
    """Whether two paths may name the same file.

    Whole paths are compared if both can be resolved; otherwise, only the names of the files.

    Args:
        audited_path: the first path.
        other: the second path, of the same session.
    """
    first, second = _folded(audited_path.shown), _folded(other.shown)
    is_unknown = PathPlace.UNKNOWN in (audited_path.place, other.place)
    if is_unknown and not (_is_rooted(first) and _is_rooted(second)):
        return re.split(r"[/\\]", first)[-1] == re.split(r"[/\\]", second)[-1]
    return first == second


def cut(text: str) -> str:
    """Returns a text, cut to at most `SHOWN_LINE` characters."""
    return text if len(text) <= SHOWN_LINE else f"{text[: SHOWN_LINE - 1]}…"


def looks_like_credentials(path: str) -> bool:
    """Whether files with this path usually contain credentials."""
    names = [name for name in re.split(r"[/\\]", path.casefold()) if name]
    if not names:
        return False
    name, above = names[-1], names[:-1]
    if name in _HARMLESS or name.endswith(_HARMLESS_ENDINGS):
        return False
    stem, dot, ending = name.partition(".")
    return (
        name in _SECRET_FILES
        or name.startswith(".env.")
        or name.endswith(_SECRET_ENDINGS)
        or (stem in _SECRET_STEMS and f"{dot}{ending}" in _DATA_ENDINGS)
        or any(known in _SECRET_DIRECTORIES for known in names)
        or any(name == known and above[-1:] and above[-1] in where for known, where in _TOKEN_FILES)
    )


def mentions(
    command: str, directories: Sequence[str], where: str | None = None
) -> list[AuditedPath]:
    """Returns the paths in a command that are credential files, or not inside `directories`.

    Variables and wildcards are not expanded. Programs and devices of the system are left out.

    Args:
        command: the command line.
        directories: the directories of the session.
        where: the directory in which the command runs, as it was sent; None for the session's
            directory.
    """
    paths = dict.fromkeys(_mentioned(command[:_COMMAND], directories, where))
    return [path for path, _ in zip(paths, range(SHORT_LIST), strict=False)]


def _mentioned(
    command: str, directories: Sequence[str], where: str | None
) -> Iterator[AuditedPath]:
    moves = _CHANGES_DIRECTORY.search(command) is not None
    for match in _WORDS.finditer(command):
        word = match[0]
        is_path = _PATH.match(word) is not None and not word.startswith("//")
        if not is_path and not looks_like_credentials(word):
            continue
        if word.startswith(_SYSTEM) and not looks_like_credentials(word):
            continue
        is_relative = not _is_absolute(word)
        base = f"{where}/" if where and is_relative else ""
        path = evolve(locate(base + word, directories), path=cut(word))
        if is_relative and is_path and moves:  # after cd, the current directory is not known
            path = evolve(path, shown=cut(word), place=PathPlace.UNKNOWN)
        if path.credential or (is_path and path.place is not PathPlace.INSIDE):
            yield path


def _place(path: str, local: str | None, whole: str, directories: Sequence[str]) -> PathPlace:
    if local is None:  # a URL, a file on another machine, or a name with a colon
        return PathPlace.OUTSIDE if "://" in path else PathPlace.UNKNOWN
    if not directories or path.startswith(("~", "$HOME", "${HOME}")):
        return PathPlace.UNKNOWN
    if is_within(whole, directories):
        return PathPlace.INSIDE
    is_clear = _is_rooted(directories[0]) and not is_within(
        _folded(whole), [_folded(directory) for directory in directories]
    )
    return PathPlace.OUTSIDE if is_clear else PathPlace.UNKNOWN


def _folded(text: str) -> str:
    """Returns a path in one letter case and one Unicode form, so that it can be compared."""
    return unicodedata.normalize("NFC", text).casefold()


def _is_rooted(path: str) -> bool:
    return path.startswith("/") or is_windows(path)


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\", "~", "$HOME", "${HOME}")) or is_windows(path)
