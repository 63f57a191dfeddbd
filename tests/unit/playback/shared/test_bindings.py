"""Playback replaces recorded directories by live directories, as whole names only."""

from __future__ import annotations

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.protocol.typed_places import Place
from tests.support.cases import each_case


def bound(**roots: str) -> Bindings:
    """Returns pairs of a recorded and a live directory; ``_`` in a name is a slash."""
    bindings = Bindings()
    for old, new in roots.items():
        bindings.bind(Place.ROOT, old.replace("_", "/"), new)
    return bindings


@each_case(
    ("roots", "path", "moved"),
    [
        ({"_srv_a": "/x"}, "/srv/a", "/x"),
        ({"_srv_a": "/x"}, "/srv/a/", "/x/"),
        ({"_srv_a": "/x"}, "/srv/a/b.py", "/x/b.py"),
        ({"_srv_a": "/x"}, "/srv/ab", "/srv/ab"),
        ({"_srv_a": "/x"}, "/other/srv/a", "/other/srv/a"),
        ({"_srv_a": "/x"}, "", ""),
        ({"_srv": "/x", "_srv_a": "/y"}, "/srv/a/b", "/y/b"),
        ({"_srv": "/x", "_srv_a": "/y"}, "/srv/b", "/x/b"),
        ({"_srv_": "/x/"}, "/srv/b", "/x/b"),
        ({"_": "/x"}, "/etc/passwd", "/x/etc/passwd"),
        ({"C:\\p": "/x"}, "C:\\p\\a", "/x\\a"),
        ({"_a": "/"}, "/a/b", "/b"),
        ({".": "/x"}, ".", "/x"),
        ({".": "/x"}, "./a", "/x/a"),
        ({".": "/x", "..": "/y"}, "../a", "/y/a"),
        ({".": "/x"}, "a.py", "a.py"),
        ({".": "/x"}, "/a", "/a"),
        ({"": "/x"}, "", "/x"),
        ({"": "/x"}, "/a", "/a"),
    ],
)
def test_paths_move_with_their_directory(roots: dict[str, str], path: str, moved: str) -> None:
    """In paths below the recorded directory, a replay writes the live directory instead."""
    assert bound(**roots).live(Place.PATH, path) == moved


@pytest.mark.parametrize(
    ("uri", "moved"),
    [
        ("file:///srv/my%20app/a%20b", "file:///x/y%20z/a%20b"),
        ("file:///srv/my app/c", "file:///x/y%20z/c"),
        ("file:///srv/my%20apple", "file:///srv/my%20apple"),
        ("https://host/srv/my%20app", "https://host/srv/my%20app"),
        ("/srv/my app/c", "/x/y z/c"),
        ("sess_9", "sess_9"),
    ],
)
def test_uris_are_escaped(uri: str, moved: str) -> None:
    """A replay recognizes a directory in a URI, even with escaped characters."""
    bindings = Bindings(roots={"/srv/my app": "/x/y z"})
    assert bindings.live(Place.URI, uri) == moved


@pytest.mark.parametrize(
    ("text", "rewritten"),
    [
        ("see /srv/a/b and /srv/a.", "see /x/b and /x."),
        ("/srv/ab /srv/a-b /my/srv/a", "/srv/ab /srv/a-b /my/srv/a"),
        (r"line\n/srv/a\t(/srv/a)", r"line\n/x\t(/x)"),
        ("/srv", "/srv"),
    ],
)
def test_whole_names_in_texts_are_rewritten(text: str, rewritten: str) -> None:
    """In a text, a replay replaces a directory only if it is a whole name there."""
    assert bound(_srv_a="/x").rewritten(text) == rewritten


def test_a_text_is_rewritten_once() -> None:
    """If `/a` becomes `/b`, and `/b` becomes `/c`, a replay turns `/a` in a text into `/b` only."""
    assert bound(_a="/b", _b="/c").rewritten("/a /b") == "/b /c"
    assert bound(_="/b").rewritten("/ /") == "/ /"
    assert Bindings().rewritten("/a") == "/a"


@pytest.mark.parametrize("root", ["", ".", "..", "src", "src/lib", "C:"])
def test_a_relative_directory_in_a_text_stays(root: str) -> None:
    """In a text, a replay replaces no relative directory, since it may be an ordinary word."""
    text = f"{root} . .. src ./src src/lib C: See src/lib."
    assert Bindings(roots={root: "/x", "/p": "/y"}).rewritten(f"{text} /p") == f"{text} /y"
    assert Bindings(roots={"C:\\p": "/x"}).rewritten(r"C:\\p") == "/x"


def test_each_kind_of_value_is_bound_by_itself() -> None:
    """A replay replaces a terminal id only where a message has a terminal id."""
    bindings = Bindings()
    bindings.bind(Place.TERMINAL, "t", "T")
    bindings.bind(Place.SESSION, "s", "S")
    assert bindings.live(Place.TERMINAL, "t") == "T"
    assert bindings.live(Place.SESSION, "s") == "S"
    assert bindings.live(Place.SESSION, "t") == "t"
    assert bindings.live(Place.PATH, "t") == "t"
    assert bindings.live(Place.FREE, "t") == "t"


def test_equal_values_change_nothing() -> None:
    """If the live values equal the recorded values, a replay changes no line."""
    bindings = bound(_a="/a")
    assert not bindings.change_anything
    bindings.bind(Place.TERMINAL, "t", "u")
    assert bindings.change_anything


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/srv", "/x"),
        ("/srv/a", "/x/a"),
        ("file:///srv/a%20b", "file:///x/a%20b"),
        ("in /srv/a", "in /srv/a"),
        ("/srv2", "/srv2"),
        ("src", "src"),
        ("/", "/"),
    ],
)
def test_any_string_may_be_a_path_below_a_directory(text: str, moved: str) -> None:
    """A replay replaces the directory in a string that is a path or a URI below the directory."""
    assert Bindings(roots={"/srv": "/x", "src": "/y", "/": "/z"}).moved(text) == moved


def test_sessions_are_swapped() -> None:
    """If a replay swaps two sessions, each live id stands for the other recorded id."""
    bindings = Bindings()
    bindings.swap_sessions("a", "b")
    assert [bindings.recorded_session(live) for live in ("a", "b", "c")] == ["b", "a", "c"]
    bindings.swap_sessions("a", "b")
    assert bindings.recorded_session("a") == "a"


def test_a_released_terminal_is_free() -> None:
    """After a terminal was released, a replay can give its recorded id a new live id."""
    bindings = Bindings()
    bindings.bind(Place.TERMINAL, "t", "live")
    assert bindings.live_terminals == {"live"}
    bindings.release("t")
    assert (bindings.live_terminals, bindings.known(Place.TERMINAL, "t")) == (set(), None)
    assert bindings.live(Place.TERMINAL, "t") == "live"
    bindings.bind(Place.TERMINAL, "t", "again")
    assert bindings.known(Place.TERMINAL, "t") == "again"
