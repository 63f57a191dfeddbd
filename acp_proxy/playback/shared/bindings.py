"""Maps recorded values to the live values that a peer chose in their place.

Agents choose the ids of sessions, tool calls and options. These ids are replayed unchanged, since
the client only echoes them. Clients choose working directories and terminals. A client's choice is
learnt and inserted at typed places: places whose value has a known kind.
"""

import json
import re
from urllib.parse import quote, unquote

from attrs import define, evolve, field

from acp_proxy.playback.shared.secret_pairs import SecretPairs
from acp_proxy.protocol.typed_places import Place

_SCHEME = "file://"
_PLAIN_IN_URI = "/:\\~!$&'()*+,;=@"
_BEFORE = r"(?:(?<![\w.\-~})\]*?])(?<![\w.\-~})\]*?:]/)|(?<=\\[bfnrt]))"
_AFTER = r"(?![\w\-~+@%=*?\[{$^]|\.+[\w\-~+@%=*?\[{$^/])"
"""The patterns of the text before and after the name of a directory in JSON."""
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")


@define
class Bindings:
    """Maps recorded values to live values."""

    roots: dict[str, str] = field(factory=dict)
    """Recorded directories, each with its live directory."""
    terminals: dict[str, str] = field(factory=dict)
    sessions: dict[str, str] = field(factory=dict)
    """Ids of sessions. A live id differs from the recorded id only if two interchangeable sessions
    were swapped, or if the client got an id of a recording that was dropped later."""
    connections: dict[str, str] = field(factory=dict)
    """Ids of connections to MCP servers."""
    messages: dict[str, str] = field(factory=dict)
    """Ids of the client's messages; each may be bound again at any time."""
    released: set[str] = field(factory=set)
    """Recorded ids of terminals that were released; each may be bound to a new live id."""
    secrets: SecretPairs | None = None
    """The pairs of recorded and live secrets; None if a live text with a secret must equal the
    recorded text."""
    _tables: dict[Place, dict[str, str]] = field(init=False)
    _changed: set[tuple[Place, str]] | None = field(init=False, default=None, eq=False)
    """The recorded values that differ from their live values, each with its kind; None until they
    are needed."""

    @_tables.default
    def _by_place(self) -> dict[Place, dict[str, str]]:
        return {
            Place.ROOT: self.roots,
            Place.TERMINAL: self.terminals,
            Place.SESSION: self.sessions,
            Place.CONNECTION: self.connections,
            Place.MESSAGE: self.messages,
        }

    def known(self, place: Place, recorded: str) -> str | None:
        """Returns the live value that a recorded value is bound to; None if it is not bound yet.

        Args:
            place: the kind of the value.
            recorded: the recorded value.
        """
        is_free = place is Place.TERMINAL and recorded in self.released
        return None if is_free else self._tables[place].get(recorded)

    def bind(self, place: Place, recorded: str, live: str) -> None:
        """Binds a value; a later call replaces the earlier live value.

        Args:
            place: the kind of the value.
            recorded: the recorded value.
            live: the live value.
        """
        self._tables[place][recorded] = live
        if self._changed is not None:
            (self._changed.discard if recorded == live else self._changed.add)((place, recorded))
        if place is Place.TERMINAL:
            self.released.discard(recorded)

    def release(self, terminal: str) -> None:
        """Notes that a recorded terminal was released: its recorded id can now be bound again."""
        self.released.add(terminal)

    def swap_sessions(self, first: str, second: str) -> None:
        """Exchanges the live ids of two sessions.

        Args:
            first: the recorded id of the first session.
            second: the recorded id of the second session.
        """
        live = self.sessions.get(first, first), self.sessions.get(second, second)
        self.bind(Place.SESSION, second, live[0])
        self.bind(Place.SESSION, first, live[1])

    def recorded_session(self, live: str | None) -> str | None:
        """Returns the recorded id of a live session; the live id itself if it is not bound."""
        return next((old for old, new in self.sessions.items() if new == live), live)

    @property
    def live_terminals(self) -> set[str]:
        """Returns the live ids of the terminals that are not released."""
        return {new for old, new in self.terminals.items() if old not in self.released}

    @property
    def changed(self) -> dict[str, str]:
        """Returns the live values that differ from the recorded values, by recorded value.

        Message ids are left out.
        """
        tables = [table for place, table in self._tables.items() if place is not Place.MESSAGE]
        return {old: new for table in tables for old, new in table.items() if old != new}

    @property
    def change_anything(self) -> bool:
        """Whether any live value differs from its recorded value."""
        if self._changed is None:
            every = self._tables.items()
            self._changed = {(p, o) for p, table in every for o, n in table.items() if o != n}
        return bool(self._changed)

    def live(self, place: Place, recorded: str) -> str:
        """Returns the live value of a recorded value; the recorded value if it is not bound.

        Args:
            place: the kind of the value. In a path or URI, a bound directory at the beginning is
                replaced.
            recorded: the recorded value.
        """
        if place in (Place.URI, Place.ROOT_URI) and recorded.startswith(_SCHEME):
            return self._moved_uri(recorded)
        if place in (Place.ROOT, Place.PATH, Place.URI, Place.ROOT_URI):
            return self._moved(recorded)
        table = self._tables.get(place)
        return recorded if table is None else table.get(recorded, recorded)

    def moved(self, text: str) -> str:
        """Returns the live value of a string that may be a path.

        A string changes only if it is a directory of the client, or a path or ``file://`` URI below
        it. Relative directories are ignored, since they may be plain words.
        """
        named = evolve(self, roots={o: n for o, n in self.roots.items() if _is_named(o)})
        return named.live(Place.URI if text.startswith(_SCHEME) else Place.PATH, text)

    def rewritten(self, text: str) -> str:
        """Replaces directories wherever they are named in a piece of JSON, the longest first.

        A relative directory, ``.`` or ``src``, may be an ordinary word and stays. A directory
        within a longer name, as in ``~/work`` or ``/work.bak``, stays too.
        """
        named = ((old, new) for old, new in self.roots.items() if _is_named(old))
        names = {_inside_json(old): _inside_json(new) for old, new in named}
        if not names:
            return text
        choice = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return re.sub(f"{_BEFORE}(?:{choice}){_AFTER}", lambda match: names[match[0]], text)

    @property
    def after_rewriting(self) -> "Bindings":
        """Returns bindings without the directories that `rewritten` has already replaced."""
        return evolve(self, roots={o: n for o, n in self.roots.items() if not _is_named(o)})

    def _moved(self, path: str) -> str:
        """Returns a path after replacing the longest bound directory that it begins with."""
        for old in sorted(self.roots, key=len, reverse=True):
            if (rest := _below(old, path)) is not None:
                return _joined(self.roots[old], rest)
        return path

    def _moved_uri(self, uri: str) -> str:
        """Replaces the bound directory in a ``file://`` URI, with or without escaped characters."""
        path = uri.removeprefix(_SCHEME)
        for old in sorted(self.roots, key=len, reverse=True):
            for spelled in (old, _in_uri(old)):
                if (rest := _below(spelled, path)) is not None:
                    return _SCHEME + _joined(_in_uri(self.roots[old]), rest)
        return uri


def path_in(uri: str) -> str | None:
    """Returns the path that a ``file://`` URI names; None for any other URI."""
    return unquote(uri.removeprefix(_SCHEME)) if uri.startswith(_SCHEME) else None


def _is_named(root: str) -> bool:
    """Whether a directory is absolute and not the root. Any other path may be an ordinary word."""
    return _ABSOLUTE.match(root) is not None and root.strip("/\\") != ""


def _in_uri(path: str) -> str:
    return quote(path, safe=_PLAIN_IN_URI, errors="surrogatepass")


def _below(root: str, path: str) -> str | None:
    """Returns the part of a path after a directory; None if the path is not in the directory."""
    trimmed = root.rstrip("/\\")
    if path == root:
        return ""
    if not root:
        return None
    rest = path.removeprefix(trimmed)
    return rest if path.startswith(trimmed) and rest[:1] in ("/", "\\") else None


def _joined(root: str, rest: str) -> str:
    return root.rstrip("/\\") + rest if rest else root


def _inside_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=not text.isprintable())[1:-1]
