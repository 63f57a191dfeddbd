"""The agent of `recordings/` without the SDK, which starts in a few hundredths of a second.

For the recordings in ``recordings/``, it sends the same bytes as `tests.agents.sdk_agent`; a test
compares these bytes with the recordings. The agent has only the features that the recordings need.
It imports only the standard library, so ``python -S -m tests.agents.plain_agent`` can run it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAMPLE_NAME = "greeting.txt"
"""The file in the session's directory that the scenarios ``edit`` and ``run`` work on."""

SAMPLE_TEXT = "Hello, world!\nHej! 你好! 😀\n"

MODES = [
    {"id": "ask", "name": "Ask", "description": "Asks before it edits"},
    {"id": "code", "name": "Code", "description": "Edits without asking"},
]

OPTIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]

CODES = {"Method not found": -32601, "Invalid params": -32602, "Internal error": -32603}


class RefusedError(Exception):
    """Raised to answer a request with an error; the arguments are its message and its data."""


@dataclass
class Session:
    """One session of the agent."""

    id: str
    cwd: str
    mode: str = "ask"
    calls: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    """The updates that ``session/load`` sends again."""
    is_cancelled: bool = False

    @property
    def modes(self) -> dict[str, Any]:
        """Returns the modes, as the answers to two requests list them."""
        return {"currentModeId": self.mode, "availableModes": MODES}


