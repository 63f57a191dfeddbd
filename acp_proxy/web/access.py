"""Decides which requests the live window answers: those of its own page, with the token.

A page of another origin, a host name that leads to this machine, and a program that took the port
are kept out. `docs/commands/web.md` lists the rules.
"""

import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from attrs import define, field, frozen

from acp_proxy.base.forms import converter
from acp_proxy.base.plain_files import open_plain
from acp_proxy.recording.file_names import make_private

LOOPBACK = "127.0.0.1"
_TOKEN_BYTES = 32
_LASTS_S = 30 * 86_400
"""How long a token can be used, in seconds."""
_PRIVATE = 0o600
_LONGEST_CHALLENGE = 128
_SAME_SITE = ("same-origin", "none")
"""The values of ``Sec-Fetch-Site`` for requests of the page itself, or of a person."""


def state_directory(environ: Mapping[str, str]) -> Path:
    """Returns the directory for files that outlive a command: ``$XDG_STATE_HOME/acp-proxy``.

    Args:
        environ: the environment variables.
    """
    chosen = environ.get("XDG_STATE_HOME", "")
    base = Path(chosen)
    return (base if base.is_absolute() else Path.home() / ".local" / "state") / "acp-proxy"


@frozen
class Address:
    """Where a window is served, and the token that opens it."""

    port: int
    token: str
    made_at: float
    """When the token was made, in seconds since 1970."""

    @property
    def host(self) -> str:
        """The value of the header ``Host`` in requests to this address."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def is_old(self) -> bool:
        """Whether the token has ended."""
        return not 0 <= time.time() - self.made_at < _LASTS_S

    def url(self, path: str) -> str:
        """Returns the URL of a page. The fragment, which no browser sends, has the token.

        Args:
            path: the path of the page.
        """
        return f"http://{self.host}{path}#token={self.token}"

    def proof(self, challenge: str) -> str:
        """Returns the answer to a challenge, which only a holder of the token can compute.

        Args:
            challenge: the text of the challenge.
        """
        words = f"acp-proxy web {challenge} {self.host}"
        return hmac.new(self.token.encode(), words.encode(), sha256).hexdigest()


def new_address(port: int) -> Address:
    """Returns an address with a new token.

    Args:
        port: the port of the server.
    """
    return Address(port, secrets.token_hex(_TOKEN_BYTES), time.time())


class AddressFile:
    """The file with the address of the window on one directory. Only its owner can read it.

    Args:
        state: the state directory.
        directory: the directory of the recordings.
        options: the options of the window; with other options, the file is another one.
    """

    def __init__(self, state: Path, directory: Path, options: str) -> None:
        name = sha256(f"{directory}\0{options}".encode(errors="surrogateescape")).hexdigest()[:16]
        self.path = state / f"web-{name}.json"
        self.opener = state / f"web-{name}.html"
        """A page that leads to the window. The browser is opened on this file, so that the token is
        in no list of processes."""

    def read(self) -> Address | None:
        """Returns the address; None without a file, or if its token has ended."""
        with (
            suppress(OSError, ValueError, TypeError, AttributeError, KeyError),
            open_plain(self.path) as file,
        ):
            if os.fstat(file.fileno()).st_mode & 0o077 == 0:
                address = converter.structure(json.load(file), Address)
                return None if address.is_old else address
        return None

    def write(self, address: Address) -> None:
        """Replaces the file.

        Args:
            address: the address.

        Raises:
            OSError: the file cannot be written.
        """
        make_private(str(self.path.parent))
        self._replace(self.path, json.dumps(converter.unstructure(address)))

    def write_opener(self, url: str) -> Path:
        """Writes a page that leads to a URL; returns its path.

        Args:
            url: the URL; it contains no markup.

        Raises:
            OSError: the file cannot be written.
        """
        page = f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={url}">\n'
        self._replace(self.opener, page)
        return self.opener

    @staticmethod
    def _replace(path: Path, text: str) -> None:
        new = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(FileNotFoundError):
            new.unlink()
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "w") as file:
            file.write(text)
        new.replace(path)


@define
class Guard:
    """Answers for each request whether it is allowed.

    Attributes:
        log: prints a line about a refused request. Each reason is printed once.
    """

    _file: AddressFile
    _address: Address
    log: Callable[[str], None]
    _known: float | None = None
    """When the file was last changed."""
    _refused: set[str] = field(factory=set)

    @property
    def address(self) -> Address:
        """The address with the present token: `--new-token` may have replaced the first one."""
        with suppress(OSError):
            changed = self._file.path.stat().st_mtime
            read = self._file.read() if changed != self._known else None
            if read is not None and read.port == self._address.port:
                self._address = read
            self._known = changed
        return self._address

    def refusal(
        self, method: str, headers: Mapping[str, str], *, is_data: bool
    ) -> tuple[HTTPStatus, str] | None:
        """Returns the status and the reason with which a request is refused; None if it is allowed.

        Args:
            method: the method of the request.
            headers: its headers, by their names in small letters.
            is_data: whether the answer contains data, so that the request needs the token.
        """
        address = self.address
        refused = None
        if method not in ("GET", "HEAD"):
            refused = HTTPStatus.METHOD_NOT_ALLOWED, "its method is not GET"
        elif headers.get("host") != address.host:
            refused = HTTPStatus.MISDIRECTED_REQUEST, f"it is not for the host {address.host}"
        elif headers.get("origin", f"http://{address.host}") != f"http://{address.host}":
            refused = HTTPStatus.FORBIDDEN, "a page of another origin made it"
        elif headers.get("sec-fetch-site", "none") not in _SAME_SITE and not self._is_link(headers):
            refused = HTTPStatus.FORBIDDEN, "a page of another site made it"
        elif is_data and not self._has_token(address, headers):
            refused = HTTPStatus.UNAUTHORIZED, "it has no token, or an old or wrong one"
        if refused is not None and refused[1] not in self._refused:
            self._refused.add(refused[1])
            self.log(f"refused a request: {refused[1]}; later ones like it are not printed")
        return refused

    @staticmethod
    def _is_link(headers: Mapping[str, str]) -> bool:
        """Whether a person followed a link, such as the one in the opener, whose site is a file."""
        return (
            headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )

    @staticmethod
    def _has_token(address: Address, headers: Mapping[str, str]) -> bool:
        given = headers.get("authorization", "").encode(errors="replace")
        wanted = f"Bearer {address.token}".encode()
        return not address.is_old and hmac.compare_digest(given, wanted)

    def prove(self, challenge: str) -> str | None:
        """Returns the proof for a challenge; None if the challenge is not a hexadecimal number.

        Args:
            challenge: the challenge of a page, or of another command.
        """
        is_plain = len(challenge) <= _LONGEST_CHALLENGE and challenge.isalnum()
        return self.address.proof(challenge) if is_plain and challenge.isascii() else None
