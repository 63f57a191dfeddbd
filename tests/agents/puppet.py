"""An agent whose output for a line depends only on this line.

So a test that plays the client decides when the agent sends a chunk, and knows all bytes of the
output. The program imports only the standard library. Its argument is its exit code.
"""

from __future__ import annotations

import json
import sys

SESSION = "s-1"


def ask(number: int, text: str, times: int = 1, stderr: str = "") -> bytes:
    """Returns a prompt that makes the agent send ``text`` several times, and then answer."""
    params = {
        "sessionId": SESSION,
        "prompt": [{"type": "text", "text": text}],
        "times": times,
        "stderr": stderr,
    }
    return _line({"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params})


def tell(text: str, times: int = 1, stderr: str = "") -> bytes:
    """Returns a notification that makes the agent send ``text`` several times."""
    params = {"text": text, "times": times, "stderr": stderr}
    return _line({"jsonrpc": "2.0", "method": "_puppet/say", "params": params})


def reply(line: bytes) -> tuple[bytes, bytes]:
    """Returns the agent's output on stdout and on stderr for a line of the client."""
    message = json.loads(line)
    params = message["params"]
    text = params["text"] if "text" in params else params["prompt"][0]["text"]
    said = b"".join(chunk(f"{text} {n}") for n in range(params["times"]))
    if "id" in message:
        result = {"stopReason": "end_turn"}
        said += _line({"jsonrpc": "2.0", "id": message["id"], "result": result})
    return said, params["stderr"].encode()


def chunk(text: str) -> bytes:
    """Returns an update with a chunk of a message."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": SESSION, "update": update}
    return _line({"jsonrpc": "2.0", "method": "session/update", "params": params})


def _line(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def main() -> None:
    """Writes the output for each line until the input ends."""
    for line in sys.stdin.buffer:
        said, complaint = reply(line)
        sys.stderr.buffer.write(complaint)
        sys.stderr.buffer.flush()
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
    sys.exit(int(sys.argv[1]))


if __name__ == "__main__":
    main()
