"""A recording contains no secret of any known form, however the secret was sent.

Each secret is sent in a message, in the output of a tool and on stderr, whole and in pieces.
SECURITY.md lists the forms that masking cannot recognize.
"""

from __future__ import annotations

import base64
import random
import string
from typing import TYPE_CHECKING, NamedTuple

import pytest

from acp_proxy.record.capture.new_recording import secret_hashes
from acp_proxy.recording.log_format import MARKER_KEY
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALNUM = string.ascii_letters + string.digits
KEY = "00" * 16


class Form(NamedTuple):
    """A secret, and the texts around it that make it recognizable."""

    before: str
    secret: str
    after: str = ""


def forms() -> Iterator[Form]:
    """Yields secrets of all forms, which are generated in each run."""
    chance = random.Random(7)

    def made(length: int = 24, letters: str = ALNUM) -> str:
        return "".join(chance.choices(letters, k=length - 4)) + "x7Qb"

    hexadecimal = "0123456789abcdef"
    for prefix, length in (
        ("sk-ant-api03-", 80), ("sk-proj-", 60), ("ghp_", 36), ("AIza", 35), ("xoxb-", 40),
        ("npm_", 36), ("hf_", 34), ("AQ.Ab8", 40), ("vcp_", 40), ("tvly-dev-", 32), ("csk-", 48),
        ("pa-", 43), ("glpat-", 20), ("gsk_", 52), ("r8_", 37),
    ):  # fmt: skip
        yield Form("", prefix + made(length))
    yield Form("", "AKIA" + "".join(chance.choices("ABCDEFGHJKLMNPQRSTUVWXYZ234567", k=16)))
    yield Form("", "SK" + "".join(chance.choices(hexadecimal, k=32)))
    yield Form("8288467546:", "AA" + made(33))
    coded = base64.b64encode(f"sk-ant-api03-{made(60)}".encode()).decode()
    yield Form("", coded.rstrip("="))
    secret = "".join(chance.choices(hexadecimal, k=64))
    yield Form("SECRET_KEY_BASE='", secret, "'")
    yield Form('{"private_key_id": "', secret[:40], '"}')
    for before, after in (
        ("machine h login u password ", " "), ("mysql -uroot -p", " app"), ("sshpass -p ", " ssh"),
        ("docker login -u me -p ", " ghcr.io"), ("redis-cli -a ", " ping"), ("sqlcmd -P ", " -Q"),
        ("CREATE USER x IDENTIFIED BY '", "';"), ("setx MY_API_KEY ", " "), ("pw=", " "),
        ("Server=db;Uid=sa;Pwd=", ";Encrypt=no"), ("run --password ", " now"),
        ("run --api-key ", " now"), ("GH_PAT=", "\n"), ("ADMIN_PW=", "\n"), ("SALT=", "\n"),
        ("Authorization: Bearer ", "\n"), ("https://me:", "@host/"), ('"secretKeyBase": "', '"'),
    ):  # fmt: skip
        yield Form(before, made(), after)


FORMS = [*forms()]


def say(words: str) -> dict[str, object]:
    """Returns an update with a chunk of the agent's message."""
    return update("s1", "agent_message_chunk", content=text(words))


SIZES = (1, 3, 8, 20)
WAYS = ("output", "content", "stderr", "coloured", "message", "alone", *SIZES)


def show(recorder: LogWriter, form: Form, way: str | int) -> None:
    """Records a secret in one way; if the way is a number, in chunks of this size."""
    whole = "".join(form)
    call = {"toolCallId": "c", "status": "completed"}
    if way == "output":
        recorder.to_client(update("s1", "tool_call_update", **call, rawOutput={"out": whole}))
    elif way == "content":
        content = [{"type": "content", "content": text(f"it says\n{whole}\nas you see")}]
        recorder.to_client(update("s1", "tool_call_update", **call, content=content))
    elif way == "stderr":
        recorder.stderr(f"note: {whole}")
    elif way == "coloured":
        cut = form.secret[:9] + "\x1b[0m\x1b[1m" + form.secret[9:]
        recorder.stderr(f"\x1b[32m{form.before}{cut}{form.after}")
    elif way == "message":
        recorder.to_client(say(f" it is {whole} "))
    elif way == "alone":
        recorder.to_client(*map(say, ("I found it", *filter(None, form), "or not", " then ")))
    elif isinstance(way, int):
        pieces = [whole[at : at + way] for at in range(0, len(whole), way)]
        recorder.to_client(*map(say, ("I found it", *pieces, " it is. ")))


def leaked(path: Path, *secrets: str) -> list[str]:
    """Returns the places that contain eight characters of a secret, from its third character on."""
    pieces = [secret[at : at + 8] for secret in secrets for at in range(2, len(secret) - 7)]
    with RecordingReader(path) as opened:
        shown = b"".join(write_text_form(opened))
    places = {"database": path.read_bytes(), "text": shown}
    return [
        f"{piece} in the {name}: {data[max(0, data.find(piece.encode()) - 80) :][:160]!r}"
        for name, data in places.items()
        for piece in pieces
        if piece.encode() in data
    ]


@pytest.mark.parametrize(
    "way",
    [pytest.param(w, marks=pytest.mark.soak if w in (3, 20) else []) for w in WAYS],
)
def test_a_secret_is_stored_nowhere(tmp_path: Path, way: str | int) -> None:
    """A recorder with masking stores no eight successive characters of a secret."""
    path = tmp_path / "x.db"
    with LogWriter(path, **{"redaction": "secrets", MARKER_KEY: KEY}) as recorder:
        for form in FORMS:
            show(recorder, form, way)
        recorder.end()
        recorder.close()
        recorder.finish()
    assert not recorder.log_path.exists()
    assert leaked(path, *(form.secret for form in FORMS)) == []


PLACES = ("env", "header", "argument", "path", "query", "member", "variable")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("first", "way"), [("shown", 3), ("recognized", "stderr")])
def test_a_secret_by_its_place_is_stored_nowhere(
    tmp_path: Path, place: str, first: str, way: str | int
) -> None:
    """If a value's place in a message makes it secret, a recorder stores the value nowhere."""
    path, secret = tmp_path / "x.db", "Vb7QxL2mRk9TzWp4/Yc8NdHf5"
    if place in ("path", "query"):
        secret = secret.replace("/", "-")
    server = {
        "name": "m", "type": "http", "command": "x",
        "args": ["--token", secret] if place == "argument" else [],
        "env": [{"name": "DEPLOY", "value": secret if place == "env" else "1"}],
        "headers": [{"name": "X-Any", "value": secret if place == "header" else "true"}],
        "url": f"https://x.example/{secret if place == 'path' else 'mcp'}"
        f"?k={secret if place == 'query' else 'plain'}",
    }  # fmt: skip
    own = secret_hashes({"MY_API_TOKEN": secret if place == "variable" else ""}, bytes.fromhex(KEY))
    meta = {"login": {"password": secret if place == "member" else "1"}}
    start = {"redaction": "secrets", MARKER_KEY: KEY, "secret_hash": own, "arg": ["a", secret]}
    with LogWriter(path, **start) as recorder:
        new = request(1, "session/new", cwd="/srv", mcpServers=[server], _meta=meta)
        if first == "recognized":
            recorder.to_agent(new)
        show(recorder, Form("", secret), way)
        recorder.to_agent(request(3, "session/prompt", sessionId="s1", prompt=[text(secret)]))
        if first == "shown":
            recorder.to_agent(new)
        recorder.to_client(result(1, sessionId="s1"))
        recorder.end()
        recorder.close()
        recorder.finish()
    assert leaked(path, secret) == []
