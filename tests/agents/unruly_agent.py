"""An agent that misbehaves in one way, which the first argument names.

The agent first answers ``initialize`` and ``session/new``. It imports only the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_SESSION = "demo-session-1"


def say(**message: Any) -> None:
    """Writes a message to the client."""
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def write(data: bytes) -> None:
    """Writes all data to stdout."""
    while data:
        data = data[os.write(1, data) :]


def ask(method: str, **params: Any) -> Any:
    """Sends a request to the client, and returns the client's answer."""
    say(id="q", method=method, params={"sessionId": _SESSION, **params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "q":
            return message
    return None


def end(prompt: int) -> None:
    """Answers the prompt, which ends the turn."""
    say(id=prompt, result={"stopReason": "end_turn"})


def hang(_: int) -> None:
    """Does not answer the prompt."""
    sys.stdin.read()


def stay(prompt: int) -> None:
    """Continues after its client has left, and ignores signals."""
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    end(prompt)
    while True:
        time.sleep(60)


def stubborn(_: int) -> None:
    """Does not answer the prompt, continues after its client has left, and ignores signals."""
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    write(b'{"jsonrpc": "2.0", "method": "_demo/stubborn"}\n')
    while True:
        time.sleep(60)


def die(_: int) -> None:
    """Exits during a turn."""
    os._exit(7)


def twice(prompt: int) -> None:
    """Answers the prompt twice."""
    end(prompt)
    end(prompt)


def unknown(prompt: int) -> None:
    """Answers a request that the client did not send."""
    say(id=4711, result={})
    end(prompt)


def garbage(prompt: int) -> None:
    """Writes a line that is not JSON."""
    write(b"\xff\x00 not JSON\n")
    end(prompt)


def flood(_: int) -> None:
    """Writes updates without end, and does not read."""
    line = json.dumps(
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {
                "sessionId": _SESSION,
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": {"type": "text", "text": "more "},
                },
            },
        }
    )
    while True:
        write(f"{line}\n".encode() * 100)


def drip(_: int) -> None:
    """Writes a small update again and again, and does not answer the prompt."""
    while True:
        tell("more ")
        time.sleep(0.1)


def curious(prompt: int) -> None:
    """Asks for a file that was not read in the recording; the second argument is its path."""
    answer = ask("fs/read_text_file", path=sys.argv[2])
    tell(json.dumps(answer))
    end(prompt)


def busy(prompt: int) -> None:
    """Asks to run a command that was not recorded; the second argument is the file to create."""
    answer = ask("terminal/create", command="touch", args=[sys.argv[2]])
    tell(json.dumps(answer))
    end(prompt)


def eager(prompt: int) -> None:
    """Asks to write a file that was not written in the recording."""
    answer = ask("fs/write_text_file", path=sys.argv[2], content="x")
    tell(json.dumps(answer))
    end(prompt)


def pleading(prompt: int) -> None:
    """Asks for a permission that was not recorded."""
    option = {"optionId": "allow", "name": "Allow", "kind": "allow_once"}
    call = {"toolCallId": "c", "title": "Launch"}
    answer = ask("session/request_permission", toolCall=call, options=[option])
    tell(json.dumps(answer))
    end(prompt)


def tell(text: str) -> None:
    """Sends a chunk of text."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    say(method="session/update", params={"sessionId": _SESSION, "update": update})


def deaf() -> None:
    """Never reads its input."""
    while True:
        time.sleep(60)


WAYS: dict[str, Callable[[int], None]] = {
    "hang": hang,
    "stay": stay,
    "stubborn": stubborn,
    "die": die,
    "twice": twice,
    "unknown": unknown,
    "garbage": garbage,
    "flood": flood,
    "drip": drip,
    "curious": curious,
    "busy": busy,
    "eager": eager,
    "pleading": pleading,
}


def main() -> None:
    """Serves one client on stdin and stdout."""
    if sys.argv[1] == "deaf":
        deaf()
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            say(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
        elif message.get("method") == "session/new":
            say(id=message["id"], result={"sessionId": _SESSION})
        elif message.get("method") == "session/prompt":
            WAYS[sys.argv[1]](message["id"])


if __name__ == "__main__":
    main()
