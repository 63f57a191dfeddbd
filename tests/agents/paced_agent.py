"""Answers a prompt with chunks of a message at a given rate.

Usage: ``paced_agent.py RATE SECONDS``, with RATE in chunks a second.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

_PAUSE_S = 0.002


def say(message: dict[str, Any]) -> None:
    """Writes a message; `sys.stdout` has to be flushed."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def stream(session: str, rate: float, seconds: float) -> None:
    """Sends numbered chunks. If the agent is late, it sends several at once."""
    began, sent = time.monotonic(), 0
    while sent < rate * seconds:
        due = min(rate * seconds, rate * (time.monotonic() - began))
        while sent < due:
            content = {"type": "text", "text": f"word {sent} "}
            update = {"sessionUpdate": "agent_message_chunk", "content": content}
            say({"method": "session/update", "params": {"sessionId": session, "update": update}})
            sent += 1
        sys.stdout.flush()
        time.sleep(_PAUSE_S)


def main(rate: float, seconds: float) -> None:
    """Answers until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        result: dict[str, Any] = {}
        match message.get("method"):
            case "initialize":
                info = {"name": "paced", "version": "1"}
                result = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info}
            case "session/new":
                result = {"sessionId": "s"}
            case "session/prompt":
                stream("s", rate, seconds)
                result = {"stopReason": "end_turn"}
        say({"id": message["id"], "result": result})
        sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]))
