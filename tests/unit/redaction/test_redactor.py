"""Tests where masking finds secrets: by name, in later lines, and in split texts."""

from __future__ import annotations

import base64
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_proxy.protocol.jsonrpc import Kind, Stream, read
from acp_proxy.redaction.edits import apply, apply_to_pieces
from acp_proxy.redaction.markers import HIDDEN, MARKER, hidden, strings
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.redaction.text_streams import NotYet
from tests.support.cases import each_case

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUE = "Zq81xplKsecR7tv"
KEY = "sk-ant-" + "api03-" + "x8Gk2LmQ9rT4vW7zB1cD5fH"
TO_AGENT, TO_CLIENT, STDERR = Stream.TO_AGENT, Stream.TO_CLIENT, Stream.STDERR


def redactor(**options: Any) -> Redactor:
    """Returns a redactor that has not masked anything yet."""
    return Redactor(RedactorState("00" * 16), **options)


def message(**members: Any) -> bytes:
    """Returns a line of JSON-RPC."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def new_session(**server: Any) -> bytes:
    """Returns a request for a session with one MCP server."""
    return message(id=1, method="session/new", params={"cwd": "/w", "mcpServers": [server]})


def chunk(text: str, kind: str = "agent_message_chunk", session: str = "s1") -> bytes:
    """Returns a line with a piece of a message."""
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return message(method="session/update", params={"sessionId": session, "update": update})


def text_of(raw: bytes) -> str:
    """Returns the text of the piece in a line."""
    return str(json.loads(raw)["params"]["update"]["content"]["text"])


def masked(used: Redactor, raw: bytes, stream: Stream = TO_CLIENT) -> bytes:
    """Returns a line after masking."""
    return apply(raw, used.line(stream, raw))


def masked_all(used: Redactor, lines: list[bytes]) -> list[bytes]:
    """Returns the lines of a stream after masking."""
    return [
        apply(raw, used.line(TO_CLIENT, raw, partial(iter, lines[n + 1 :])))
        for n, raw in enumerate(lines)
    ]


def knowing(*values: str) -> Redactor:
    """Returns a redactor that knows some secrets from the environment of an MCP server."""
    used = redactor()
    env = [{"name": f"TOKEN_{n}", "value": value} for n, value in enumerate(values)]
    masked(used, new_session(name="x", command="y", args=[], env=env), TO_AGENT)
    return used


@each_case(
    "server",
    [
        {"env": [{"name": "A_TOKEN", "value": VALUE}]},
        {"env": [{"value": VALUE, "name": "A"}]},
        {"transport": {"env": {"A_TOKEN": VALUE}}},
        {"headers": [{"name": "Authorization", "value": f"Bearer {VALUE}"}]},
        {"transport": {"headers": {"X-Api-Key": VALUE}}},
        {"args": ["--token", VALUE]},
        {"args": [f"--token={VALUE}"]},
        {"url": f"https://user:{VALUE}@host/"},
        {"env": [f"A_TOKEN={VALUE}"]},
    ],
)
def test_a_secret_comes_again(server: dict[str, Any]) -> None:
    """Masking replaces a known secret by the same marker everywhere."""
    used = redactor()
    first = masked(used, new_session(**server), TO_AGENT)
    assert VALUE.encode() not in first
    marker = MARKER.search(first.decode())
    assert marker is not None
    assert json.loads(first.replace(marker[0].encode(), VALUE.encode())) == json.loads(
        new_session(**server)
    )
    assert text_of(masked(used, chunk(f"it is {VALUE}!"))) == f"it is {marker[0]}!"
    error = message(id=1, error={"code": 1, "message": f"bad {quote(VALUE)}"})
    assert marker[0].encode() in masked(used, error)
    assert masked(used, f"log: {VALUE} \xff".encode("latin-1"), STDERR) == (
        f"log: {marker[0]} ".encode() + b"\xff"
    )
    code = base64.b64encode(f"user:{VALUE}".encode()).decode()
    assert marker[0] in text_of(masked(used, chunk(code)))
    assert used.command(["a", VALUE]) == ["a", marker[0]]


@pytest.mark.parametrize("value", ["1", "0", "true", "off", "production", "DEBUG", "8080"])
def test_switches_and_words_are_not_secrets(value: str) -> None:
    """In variables and headers of an MCP server, masking keeps values such as `true` and `8080`."""
    env = [{"name": "VERBOSE_MODE", "value": value}]
    line = new_session(name="x", command="y", env=env, headers={"X-Mode": value})
    assert masked(redactor(), line, TO_AGENT) == line


@pytest.mark.parametrize("value", ["/srv/app", "~/app/src", "C:\\app", "."])
def test_a_member_with_a_directory_is_not_a_password(value: str) -> None:
    """Masking does not treat a member `pwd` as a password if its value is a directory."""
    assert masked(redactor(), message(method="x", params={"pwd": value})) == message(
        method="x", params={"pwd": value}
    )
    assert b"hunter22" not in masked(redactor(), message(method="x", params={"pwd": "hunter22"}))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://x.example/mcp/Zq81xplKsecR7tv?k=p7Vb2", "https://x.example/mcp/M?k=M"),
        ("https://x.example/v1/mcp/s/?only-this", "https://x.example/v1/mcp/s/?M"),
        ("https://x.example:80/a?x=Zq8==&y=true#my-part", "https://x.example:80/a?x=M&y=true#M"),
        ("http://localhost:3000/sse", "http://localhost:3000/sse"),
        ("https://me:hunter2x@x.example/${KEY}", "https://me:M@x.example/${KEY}"),
    ],
)
def test_the_address_of_a_server_may_be_its_key(url: str, shown: str) -> None:
    """In the URL of an MCP server, masking replaces keys and keeps plain words."""
    line = masked(redactor(), new_session(type="http", name="x", url=url, headers=[]), TO_AGENT)
    assert MARKER.sub("M", json.loads(line)["params"]["mcpServers"][0]["url"]) == shown


def test_a_key_in_an_address_is_masked_elsewhere() -> None:
    """If the URL of an MCP server contains a key, masking also replaces the key in later lines."""
    used = redactor()
    url = "https://x.example/mcp/Zq81xplKsecR7tv/my-project"
    masked(used, new_session(type="http", name="x", url=url, headers=[]), TO_AGENT)
    raw = text_of(masked(used, chunk("in my-project with Zq81xplKsecR7tv")))
    assert MARKER.sub("M", raw) == "in my-project with M"


def test_a_word_is_a_secret_by_its_name() -> None:
    """If a password is an ordinary word, masking replaces it only in the password's variable."""
    used = redactor()
    env = {"DB_PASSWORD": "swordfish", "USE_TOKEN": "1"}
    line = masked(used, new_session(name="x", env=env), TO_AGENT)
    assert b"swordfish" not in line
    assert b'"USE_TOKEN": "1"' in line
    assert masked(used, chunk("a swordfish")) == chunk("a swordfish")


