"""Maps recorded values to the live values that a peer chose in their place.

Agents choose session ids, tool call ids and option ids; those are replayed as they were, since the
client only echoes them. Working directories and terminals are chosen by the client: its choice is
learnt at the typed places where the protocol lets it make one, and inserted into later frames, at
typed places only.
"""

import json
import re
from urllib.parse import quote, unquote

from attrs import define, evolve, field

from acp_proxy.protocol.splice import Place

_SCHEME = "file://"
_PLAIN_IN_URI = "/:\\~!$&'()*+,;=@"
_BEFORE = r"(?:(?<![\w.\-~})\]*?])(?<![\w.\-~})\]*?:]/)|(?<=\\[bfnrt]))"
_AFTER = r"(?![\w\-~+@%=*?\[{$^]|\.+[\w\-~+@%=*?\[{$^/])"
"""What stands around a directory that is named in a piece of JSON, and is no part of its name."""
_ABSOLUTE = re.compile(r"[/\\]|[A-Za-z]:[/\\]")


@define
class Bindings:
    """The live values of recorded ones.

    Attributes:
        roots: directories.
        terminals: terminal ids.
        messages: ids of the client's messages; each may be bound again at any time.
        connections: ids of connections to MCP servers.
        sessions: session ids; different only after two interchangeable ones were swapped, or where
            the client was sent those of another recording before it was known which one is played.
    """

    roots: dict[str, str] = field(factory=dict)
    terminals: dict[str, str] = field(factory=dict)
    sessions: dict[str, str] = field(factory=dict)
    connections: dict[str, str] = field(factory=dict)
    messages: dict[str, str] = field(factory=dict)

    released: set[str] = field(factory=set)
    """Recorded terminals that were released, so that a client may use their ids again."""

    def known(self, place: Place, recorded: str) -> str | None:
        """Returns the live value that a recorded one is bound to; None if it may still be bound.

        Args:
            place: the kind of the value: a terminal, a connection or a directory.
            recorded: the recorded value.
        """
        if place is Place.TERMINAL:
            return None if recorded in self.released else self.terminals.get(recorded)
        table = self.connections if place is Place.CONNECTION else self.roots
        return table.get(recorded)

    def bind(self, place: Place, recorded: str, live: str) -> None:
        """Binds a value; a later call replaces an earlier one.

        Args:
            place: the kind of the value.
            recorded: the recorded value.
            live: the live one.
        """
        match place:
            case Place.SESSION:
                self.sessions[recorded] = live
            case Place.TERMINAL:
                self.terminals[recorded] = live
                self.released.discard(recorded)
            case Place.CONNECTION:
                self.connections[recorded] = live
            case Place.MESSAGE:
                self.messages[recorded] = live
            case Place.ROOT:
                self.roots[recorded] = live

    def release(self, terminal: str) -> None:
        """Notes that a recorded terminal was released, so that its id is free again."""
        self.released.add(terminal)

    def swap_sessions(self, first: str, second: str) -> None:
        """Exchanges the live ids of two sessions.

        Args:
            first: the recorded id of one.
            second: the recorded id of the other.
        """
        live = self.sessions.get(first, first), self.sessions.get(second, second)
        self.sessions[second], self.sessions[first] = live

    def recorded_session(self, live: str | None) -> str | None:
        """Returns the recorded id of a live session; the live id itself if it is not bound."""
        return next((old for old, new in self.sessions.items() if new == live), live)

    @property
    def live_terminals(self) -> set[str]:
        """The live ids of the terminals that are not released."""
        return {new for old, new in self.terminals.items() if old not in self.released}

    @property
    def changed(self) -> dict[str, str]:
        """The live values that differ from the recorded ones, but for messages, which are many."""
        return {old: new for table in self._tables for old, new in table.items() if old != new}

    @property
    def change_anything(self) -> bool:
        """Whether any value differs from the recorded one."""
        tables = (*self._tables, self.messages)
        return any(old != new for table in tables for old, new in table.items())

    @property
    def _tables(self) -> tuple[dict[str, str], ...]:
        return self.roots, self.terminals, self.sessions, self.connections

    def live(self, place: Place, recorded: str) -> str:
        """Returns the live value of a recorded one; the recorded one if it is not bound.

        Args:
            place: the kind of the value; below a bound directory paths and URIs move with it.
            recorded: the recorded value.
        """
        match place:
            case Place.SESSION:
                return self.sessions.get(recorded, recorded)
            case Place.TERMINAL:
                return self.terminals.get(recorded, recorded)
            case Place.CONNECTION:
                return self.connections.get(recorded, recorded)
            case Place.MESSAGE:
                return self.messages.get(recorded, recorded)
            case Place.URI | Place.ROOT_URI if recorded.startswith(_SCHEME):
                return self._moved_uri(recorded)
            case Place.ROOT | Place.PATH | Place.URI | Place.ROOT_URI:
                return self._moved(recorded)
        return recorded

    def moved(self, text: str) -> str:
        """Returns the live value of a string that may be a path anywhere in a message.

        It is moved if the whole of it is a directory of the client's, or a path or a ``file://``
        URI below one, and returned as it is otherwise. A relative directory is an ordinary word.
        """
        named = evolve(self, roots={o: n for o, n in self.roots.items() if _is_named(o)})
        return named.live(Place.URI if text.startswith(_SCHEME) else Place.PATH, text)

    def rewritten(self, text: str) -> str:
        """Replaces directories wherever they are named in a piece of JSON, the longest first.

        A relative one, ``.`` or ``src``, is an ordinary word; and a name that goes on before or
        after it, as in ``~/work``, ``http://work`` or ``/work.bak``, is another one.
        """
        named = ((old, new) for old, new in self.roots.items() if _is_named(old))
        names = {_inside_json(old): _inside_json(new) for old, new in named}
        if not names:
            return text
        choice = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        return re.sub(f"{_BEFORE}(?:{choice}){_AFTER}", lambda found: names[found[0]], text)

    @property
    def after_rewriting(self) -> "Bindings":
        """The bindings for a text that was rewritten, in which no directory moves twice."""
        return evolve(self, roots={o: n for o, n in self.roots.items() if not _is_named(o)})

    def _moved(self, path: str) -> str:
        """The longest directory that a path lies under decides."""
        for old in sorted(self.roots, key=len, reverse=True):
            if (rest := _below(old, path)) is not None:
                return _joined(self.roots[old], rest)
        return path

    def _moved_uri(self, uri: str) -> str:
        """A URI is compared by its meaning, and only the directory in it is replaced."""
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
    """Whether a directory is told from an ordinary word."""
    return _ABSOLUTE.match(root) is not None and root.strip("/\\") != ""


def _in_uri(path: str) -> str:
    return quote(path, safe=_PLAIN_IN_URI, errors="surrogatepass")


def _below(root: str, path: str) -> str | None:
    """The rest of a path that lies under a directory, with its separator; else None."""
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
