"""Makes conversations with a secret in every place that may hold one, and finds leaks of them.

Each place has a different secret. It is repeated in tool output, in pieces, on stderr, in
errors, encoded, and in a line of 5 MB. All secrets are generated; none is real.
"""

from __future__ import annotations

import base64
import json
import random
import string
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, quote_plus

from ahocorasick_rs import BytesAhoCorasick, Implementation
from attrs import define, field

from tests.support.log_writer import notification, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIECE = 10
"""A text leaks a secret if it contains this many consecutive characters of the secret."""
LARGE = 5 << 20
DIALECTS = ("v1", "v2", "draft-1.0", "unstable")

CLIENT, AGENT, STDERR = "client", "agent", "stderr"


class Step(NamedTuple):
    """One line that the client or the agent writes."""

    side: str
    line: bytes


@define
class Conversation:
    """The lines of a conversation in order, and the secrets in them.

    Attributes:
        secrets: each with the place that makes it a secret.
        command: words that the agent's command ends with.
    """

    dialect: str
    steps: list[Step] = field(factory=list)
    secrets: dict[str, str] = field(factory=dict)
    command: list[str] = field(factory=list)
    _chance: random.Random = field(factory=lambda: random.Random(15))
    _last_id: int = 0

    def client(self, message: Any) -> None:
        """Adds a message of the client."""
        self.steps.append(Step(CLIENT, _line(message)))

    def agent(self, message: Any) -> None:
        """Adds a line of the agent: a message, or a line that is not a message."""
        self.steps.append(Step(AGENT, message if isinstance(message, bytes) else _line(message)))

    def stderr(self, words: str) -> None:
        """Adds a line that the agent writes on stderr."""
        self.steps.append(Step(STDERR, words.encode() + b"\n"))

    def new_id(self) -> int:
        """Returns the id of the next request."""
        self._last_id += 1
        return self._last_id

    def ask(self, asked: str, answer: Any = None, /, **params: Any) -> None:
        """Adds a request of the client and its answer."""
        number = self.new_id()
        self.client(_request(number, asked, params))
        self.agent(_result(number, answer))

    def asked(self, asked: str, answer: Any = None, /, **params: Any) -> None:
        """Adds a request of the agent and its answer."""
        number = self.new_id()
        self.agent(_request(number, asked, params))
        self.client(_result(number, answer))

    def update(self, session: str = "s1", **fields: Any) -> None:
        """Adds a session update of the agent."""
        if self.dialect == "draft-1.0":
            kind = fields.pop("sessionUpdate")
            self.agent(notification("session/update", sessionId=session, type=kind, data=fields))
        else:
            self.agent(notification("session/update", sessionId=session, update=fields))

    def secret(self, place: str, *, without: str = "") -> str:
        """Returns a new secret, in a different form than the previous one.

        Args:
            place: where the secret will stand.
            without: characters that the secret must not contain.
        """
        made = _FORMS[len(self.secrets) % len(_FORMS)](self._chance)
        made = made.translate({ord(c): "Z" for c in without})
        self.secrets[made] = place
        return made


def _random(chance: random.Random, alphabet: str, length: int) -> str:
    return "".join(chance.choices(alphabet, k=length - 4)) + "x7Qb"


_ALNUM = string.ascii_letters + string.digits
_FORMS = (
    lambda chance: _random(chance, _ALNUM, 24),
    lambda chance: _random(chance, _ALNUM + "+/", 40) + "==",
    lambda chance: _random(chance, string.hexdigits[:16], 32),
    lambda chance: _random(chance, _ALNUM + "-_", 43),
    lambda chance: "ghp_" + _random(chance, _ALNUM, 36),
    lambda chance: _random(chance, _ALNUM + "!$%^*~", 20),
    lambda chance: _random(chance, _ALNUM + "äöß日", 20),
)