def test_harmless_variables_stay() -> None:
    """Masking keeps the value of `PATH`, and a value that is a reference, as `${A_TOKEN}`."""
    env = [{"name": "PATH", "value": "/usr/bin:/bin"}, {"name": "A_TOKEN", "value": "${A_TOKEN}"}]
    line = new_session(name="x", command="npx", args=["-y", "@scope/server"], env=env)
    assert masked(redactor(), line, TO_AGENT) == line


@given(st.integers(1, len(VALUE) - 1), st.integers(1, 12), st.sampled_from([VALUE, KEY]))
def test_a_secret_is_cut_into_pieces(start: int, size: int, value: str) -> None:
    """If a secret is split between chunks, masking leaves at most two characters of the secret."""
    text = f"{'x ' * start}{value} and more"
    lines = [chunk(text[n : n + size]) for n in range(0, len(text), size)]
    result = "".join(map(text_of, masked_all(knowing(VALUE), lines)))
    assert MARKER.sub("", result).replace(value[:2], "").count(value[2:]) == 0
    assert len(MARKER.findall(result)) == 1
    assert result.endswith(" and more")


def test_pieces_of_other_texts_come_in_between() -> None:
    """If chunks of two sessions alternate, masking finds a secret that is split in each session."""
    used = knowing(VALUE)
    lines = [
        chunk(VALUE[:6]), chunk(VALUE[:6], session="s2"), chunk("thought", "agent_thought_chunk"),
        chunk(VALUE[6:]), chunk(VALUE[6:], session="s2"),
    ]  # fmt: skip
    texts = [text_of(line) for line in masked_all(used, lines)]
    assert [bool(MARKER.fullmatch(text)) for text in texts] == [True, True, False, False, False]
    assert texts[2:] == ["thought", "", ""]


