"""An agent that answers each prompt with "Hello!"; it starts fast, without the SDK.

Usage: ``greeting_agent.py [SESSION]``, with the id of its only session.
"""

from __future__ import annotations

import json
import sys

SESSION = sys.argv[1] if len(sys.argv) > 1 else "session-1"


def answer(request: dict[str, object]) -> dict[str, object]:
    """Returns the result for a request of the client."""
    match request["method"]:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            return {"sessionId": SESSION}
        case _:
            return {"stopReason": "end_turn"}


def say(message: dict[str, object]) -> None:
    """Writes a message to the client."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answers requests until the client closes its end."""
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
