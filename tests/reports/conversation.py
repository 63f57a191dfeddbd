"""Writes a conversation down as a recorder would have: lines in text form, with times.

A conversation is deterministic: its ids and times come from a generator that its name seeds.
"""

from __future__ import annotations

import datetime
import json
import random
import uuid
from typing import Any, Literal, NamedTuple

Json = dict[str, Any]
Id = int | str
Stream = Literal["to-agent", "to-client"]

FILES: Json = {"fs": {"readTextFile": True, "writeTextFile": True}}
RUST = "jsonrpc method params result error id"
LOADS = {"loadSession": True, "promptCapabilities": {"image": True, "embeddedContext": True}}
EVERYTHING: Json = {**FILES, "terminal": True}
OPTIONS: list[Json] = [
    {"optionId": "allow_always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Asked(NamedTuple):
    """A request that was written: its line's number, its id, and where its answer goes."""

    seq: int
    id: Id
    back: Stream


class Ids:
    """Numbers the requests of one side."""

    def __init__(self, kind: str, chance: random.Random) -> None:
        self._kind = kind
        self._chance = chance
        self._next = 0 if kind == "from 0" else 1

    def take(self) -> Id:
        """The id of the next request."""
        if self._kind == "uuids":
            return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        self._next += 1
        return str(self._next - 1) if self._kind == "texts" else self._next - 1


class Conversation:
    """One connection. Every method that writes a line gives the line's number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.chance = random.Random(name)
        self.lines: list[str] = []
        self.seq = 0
        self.client_capabilities: Json = {}
        self.cwd = "/srv/shop"
        self._styles: dict[str, str] = {}
        self._orders: dict[str, tuple[str, ...]] = {}
        self._ids: dict[Stream, Ids] = {}
        self._peers: dict[str, Json] = {}

    # the connection

    def start(
        self,
        command: str,
        started: str,
        *,
        client: tuple[str, str] = ("zed", "0.221.4"),
        agent: tuple[str, str] | None = None,
        client_ids: str = "from 0",
        agent_ids: str = "from 0",
        client_order: str = "jsonrpc id method params",
        agent_order: str = "jsonrpc id method params",
        client_style: str = "compact",
        agent_style: str = "compact",
        cwd: str = "/srv/shop",
    ) -> None:
        """Writes the header and the event of the start."""
        self.cwd = cwd
        self._ids = {
            "to-agent": Ids(client_ids, self.chance),
            "to-client": Ids(agent_ids, self.chance),
        }
        self._orders = {
            "to-agent": (*client_order.split(), "result", "error"),
            "to-client": (*agent_order.split(), "result", "error"),
        }
        self._styles = {"to-agent": client_style, "to-client": agent_style}
        self._peers = {"client": {"name": client[0], "version": client[1]}}
        if agent:
            self._peers["agent"] = {"name": agent[0], "version": agent[1]}
        key = f"{self.chance.getrandbits(48):012x}"
        begin = datetime.datetime.fromisoformat(started).replace(
            microsecond=self.chance.randrange(1_000_000), tzinfo=datetime.UTC
        )
        wall = (begin - _EPOCH) // datetime.timedelta(microseconds=1) * 1000
        header = {
            "id": key,
            "name": self.name,
            "tool_version": "0.1.0",
            "started_at": begin.isoformat(timespec="microseconds"),
            "state": "complete",
            "command": command.split(),
            "cwd": cwd,
        }
        self.lines.append(_dump({"acp_proxy": 1, "recording": header}))
        origin = self.chance.randrange(10**12, 9 * 10**14)
        data = {"id": key, "wall": str(wall), "origin": origin, "command": command.split()}
        self._write({"event": "start", "data": data}, 0.2)

    def initialize(
        self,
        can: Json | None = None,
        agent_can: Json | None = None,
        *,
        version: Any = 1,
        auth: list[Json] | None = None,
    ) -> tuple[Asked, int]:
        """The first request and its answer."""
        asked = self.ask_initialize(can, version=version)
        result: Json = {"protocolVersion": 1, "agentCapabilities": agent_can or {}}
        result["authMethods"] = auth or []
        if "agent" in self._peers:
            result["agentInfo"] = self._peers["agent"]
        return asked, self.answer(asked, result, self.chance.uniform(300, 3500))

    def ask_initialize(self, can: Json | None = None, *, version: Any = 1) -> Asked:
        """The first request alone."""
        self.client_capabilities = can or {}
        params: Json = {"protocolVersion": version, "clientCapabilities": self.client_capabilities}
        params["clientInfo"] = self._peers["client"]
        return self.ask("initialize", params, self.chance.uniform(2, 12))

    def open(self, cwd: str | None = None, *, sid: str | None = None, **result: Any) -> str:
        """A new session: its id."""
        asked = self.ask("session/new", {"cwd": cwd or self.cwd, "mcpServers": []})
        sid = sid or self.uuid()
        self.answer(asked, {"sessionId": sid, **result}, self.chance.uniform(40, 900))
        return sid

    # lines

    def message(self, stream: Stream, message: Any, after: float | None = None) -> int:
        """A line that is JSON."""
        record: Json = {"stream": stream}
        style = self._styles.get(stream, "compact")
        if style != "compact":
            record["style"] = style
        record["message"] = message
        return self._write(record, after)

    def text(
        self, stream: str, text: str, after: float | None = None, newline: str | None = None
    ) -> int:
        """A line as it is."""
        record: Json = {"stream": stream}
        if newline is not None:
            record["newline"] = newline
        return self._write({**record, "text": text}, after)

    def stderr(self, text: str, after: float | None = None) -> int:
        """A line of the agent's log."""
        return self.text("stderr", text, after)

    def request(
        self,
        stream: Stream,
        method: str,
        params: Any,
        after: float | None = None,
        number: Id | None = None,
    ) -> Asked:
        """A request of either side."""
        own = self._ids[stream].take() if number is None else number
        message = {"jsonrpc": "2.0", "id": own, "method": method, "params": params}
        seq = self.message(stream, self._ordered(stream, message), after)
        return Asked(seq, own, "to-client" if stream == "to-agent" else "to-agent")

    def ask(self, method: str, params: Any, after: float | None = None) -> Asked:
        """A request of the client."""
        return self.request("to-agent", method, params, after)

    def need(self, method: str, params: Any, after: float | None = None) -> Asked:
        """A request of the agent."""
        return self.request("to-client", method, params, after)

    def answer(self, asked: Asked, result: Any, after: float | None = None) -> int:
        """The result of a request."""
        message = {"jsonrpc": "2.0", "id": asked.id, "result": result}
        return self.message(asked.back, self._ordered(asked.back, message), after)

    def refuse(
        self, asked: Asked, code: int, text: str, data: Any = None, after: float | None = None
    ) -> int:
        """The error that answers a request."""
        error: Json = {"code": code, "message": text}
        if data is not None:
            error["data"] = data
        message = {"jsonrpc": "2.0", "id": asked.id, "error": error}
        return self.message(asked.back, self._ordered(asked.back, message), after)

    def notify(self, method: str, params: Any, after: float | None = None) -> int:
        """A notification of the agent."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return self.message("to-client", message, after)

    def tell(self, method: str, params: Any, after: float | None = None) -> int:
        """A notification of the client."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return self.message("to-agent", message, after)

    def cancel(self, session: str, after: float | None = None) -> int:
        """The client stops a turn."""
        return self.tell("session/cancel", {"sessionId": session}, after)

    def update(self, session: str, kind: str, /, after: float | None = None, **fields: Any) -> int:
        """A session update."""
        update = {"sessionUpdate": kind, **fields}
        return self.notify("session/update", {"sessionId": session, "update": update}, after)

    # what is said in a turn

    def prompt(self, session: str, text: Any, after: float | None = None) -> Asked:
        """The client asks the session something."""
        blocks = [{"type": "text", "text": text}] if isinstance(text, str) else text
        wait = self.chance.uniform(1500, 9000) if after is None else after
        return self.ask("session/prompt", {"sessionId": session, "prompt": blocks}, wait)

    def stop(self, asked: Asked, reason: str = "end_turn", after: float | None = None) -> int:
        """The turn ends."""
        return self.answer(asked, {"stopReason": reason}, after)

    def stream(self, session: str, text: str, kind: str = "agent_message_chunk") -> int:
        """Text in pieces, as a model writes it."""
        words = text.split(" ")
        wait = self.chance.uniform(700, 2600)
        while words:
            size = self.chance.randint(1, 5)
            piece = " ".join(words[:size])
            words = words[size:]
            block = {"type": "text", "text": piece + (" " if words else "")}
            self.update(session, kind, wait, content=block)
            wait = self.chance.uniform(8, 90)
        return self.seq

    def think(self, session: str, text: str) -> int:
        """A thought in pieces."""
        return self.stream(session, text, "agent_thought_chunk")

    def turn(self, session: str, text: str, said: str, thought: str | None = None) -> int:
        """A turn that is only talk."""
        asked = self.prompt(session, text)
        if thought:
            self.think(session, thought)
        self.stream(session, said)
        return self.stop(asked)

    def call(
        self, session: str, title: str, kind: str, status: str = "pending", **fields: Any
    ) -> str:
        """A tool call that begins: its id."""
        number = "toolu_" + "".join(self.chance.choices("abcdefghkmnpqrstuvwxyzABCDEFGH2345", k=20))
        fields = {"toolCallId": number, "title": title, "kind": kind, "status": status, **fields}
        self.update(session, "tool_call", self.chance.uniform(300, 1500), **fields)
        return number

    def progress(
        self, session: str, number: str, status: str, after: float | None = None, **fields: Any
    ) -> int:
        """The status of a tool call."""
        fields = {"toolCallId": number, "status": status, **fields}
        return self.update(session, "tool_call_update", after, **fields)

    def read(self, session: str, path: str, content: str) -> int:
        """A tool call that reads a file, through the client where it can."""
        where = [{"path": path}]
        number = self.call(session, f"Read {path}", "read", "in_progress", locations=where)
        if self.client_capabilities.get("fs", {}).get("readTextFile"):
            asked = self.need("fs/read_text_file", {"sessionId": session, "path": path})
            self.answer(asked, {"content": content}, self.chance.uniform(1, 9))
        return self.progress(session, number, "completed", content=said(content))

    def permit(
        self, session: str, number: str, options: list[Json] | None = None, **call: Any
    ) -> Asked:
        """The agent asks for permission."""
        params = {
            "sessionId": session,
            "toolCall": {"toolCallId": number, **call},
            "options": options or OPTIONS,
        }
        return self.need("session/request_permission", params, self.chance.uniform(2, 30))

    def choose(self, asked: Asked, option: str = "allow", after: float | None = None) -> int:
        """The user's choice."""
        wait = self.chance.uniform(1400, 9000) if after is None else after
        return self.answer(asked, {"outcome": {"outcome": "selected", "optionId": option}}, wait)

    def edit(self, session: str, path: str, old: str | None, new: str) -> int:
        """A tool call that edits a file, with permission."""
        change = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
        where = [{"path": path}]
        number = self.call(session, f"Edit {path}", "edit", content=change, locations=where)
        self.choose(self.permit(session, number, title=f"Edit {path}", kind="edit"))
        self.progress(session, number, "in_progress")
        if self.client_capabilities.get("fs", {}).get("writeTextFile"):
            params = {"sessionId": session, "path": path, "content": new}
            self.answer(self.need("fs/write_text_file", params), {}, self.chance.uniform(1, 9))
        return self.progress(session, number, "completed")

    def shell(self, session: str, command: str, output: str, code: int = 0) -> int:
        """A tool call that runs a command, in a terminal of the client where it can."""
        number = self.call(session, f"`{command}`", "execute", rawInput={"command": command})
        if not self.client_capabilities.get("terminal"):
            self.progress(session, number, "in_progress")
            wait = self.chance.uniform(80, 2500)
            return self.progress(session, number, "completed", wait, content=said(output))
        terminal = self.terminal(session, command)
        content = [{"type": "terminal", "terminalId": terminal}]
        self.progress(session, number, "in_progress", content=content)
        self.finish(session, terminal, output, code)
        self.answer(self.need("terminal/release", at(session, terminal)), {})
        return self.progress(session, number, "completed" if code == 0 else "failed")

    def terminal(self, session: str, command: str) -> str:
        """A terminal of the client: its id."""
        name, *arguments = command.split()
        params = {"sessionId": session, "command": name, "args": arguments, "cwd": self.cwd}
        asked = self.need("terminal/create", params)
        number = f"term-{self.chance.getrandbits(32):08x}"
        self.answer(asked, {"terminalId": number}, self.chance.uniform(3, 20))
        return number

    def finish(self, session: str, terminal: str, output: str, code: int = 0) -> int:
        """Waits for a terminal's end and reads its output."""
        asked = self.need("terminal/wait_for_exit", at(session, terminal))
        self.answer(asked, {"exitCode": code, "signal": None}, self.chance.uniform(80, 4000))
        status = {"exitCode": code, "signal": None}
        result = {"output": output, "truncated": False, "exitStatus": status}
        return self.answer(self.need("terminal/output", at(session, terminal)), result)

    def commands(self, session: str, *names: str, after: float | None = None) -> int:
        """The slash commands."""
        listed = [{"name": name, "description": f"Runs {name}", "input": None} for name in names]
        return self.update(session, "available_commands_update", after, availableCommands=listed)

    # the end

    def eof(self, stream: str, after: float) -> int:
        """A stream ends."""
        data = {"stream": stream, "reason": "end of file"}
        return self._write({"event": "eof", "data": data}, after)

    def leave(self, after: float | None = None) -> list[int]:
        """The client closes its end, and the agent exits: the numbers of the events."""
        first = self.eof("to-agent", self.chance.uniform(900, 6000) if after is None else after)
        self.eof("stderr", self.chance.uniform(90, 400))
        last = self.eof("to-client", 0.6)
        return [first, last, self.exit(code=0)]

    def stay(self) -> list[int]:
        """The client closes its end, and the agent has to be stopped."""
        first = self.eof("to-agent", self.chance.uniform(900, 6000))
        data = {
            "signal": 15,
            "action": "sent",
            "reason": "its client left 5 s ago and no request is open",
            "name": "SIGTERM",
        }
        self._write({"event": "signal", "data": data}, 5001.2)
        self.eof("stderr", 11.8)
        last = self.eof("to-client", 0.9)
        return [first, last, self.exit(signal=15, name="SIGTERM")]

    def die(self, after: float, **how: Any) -> list[int]:
        """The agent ends by itself."""
        self.eof("stderr", after)
        first = self.eof("to-client", 0.4)
        last = self.exit(**how)
        return [first, last, self.eof("to-agent", 1.1)]

    def exit(self, **how: Any) -> int:
        """The agent is gone."""
        return self._write({"event": "exit", "data": how}, self.chance.uniform(0.3, 3))

    def uuid(self) -> str:
        """An id."""
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def _ordered(self, stream: Stream, message: Json) -> Json:
        order = self._orders[stream]
        return {key: message[key] for key in sorted(message, key=order.index)}

    def _write(self, record: Json, after: float | None) -> int:
        wait = self.chance.uniform(0.4, 14) if after is None else after
        self.seq += 1
        self.lines.append(_dump({"after_ms": round(wait, 6), **record} if wait else record))
        return self.seq


def modes(*names: str) -> Json:
    """The modes of a session, the first of them current."""
    listed = [{"id": name, "name": name.capitalize()} for name in names]
    return {"currentModeId": names[0], "availableModes": listed}


def said(text: str) -> list[Json]:
    """The content of a tool call that is text."""
    return [{"type": "content", "content": {"type": "text", "text": text}}]


def at(session: str, terminal: str) -> Json:
    """The parameters of what is asked of a terminal."""
    return {"sessionId": session, "terminalId": terminal}


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