def test_a_piece_waits_for_the_next() -> None:
    """If a chunk ends with the start of a secret, masking waits for the next chunk."""

    def unknown() -> Iterator[bytes]:
        """Raises `NotYet`, as a reader does at the end of a log that still grows."""
        raise NotYet

    used = knowing(VALUE)
    assert used.line(TO_CLIENT, chunk("harmless end"), unknown) == ()
    before = used.mark()
    with pytest.raises(NotYet):
        used.line(TO_CLIENT, chunk(f"it is {VALUE[:6]}"), unknown)
    used.restore(before)
    lines = [chunk(f"it is {VALUE[:6]}"), chunk(VALUE[6:])]
    assert [MARKER.sub("M", text_of(line)) for line in masked_all(used, lines)] == ["it is M", ""]


def test_output_of_a_terminal_is_pushed_in_pieces() -> None:
    """If a secret is split between two chunks of terminal output in base64, masking finds it."""

    def pushed(text: str) -> bytes:
        data = base64.b64encode(text.encode()).decode()
        update = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": data}
        return message(method="session/update", params={"sessionId": "s", "update": update})

    lines = [pushed("a " + VALUE[:5]), pushed(VALUE[5:] + " b")]
    data = [json.loads(line)["params"]["update"]["data"] for line in
            masked_all(knowing(VALUE), lines)]  # fmt: skip
    text = "".join(base64.b64decode(each).decode() for each in data)
    assert MARKER.sub("M", text) == "a M b"
    draft = [
        message(method="terminal/output", params={"terminalId": "t", "data": part})
        for part in ("a " + VALUE[:5], VALUE[5:] + " b")
    ]
    parts = [json.loads(x)["params"]["data"] for x in masked_all(knowing(VALUE), draft)]
    assert MARKER.sub("M", "".join(parts)) == "a M b"


def test_a_private_key_on_stderr() -> None:
    """Masking replaces the lines of a private key on stderr."""
    used = redactor()
    body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn"
    lines = [b"-----BEGIN RSA PRIVATE KEY-----", body.encode(), b"-----END RSA PRIVATE KEY-----"]
    assert [MARKER.sub("M", masked(used, line, STDERR).decode()) for line in lines] == [
        "-----BEGIN RSA PRIVATE KEY-----", "M", "-----END RSA PRIVATE KEY-----",
    ]  # fmt: skip
    assert masked(used, b"hello", STDERR) == b"hello"


def test_ids_methods_and_names_stay() -> None:
    """Masking leaves ids, methods and names of members unchanged, even if they equal a secret."""
    used = knowing(VALUE)
    line = message(id=VALUE, method=VALUE, params={"sessionId": VALUE, VALUE: 1})
    assert masked(used, line) == line


def test_markers_are_stable() -> None:
    """Masking leaves a line that is already masked unchanged."""
    used = redactor()
    line = new_session(env=[{"name": "A_TOKEN", "value": VALUE}])
    once = masked(used, line, TO_AGENT)
    assert masked(used, once, TO_AGENT) == once
    assert masked(redactor(), once, TO_AGENT) == once
    other = Redactor(RedactorState("11" * 16))
    assert masked(other, line, TO_AGENT) != once


def test_the_next_redactor_knows_the_secrets() -> None:
    """Masking that continues from a stored state masks the secrets that were found before."""
    used = knowing(VALUE)
    expected = masked(used, chunk(VALUE))
    assert masked(Redactor(used.snapshot()), chunk(VALUE)) == expected