class Agent:
    """Serves one client; subclasses change its answers.

    Args:
        lines: the lines that the client sends.
        out: the stream for the agent's messages.
    """

    def __init__(self, lines: Iterator[bytes], out: BinaryIO) -> None:
        self._lines, self._out = lines, out
        self._sessions: dict[str, Session] = {}
        self._asked = 0
        self._answers: dict[int, Any] = {}
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "initialize": self.initialize,
            "session/new": self.new_session,
            "session/load": self.load_session,
            "session/set_mode": self.set_mode,
            "session/prompt": self.prompt,
            "_demo/echo": lambda params: {"echo": params},
        }
        self._scenarios: dict[str, Callable[[Session], str]] = {
            "hello": self.hello,
            "edit": self.edit,
            "run": self.run,
            "slow": self.slow,
            "tour": self.tour,
        }

    def serve(self) -> None:
        """Answers messages until the client's input ends, even in the middle of a turn."""
        try:
            while True:
                self._take_in()
        except StopIteration:
            pass

    def ask(self, method: str, session: Session, **params: Any) -> Any:
        """Sends a request and returns the result; answers the client's requests meanwhile."""
        number, self._asked = self._asked, self._asked + 1
        self._say(id=number, method=method, params={"sessionId": session.id, **params})
        while number not in self._answers:
            self._take_in()
        return self._answers.pop(number)

    def update(self, session: Session, kind: str, /, **what: Any) -> None:
        """Sends a session update, and stores it for ``session/load``."""
        update = {**what, "sessionUpdate": kind}
        session.history.append(update)
        self._send(session, update)

    def say(self, session: Session, *chunks: str) -> None:
        """Sends a text, with one update for each chunk."""
        for chunk in chunks:
            self.update(session, "agent_message_chunk", content=_text(chunk))

    def initialize(self, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the result for ``initialize``."""
        info = {"name": "demo-agent", "title": "Demo agent", "version": "1.0"}
        return {
            "protocolVersion": 1,
            "agentCapabilities": {"loadSession": True},
            "agentInfo": info,
        }

    def new_session(self, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the result for ``session/new``."""
        session = Session(self.name_session(len(self._sessions) + 1), params["cwd"])
        self._sessions[session.id] = session
        return {"sessionId": session.id, "modes": session.modes}

    def name_session(self, number: int) -> str:
        """Returns the id of the next new session."""
        return f"demo-session-{number}"

    def load_session(self, params: dict[str, Any]) -> dict[str, Any]:
        """Sends the whole conversation again, and returns the result for ``session/load``."""
        session = self._sessions[params["sessionId"]]
        session.cwd = params["cwd"]
        for update in session.history:
            self._send(session, update)
        return {"modes": session.modes}

    def set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        """Returns the result for ``session/set_mode``."""
        session = self._sessions[params["sessionId"]]
        session.mode = params["modeId"]
        self.update(session, "current_mode_update", currentModeId=session.mode)
        return {}

    def prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        """Plays the scenario that a prompt names; returns the result for ``session/prompt``."""
        session = self._sessions[params["sessionId"]]
        session.is_cancelled = False
        for block in params["prompt"]:
            session.history.append({"content": block, "sessionUpdate": "user_message_chunk"})
        return {"stopReason": self._scenarios[params["prompt"][0]["text"]](session)}

    def hello(self, session: Session) -> str:
        """Sends a thought, a text with non-ASCII characters, and a plan."""
        thought = _text("A greeting. I should answer it.")
        self.update(session, "agent_thought_chunk", content=thought)
        self.say(session, "Hello! ", "Grüße, café, ", "你好, ", "😀.\n")
        entries = [
            {"content": "Greet", "priority": "medium", "status": "completed"},
            {"content": "Wait for a question", "priority": "medium", "status": "pending"},
        ]
        self.update(session, "plan", entries=entries)
        return "end_turn"

    def edit(self, session: Session) -> str:
        """Reads the sample file and, if the client permits the edit, writes a changed file."""
        path, call = f"{session.cwd}/{SAMPLE_NAME}", self._next_call(session)
        title = self.edit_title()
        self.say(session, f"I will greet someone else in {SAMPLE_NAME}.\n")
        self.update(
            session, "tool_call", toolCallId=call, title=title,
            kind="edit", status="pending", locations=[{"path": path}],
        )  # fmt: skip
        old = self.ask("fs/read_text_file", session, path=path)["content"]
        new = old.replace("world", "ACP")
        diff = [{"path": path, "oldText": old, "newText": new, "type": "diff"}]
        if session.mode == "ask":
            asked = {
                "toolCallId": call, "kind": "edit", "title": f"Edit {SAMPLE_NAME}", "content": diff
            }  # fmt: skip
            kind = self._ask_permission(session, asked)
            if kind != "allow_once":
                self.update(session, "tool_call_update", toolCallId=call, status="failed")
                self.say(session, "The edit was rejected; ", f"{SAMPLE_NAME} is as it was.\n")
                return "end_turn"
        self.ask("fs/write_text_file", session, path=path, content=new)
        self.update(
            session, "tool_call_update", toolCallId=call, status="completed", content=diff
        )  # fmt: skip
        self.say(session, "Done.\n")
        return "end_turn"

    def edit_title(self) -> str:
        """Returns the title under which the editing tool is called."""
        return f"Edit {SAMPLE_NAME}"

    def options(self) -> list[dict[str, str]]:
        """Returns the options of a permission request."""
        return OPTIONS

    def run(self, session: Session) -> str:
        """Runs a command in a terminal of the client, and reports how the command ended."""
        call, command, args = self._next_call(session), "grep", ["-c", "ACP", SAMPLE_NAME]
        terminal = self.ask(
            "terminal/create", session, command=command, args=args, cwd=session.cwd
        )["terminalId"]  # fmt: skip
        self.update(
            session, "tool_call", toolCallId=call, title=" ".join([command, *args]), kind="execute",
            status="in_progress", content=[{"terminalId": terminal, "type": "terminal"}],
        )  # fmt: skip
        code = self.ask("terminal/wait_for_exit", session, terminalId=terminal)["exitCode"]
        output = self.ask("terminal/output", session, terminalId=terminal)["output"]
        self.ask("terminal/release", session, terminalId=terminal)
        self.update(
            session, "tool_call_update", toolCallId=call, status="failed" if code else "completed",
            rawOutput={"output": output, "exitCode": code},
        )  # fmt: skip
        self.say(session, f"The command ended with exit code {code}.\n")
        return "end_turn"

    def slow(self, session: Session) -> str:
        """Sends three chunks, and waits until the client cancels the turn."""
        self.say(session, "This ", "takes ", "long... ")
        while not session.is_cancelled:
            self._take_in()
        return "cancelled"

    def tour(self, session: Session) -> str:
        """Plays in one turn all scenarios that end without a cancel."""
        for scenario in (self.hello, self.edit, self.run):
            scenario(session)
        return "end_turn"

    def _take_in(self) -> None:
        message = json.loads(next(self._lines))
        method = message.get("method")
        if method is None:
            self._answers[message["id"]] = message["result"]
        elif method == "session/cancel":
            self._sessions[message["params"]["sessionId"]].is_cancelled = True
        else:
            self._answer(message["id"], method, message["params"])

    def _answer(self, number: int, method: str, params: dict[str, Any]) -> None:
        try:
            if method not in self._methods:
                raise RefusedError("Method not found", {"method": method})
            self._say(id=number, result=self._methods[method](params))
        except RefusedError as e:
            message, data = e.args
            self._say(id=number, error={"code": CODES[message], "message": message, "data": data})

    def _ask_permission(self, session: Session, call: dict[str, Any]) -> str:
        """Returns the kind of the option that the client chose; '' if it chose no option."""
        options = self.options()
        answer = self.ask("session/request_permission", session, toolCall=call, options=options)
        chosen = answer["outcome"].get("optionId")
        return next((o["kind"] for o in options if o["optionId"] == chosen), "")

    def _next_call(self, session: Session) -> str:
        session.calls += 1
        return f"call-{session.calls}"

    def _send(self, session: Session, update: dict[str, Any]) -> None:
        self._say(method="session/update", params={"sessionId": session.id, "update": update})

    def _say(self, **message: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        self._out.write(line.encode() + b"\n")
        self._out.flush()


def _text(text: str) -> dict[str, str]:
    return {"text": text, "type": "text"}


def main(kind: type[Agent] = Agent) -> None:
    """Serves one client on stdin and stdout."""
    kind(iter(sys.stdin.buffer.readline, b""), sys.stdout.buffer).serve()


if __name__ == "__main__":
    main()
