"""An agent that answers every prompt with "Hello!", on the standard library, so it starts fast."""

from __future__ import annotations

import json
import sys


def answer(request: dict[str, object]) -> dict[str, object]:
    """Returns the result of a request."""
    match request["method"]:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            return {"sessionId": "session-1"}
        case _:
            return {"stopReason": "end_turn"}


def say(message: dict[str, object]) -> None:
    """Writes a message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answers until the client closes its end."""
    for line in sys.stdin:
        request = json.loads(line)
        if request["method"] == "session/prompt":
            content = {"type": "text", "text": "Hello!"}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            params = {"sessionId": "session-1", "update": update}
            say({"method": "session/update", "params": params})
        say({"id": request["id"], "result": answer(request)})


if __name__ == "__main__":
    main()