@pytest.mark.parametrize("size", [10, 100, 5000])
def test_large_lines_are_masked_in_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large line that is masked in pieces is the same as if it was masked as a whole."""
    monkeypatch.setattr("acp_proxy.redaction.json_strings.WINDOW", 300)
    monkeypatch.setattr("acp_proxy.redaction.json_strings.OVERLAP", 100)
    long = "x " * 400 + VALUE + " y" * 400
    raw = message(id=2, result={"content": long, "env": {"A_TOKEN": "another-S3cret-value"}})
    pieces = [raw[n : n + size] for n in range(0, len(raw), size)]
    edits = knowing(VALUE).large(TO_CLIENT, lambda: pieces)
    result = b"".join(apply_to_pieces(pieces, edits))
    assert result == apply(raw, edits)
    assert VALUE.encode() not in result
    assert b"another" not in result
    assert (
        len(json.loads(result)["result"]["content"])
        == len(long)
        - len(VALUE)
        + len(MARKER.findall(result.decode())[0][0])
        + len("[redacted::]")
        + 8
    )
    tail = b"".join(apply_to_pieces([raw[700:]], edits, 700))
    assert result.endswith(tail[-500:])


@pytest.mark.parametrize(
    "raw",
    [
        b'{"env": {"A": "%s"', b"not json: token=%s", b"{'token': '%s'}", b'[{"token":"%s"}] rest',
        b'{"a": "\\u005a", "b": {"env": ["A_TOKEN=%s"]}}',
    ],
)  # fmt: skip
def test_invalid_lines_are_masked_as_text(raw: bytes) -> None:
    """Masking replaces secrets in invalid JSON."""
    for stream in (TO_CLIENT, STDERR):
        assert VALUE.encode() not in masked(redactor(), raw % VALUE.encode(), stream)


@each_case("flaw", [b"\0", b"\t", rb"\q", rb"\u12", b"\xff"])
@each_case("private", [False, True])
@each_case("before", [b"", rb"\\", b"sp ace"])
def test_an_invalid_line_stays_invalid(flaw: bytes, before: bytes, private: bool) -> None:
    """Masking does not turn an invalid line into valid JSON."""
    value = before + b"q7Zr0v" + flaw + b"Wk2mXs81"
    line = b'{"id":1,"result":{"content":"%b","apiKey":"%b"}}' % (value, value)
    assert read(line).kind is Kind.INVALID
    once = masked(redactor(private=private), line)
    assert b"Wk2mXs81" not in once
    assert read(once).kind is Kind.INVALID
    assert private or masked(redactor(), once) == once


def test_private_text_keeps_its_length() -> None:
    """If private text is masked, the length of the text does not change."""
    used = redactor(private=True)
    assert text_of(masked(used, chunk("Hello, wörld!\nToo"))) == "xxxxxx xxxxxx\nxxx"
    prompt = message(id=3, method="session/prompt", params={
        "sessionId": "s1", "prompt": [{"type": "text", "text": "do it"}]})  # fmt: skip
    assert json.loads(masked(used, prompt, TO_AGENT))["params"] == {
        "sessionId": "s1", "prompt": [{"type": "text", "text": "xx xx"}]}  # fmt: skip


def test_other_places_and_patterns() -> None:
    """Masking replaces values at JSON pointers, and matches of patterns, that a user has chosen."""
    used = redactor(paths=(("params", "update", "title"),), extra=(re.compile(r"ticket (\d+)"),))
    update = {"sessionUpdate": "tool_call", "title": "anything", "x": "see ticket 4711."}
    line = message(method="session/update", params={"sessionId": "s", "update": update})
    shown = json.loads(masked(used, line))["params"]["update"]
    assert MARKER.fullmatch(shown["title"])
    assert MARKER.sub("M", shown["x"]) == "see ticket M."


def test_a_pattern_masks_markers_in_its_matches() -> None:
    """If a match of a user's pattern contains a marker, masking replaces the whole match."""
    used = redactor(extra=(re.compile(r"https://\S+5e7|redacted:key"),))
    for text, shown in (
        ("see https://x.example/?a=[redacted:key:fb0d15e7] now", "see M now"),
        ("[redacted:key:fb0d15e7]", "M"),
    ):
        hidden = text_of(masked(used, chunk(text)))
        assert MARKER.sub("M", hidden) == shown
        assert ("fb0d15e7" in hidden) == (shown == "M")


def test_a_named_place_is_masked_as_a_whole() -> None:
    """If the user named a JSON pointer, masking replaces the whole value there."""
    used = redactor(paths=(("params", "update", "title"),))
    half, whole = "curl -u bob:[redacted:password:fb0d15e7] x", "[redacted:key:fb0d15e7]"
    for title in (half, whole, "$TOKEN"):
        line = message(method="session/update", params={"update": {"title": title}})
        shown = json.loads(masked(used, line))["params"]["update"]["title"]
        assert MARKER.fullmatch(shown)
        assert (shown == title) == (title == whole)


@example(b'[] "token"', TO_CLIENT)
@example(b'{"token": "\xdb\xdbabcdefgh\xdb"}', TO_CLIENT)
@example(b'{"token": "\\ud800abcdefgh"}', STDERR)
@given(st.binary(max_size=200), st.sampled_from([TO_CLIENT, STDERR]))
def test_any_bytes_are_read(raw: bytes, stream: Stream) -> None:
    """For any bytes, the edits of masking do not overlap, and are in the order of the line."""
    edits = knowing(VALUE).line(stream, raw)
    at = 0
    for edit in edits:
        assert at <= edit.start <= edit.end <= len(raw)
        at = edit.end