def _request(number: int, method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _result(number: int, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": value or {}}


def _error(number: int, message: str, data: Any) -> dict[str, Any]:
    body = {"code": -32603, "message": message, "data": data}
    return {"jsonrpc": "2.0", "id": number, "error": body}


def _line(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


# Where a secret is one by its place


def conversation(
    dialect: str,
    *,
    every_cut: bool = False,
    large: int = LARGE,
    hidden: int | None = None,
    early: bool = False,
) -> Conversation:
    """Makes a conversation in a dialect: a secret at each place, and each secret hidden again.

    Args:
        dialect: one of `DIALECTS`; ``unstable`` is version 1 with its unstable methods.
        every_cut: whether each secret is cut once at each of its characters.
        large: bytes of the large line; 0 for none.
        hidden: how many of the secrets are repeated in other places; all by default.
        early: whether some of them are shown before the place that makes them secrets, too.
    """
    made = Conversation(dialect)
    made.command = ["--api-key", made.secret("argv"), f"--token={made.secret('argv =')}"]
    _MADE[dialect](made)
    _any_message(made)
    again = [*made.secrets]
    step = 1 if hidden is None else max(1, len(again) // hidden)
    for number, secret in enumerate(again[::step]):
        hide(made, secret, number, every_cut=every_cut)
    if early:
        end = len(made.steps)
        for number, secret in enumerate(again[:: 4 * step]):
            hide(made, secret, number)
        made.steps[_INITIALIZED:] = made.steps[end:] + made.steps[_INITIALIZED:end]
    if large:
        _hide_in_large_line(made, large)
    made.ask("session/prompt", {"stopReason": "end_turn"}, sessionId="s1", prompt=[text("bye")])
    return made


def _v1(made: Conversation) -> None:
    env = made.secret("initialize authMethods env")
    args = made.secret("initialize authMethods args")
    meta = made.secret("initialize authMethods _meta")
    old = {"command": "x", "args": ["login"], "env": {"SIGN_IN_CODE": meta}}
    method = {
        "id": "t", "name": "T", "type": "terminal", "env": {"LOGIN": env},
        "args": ["--token", args], "_meta": {"terminal-auth": old},
    }  # fmt: skip
    variables = {"id": "v", "name": "V", "type": "env_var", "vars": [{"name": "PLAIN_WORD"}]}
    made.ask(
        "initialize", {"protocolVersion": 1, "authMethods": [method, variables]}, protocolVersion=1
    )
    for sign_in in ("authenticate", "auth/login"):
        codes = {"one": made.secret(f"{sign_in} _meta"), "two": {"three": [made.secret(sign_in)]}}
        made.ask(sign_in, {}, methodId="t", _meta=codes)
    for each in ("session/new", "session/load", "session/resume", "session/fork"):
        made.ask(each, {"sessionId": "s1"}, cwd="/srv/app", mcpServers=_servers(made, each))
    made.asked(
        "terminal/create",
        {"terminalId": "t1"},
        sessionId="s1",
        command=f"curl -H 'Authorization: Bearer {made.secret('terminal/create command')}' x",
        args=["--password", made.secret("terminal/create args")],
        env=[
            {"name": "PLAIN_WORD", "value": made.secret("terminal/create env")},
            {"value": made.secret("terminal/create env turned"), "name": "GITHUB_TOKEN"},
        ],
    )
    answers = {"apiKey": made.secret("elicitation content"), "colour": "blue"}
    made.asked(
        "elicitation/create",
        {"action": "accept", "content": answers},
        sessionId="s1",
        mode="url",
        url=f"https://example.com/once?code={made.secret('elicitation url')}",
    )


def _servers(made: Conversation, method: str) -> list[dict[str, Any]]:
    password = made.secret(f"{method} url", without=_NOT_IN_URLS)
    key = quote(made.secret(f"{method} url query"), safe="")
    headers = [
        {"name": "Authorization", "value": f"Bearer {made.secret(f'{method} Authorization')}"},
        {"name": "X-API-Key", "value": made.secret(f"{method} X-API-Key")},
        {"name": "Cookie", "value": f"sid={made.secret(f'{method} Cookie').rstrip('=')}; a=b"},
    ]
    return [
        {
            "name": "m", "command": "x",
            "args": [f"--token={made.secret(f'{method} args =')}", "--api-key",
                     made.secret(f"{method} args")],
            "env": [{"name": "DEPLOY", "value": made.secret(f"{method} env")}],
        },
        {"type": "http", "name": "h", "headers": headers,
         "url": f"https://someone:{password}@example.com/mcp?api_key={key}"},
    ]  # fmt: skip


_NOT_IN_URLS = "/?#@:% äöß日^"


def _v2(made: Conversation) -> None:
    _v1(made)


def _unstable(made: Conversation) -> None:
    _v1(made)
    password = made.secret("providers/set baseUrl", without=_NOT_IN_URLS)
    headers = {
        "authorization": f"Bearer {made.secret('providers/set authorization')}",
        "x-custom": made.secret("providers/set headers"),
    }
    base = f"https://u:{password}@models.example.com/v1"
    made.ask("providers/set", {}, id="p", baseUrl=base, headers=headers)
    other = made.secret("providers/list baseUrl", without=_NOT_IN_URLS)
    current = {"baseUrl": f"https://models.example.com/v1?access_token={other}"}
    made.ask("providers/list", {"providers": [{"id": "p", "current": current}]})
    inner = {"name": "call", "arguments": {"client_secret": made.secret("mcp/message")}}
    made.asked("mcp/message", {}, connectionId="c1", method="tools/call", params=inner)


def _draft(made: Conversation) -> None:
    made.ask("initialize", {"protocolVersion": "1.0"}, protocolVersion="1.0")
    codes = {
        "apiKey": made.secret("credentials apiKey"),
        "oauth": {"value": made.secret("credentials oauth")},
        "custom": [made.secret("credentials custom")],
    }
    reason = f"refused: api_key={made.secret('authenticate error')}"
    made.ask("authenticate", {"success": False, "error": reason}, method="x", credentials=codes)
    password = made.secret("transport url", without=_NOT_IN_URLS)
    servers = [
        {"name": "m", "transport": {
            "type": "stdio", "command": "x", "env": {"DEPLOY": made.secret("transport env")},
            "args": ["--token", made.secret("transport args")]}},
        {"name": "h", "transport": {
            "type": "http", "headers": {"Authorization": made.secret("transport headers")},
            "url": f"https://u:{password}@example.com/"}},
    ]  # fmt: skip
    made.ask("session/new", {"sessionId": "s1"}, mcpServers=servers)
    made.asked(
        "terminal/create",
        {"terminalId": "t1"},
        sessionId="s1",
        command="x",
        args=[f"--client-secret={made.secret('draft terminal/create args')}"],
        env={"SOME": made.secret("draft terminal/create env")},
    )
    inner = {"name": "call", "arguments": {"password": made.secret("_mcp/request")}}
    made.asked("_mcp/request", {}, connectionId="c1", mcpMethod="tools/call", mcpParams=inner)


def _any_message(made: Conversation) -> None:
    """Adds the places that any message may have: proxy chains, ``_meta``, errors, object keys."""
    env = [{"name": "INNER", "value": made.secret("successor env")}]
    server = {"name": "m", "command": "x", "args": [], "env": env}
    inner = {"cwd": "/srv/app", "mcpServers": [server]}
    for method in ("_proxy/successor", "proxy/successor"):
        made.ask(method, {"sessionId": "s9"}, method="session/new", params=inner)
    codes = {"x-api-key": made.secret("_meta key"), "traceId": "4711"}
    codes["baggage"] = f"userToken={made.secret('_meta baggage')},userId=alice"
    made.update(sessionUpdate="plan", entries=[], _meta=codes)
    number = made.new_id()
    made.client(_request(number, "session/prompt", {"sessionId": "s1", "prompt": [text("go")]}))
    data = {"request": {"accessToken": made.secret("error data")}}
    said = f"401 for api_key={made.secret('error message')}"
    made.agent(_error(number, said, data))
    batch = [
        notification("_x/note", settings={"password": made.secret("batch")}),
        notification("_x/note", headers={"X-Any": made.secret("batch headers")}),
    ]
    made.agent(batch)


_INITIALIZED = 2
"""The number of steps after which the dialect is known."""
_MADE = {"v1": _v1, "v2": _v2, "draft-1.0": _draft, "unstable": _unstable}


# Where it comes again


def hide(made: Conversation, secret: str, number: int, *, every_cut: bool = False) -> None:
    """Repeats a secret in tool output, in pieces, on stderr, in an error, and encoded.

    Args:
        made: the conversation that the lines are added to.
        secret: the secret.
        number: the number of the secret, which selects how and where it is cut.
        every_cut: whether it is cut once at each of its characters.
    """
    _tool_output(made, f"result: {secret}\nmore", number)
    if every_cut:
        for cut in range(1, len(secret)):
            pieces(made, [secret[:cut], secret[cut:]], number + cut)
    sizes = (len(secret) // 2, 1, len(secret) - 1, 2, 3, 9, len(secret) - 2)
    cut = sizes[number % len(sizes)]
    pieces(made, [secret[:cut], secret[cut:]], number)
    size = (1, 2, 3, 5)[number % 4]
    tiny = [secret[at : at + size] for at in range(0, len(secret), size)]
    pieces(made, tiny, number // 2)
    made.stderr(f"WARN cannot sign in with {secret}, trying again")
    asked = made.new_id()
    prompt = {"sessionId": "s1", "prompt": [text(f"n {number}")]}
    made.client(_request(asked, "session/prompt", prompt))
    made.agent(_error(asked, f"{secret} was refused", {"detail": f"<{secret}>"}))
    made.agent(f"no JSON: {secret}\n".encode())
    for n, code in enumerate(encoded(secret)):
        _tool_output(made, f"call {code} done", number + n)


def encoded(secret: str) -> Iterator[str]:
    """Yields the forms of a secret in URLs, in headers and in logs."""
    data = secret.encode()
    percent = quote(secret, safe="")
    yield from dict.fromkeys((percent, quote_plus(secret), _lower(percent)))
    for whole in (data, b"u:" + data, b"me:" + data + b"\n", b"user:" + data, b"x" * 40 + data):
        yield base64.b64encode(whole).decode()
        yield base64.urlsafe_b64encode(whole).decode().rstrip("=")
    yield json.dumps({"v": json.dumps({"inner": secret})})


def _lower(percent: str) -> str:
    parts = percent.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


def _tool_output(made: Conversation, words: str, number: int) -> None:
    how = number % 4
    tool = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}
    if how == 0:
        made.update(**tool, content=[{"type": "content", "content": text(words)}])
    elif how == 1:
        made.update(**tool, rawOutput={"stdout": words})
    elif how == 2:
        made.asked("fs/read_text_file", {"content": words}, sessionId="s1", path="/srv/app/x")
    else:
        made.asked("terminal/output", {"output": words, "truncated": False}, terminalId="t1")


def pieces(made: Conversation, parts: Iterable[str], number: int) -> None:
    """Adds a text in pieces, each in a separate line.

    Args:
        made: the conversation that the lines are added to.
        parts: the pieces of the text.
        number: selects which kind of message has the pieces.
    """
    kinds = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk")
    parts = ["so ", *parts, " is it"]
    for n, part in enumerate(parts):
        match number % 5:
            case 0 | 1 | 2 as which:
                content: Any = part if made.dialect == "draft-1.0" else text(part)
                made.update(sessionUpdate=kinds[which], content=content)
            case 3:
                data = base64.b64encode(part.encode()).decode()
                fields = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t1"}
                update = {**fields, "data": data}
                made.agent(notification("session/update", sessionId="s1", update=update))
            case _:
                made.agent(notification("terminal/output", terminalId="t1", data=part))
        if n == 1 and number % 2:  # something else comes between
            made.update(sessionUpdate="tool_call_update", toolCallId="c2", status="pending")


def _hide_in_large_line(made: Conversation, size: int) -> None:
    """Adds a line of megabytes with a secret across each position where a reader may cut it."""
    room = max(1, size // (len(made.secrets) + 1))
    words = "".join(secret + " lorem ipsum" * (room // 12) for secret in made.secrets)
    _tool_output(made, words, 0)
    update = {"sessionUpdate": "agent_message_chunk", "content": text(words[::-1][:99] + words)}
    if made.dialect != "draft-1.0":
        made.agent(notification("session/update", sessionId="s1", update=update))


# What must not be seen


class Leaks:
    """Finds secrets, their encoded forms, and pieces of them in text.

    Args:
        secrets: each with a name.
    """

    def __init__(self, secrets: dict[str, str]) -> None:
        self._names: dict[bytes, str] = {}
        for secret, name in secrets.items():
            for form, core in _forms(secret):
                data = core.encode()
                for at in range(max(1, len(data) - PIECE + 1)):
                    piece = data[at : at + PIECE]
                    self._names.setdefault(piece, f"{name}, {form}: {secret}")
        self._pieces = [*self._names]
        self._find = BytesAhoCorasick(self._pieces, implementation=Implementation.ContiguousNFA)

    def leaks_in(self, data: bytes) -> list[str]:
        """Returns the names of leaked secrets, each with the text around it."""
        results: dict[str, str] = {}
        for number, start, end in self._find.find_matches_as_indexes(data):
            around = data[max(0, start - 60) : end + 40].decode("utf-8", "replace")
            results.setdefault(self._names[self._pieces[number]], around)
        return [f"{name} in {around!r}" for name, around in results.items()]


def _forms(secret: str) -> Iterator[tuple[str, str]]:
    """Yields forms of a secret, without the characters that depend on the surrounding text."""
    yield "plain", secret
    yield "escaped", json.dumps(secret)[1:-1]
    percent = quote(secret, safe="")
    yield "percent", percent
    yield "percent", _lower(percent)
    data = secret.encode()
    for shift in range(3):
        code = base64.b64encode(b"\0" * shift + data)
        core = code[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6].decode()
        yield f"base64 {shift}", core
        yield f"base64 {shift}", core.translate(str.maketrans("+/", "-_"))
