"""The client of recordings with failures, which may cause the failure itself.

Run it with ``python -m tests.agents.sick_client SCRIPT AGENT [ARGS...]``. The client sends the
requests of a script, reads files for the agent, and answers no other requests. If the agent is
silent, the client gives up, as a person would. The program imports only the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

Request = tuple[str, dict[str, Any]]

PATIENCE_S = 3.0
"""Seconds without a message after which the client cancels the turn; a person waits for minutes."""
GRACE_S = 0.5
"""Seconds without a message after which the client leaves, if no request is open."""
SESSION = "demo-session-1"


def _prompt(prompt: object) -> Request:
    return "session/prompt", {"sessionId": SESSION, "prompt": prompt}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


_OPENING: list[Request] = [
    (
        "initialize",
        {
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
            },
            "clientInfo": {"name": "demo-client", "title": "Demo client", "version": "1.0"},
        },
    ),
    ("session/new", {"cwd": str(Path.cwd()), "mcpServers": []}),
]

SCRIPTS: dict[str, list[Request]] = {
    "tests": [_prompt(_text("Why does the test of the greeting fail?"))],
    "edit": [_prompt(_text("Greet someone else."))],
    "wrong-params": [
        ("session/set_mode", {"sessionId": SESSION, "mode": "code"}),
        _prompt("Why does the test of the greeting fail?"),
    ],
}
"""The requests after those that open a session."""


class SickClient:
    """Sends the requests of a script to an agent."""

    def __init__(self, agent: subprocess.Popen[bytes]) -> None:
        self._agent = agent
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def play(self, script: list[Request]) -> None:
        """Sends requests until one is not answered, or the agent ends."""
        try:
            for number, (method, params) in enumerate(script):
                self._send(id=number, method=method, params=params)
                if not self._is_answered(number):
                    self._send(method="session/cancel", params={"sessionId": SESSION})
                    break
            while self._next(GRACE_S):
                pass
        except EOFError:
            pass

    def leave(self) -> None:
        """Closes the agent's input; if the agent then continues, sends SIGTERM."""
        stdin = self._agent.stdin
        assert stdin is not None
        stdin.close()
        try:
            self._agent.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            self._agent.terminate()
            self._agent.wait()

    def _is_answered(self, number: int) -> bool:
        while message := self._next(PATIENCE_S):
            if message.get("id") == number and "method" not in message:
                return True
            if message.get("method") == "fs/read_text_file":
                content = Path(message["params"]["path"]).read_text(encoding="utf-8")
                self._send(id=message["id"], result={"content": content})
        return False

    def _next(self, seconds: float) -> dict[str, Any]:
        """Returns the agent's next message; an empty one if the agent is silent for too long."""
        try:
            line = self._lines.get(timeout=seconds)
        except Empty:
            return {}
        if not line:
            raise EOFError
        message: dict[str, Any] = json.loads(line)
        return message

    def _send(self, **message: Any) -> None:
        assert self._agent.stdin is not None
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
        self._agent.stdin.write(line.encode() + b"\n")
        self._agent.stdin.flush()

    def _read(self) -> None:
        assert self._agent.stdout is not None
        for line in self._agent.stdout:
            self._lines.put(line)
        self._lines.put(b"")


def main() -> None:
    """Plays a script with an agent, whose command is in the arguments."""
    pipe = subprocess.PIPE
    client = SickClient(subprocess.Popen(sys.argv[2:], stdin=pipe, stdout=pipe))
    client.play([*_OPENING, *SCRIPTS[sys.argv[1]]])
    client.leave()


if __name__ == "__main__":
    main()
