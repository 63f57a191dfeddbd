"""An agent that answers every prompt with "Hello!", on the standard library, so it starts fast.

``greeting_agent.py [SESSION]``: the id of its one session.
"""

from __future__ import annotations

import json
import sys

SESSION = sys.argv[1] if len(sys.argv) > 1 else "session-1"


def answer(request: dict[str, object]) -> dict[str, object]:
    """Returns the result of a request."""
    match request["method"]:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            return {"sessionId": SESSION}
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
            params = {"sessionId": SESSION, "update": update}
            say({"method": "session/update", "params": params})
        say({"id": request["id"], "result": answer(request)})


if __name__ == "__main__":
    main()