def test_a_value_stands_before_the_place_that_shows_it() -> None:
    """If the end of a line reveals a secret, masking also replaces it earlier in the line."""
    line = message(
        id=1, method="m", params={"args": [f"first {VALUE}"], "env": {"DEPLOY_KEY": VALUE}}
    )
    assert VALUE.encode() not in masked(redactor(), line)
    words = ["run", f"as:{VALUE}", "--token", VALUE]
    assert VALUE not in " ".join(redactor().command(words))
    text = redactor().text(f"{VALUE}, so --token {VALUE}")
    assert VALUE not in text
    assert len(MARKER.findall(text)) == 2


def test_the_head_of_a_line_that_is_not_held_is_read_whole() -> None:
    """If a large line comes in pieces of one byte, masking still finds its method."""
    line = message(id=1, method="authenticate", params={"_meta": {"code": VALUE}})
    for size in (1, 3, 20):
        pieces = [b" ", *(line[at : at + size] for at in range(0, len(line), size))]
        edits = redactor().large(TO_AGENT, lambda pieces=pieces: pieces)  # type: ignore[misc]
        assert VALUE.encode() not in b"".join(apply_to_pieces(pieces, edits))


def test_a_line_of_stderr_may_be_a_string() -> None:
    """If a line of stderr is a JSON string, masking treats it as text."""
    assert masked(redactor(), b'["a"] "token"', STDERR) == b'["a"] "token"'
    assert VALUE.encode() not in masked(redactor(), b'"--token %s"' % VALUE.encode(), STDERR)


@pytest.mark.parametrize("odd", ["\\ud800", "\\udc80", "\xff"])
def test_a_secret_of_half_characters(odd: str) -> None:
    """If a secret contains half a surrogate pair, masking finds it again in later lines."""
    line = b'{"env":{"DB_KEY":"Zq81x%sKsecR7tv"}}' % odd.encode("latin-1")
    used = redactor()
    assert b"R7tv" not in masked(used, line)
    assert b"R7tv" not in masked(used, line.replace(b"env", b"abc").replace(b"DB_KEY", b"x"))


@each_case("before", range(24, 40))
def test_no_marker_is_masked(before: int) -> None:
    """Masking leaves markers unchanged."""
    lines = [
        chunk("it is [redacted:secret:bea18ce0]" + " so it goes on and on"[: before - 20]),
        chunk(" password=" + "[redacted:password:1b54e34f]"),
        chunk(" and bea18ce0] again, redacted"),
    ]
    used = knowing("redacted")
    assert masked_all(used, lines)[:2] == lines[:2]


def test_a_word_that_is_cut_between_pieces_is_found() -> None:
    """Masking has the same result for a large line, however the line is cut into pieces."""
    raw = message(id=1, result={"text": f"it is {KEY}"})
    for size in (1, 2, 3, 7, 64, 65):
        pieces = [raw[at : at + size] for at in range(0, len(raw), size)]
        used = redactor()
        assert apply(raw, used.large(TO_CLIENT, partial(iter, pieces))) == masked(redactor(), raw)


@pytest.mark.parametrize("text", [f"it is {VALUE}", f"it is {KEY} "])
def test_lines_that_were_searched_together(text: str) -> None:
    """If a secret becomes known after masking searched several lines, it searches them again."""
    used = knowing(VALUE)
    assert used.search_lines(chunk("no") + b"\n" + chunk(text)) is None
    searched = used.search_lines(chunk("no") + b"\n" + chunk("more"))
    assert searched is not None
    assert used.line(TO_CLIENT, chunk("no"), message=read(chunk("no")), searched=searched) == ()
    late = "Hk3-of-another-9Xz"
    masked(used, new_session(env=[{"name": "B_TOKEN", "value": late}]), TO_AGENT)
    raw = chunk(late)
    assert used.line(TO_CLIENT, raw, message=read(raw), searched=searched)


DOCUMENT = {"a": ["one", 2, None], "b": {"c": "three"}, "d": True}


def test_texts_are_hidden() -> None:
    """`hidden` replaces each text in a JSON value by `(hidden)`, but keeps numbers and names."""
    assert hidden(DOCUMENT) == {"a": [HIDDEN, 2, None], "b": {"c": HIDDEN}, "d": True}
    assert hidden(3) == 3


def test_texts_are_found_in_order() -> None:
    """`strings` yields the texts in a JSON value in order, without the names of members."""
    assert [*strings(DOCUMENT)] == ["one", "three"]
    assert [*strings("x")] == ["x"]
    assert [*strings(None)] == []
