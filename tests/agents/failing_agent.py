"""An agent that answers or fails as the first word of its prompt says.

The agent imports few modules, so that it starts quickly.
"""

import json
import os
import resource
import sys


def send(**message: object) -> None:
    """Writes a message to the client."""
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(rpc_id: object, params: dict) -> None:  # type: ignore[type-arg]
    """Answers a prompt, or fails as the prompt says."""
    word, _, _ = params["prompt"][0]["text"].partition(" ")
    text = "Hello"
    match word:
        case "differs":
            text = "Goodbye"
        case "stalls":
            return
        case "crashes":
            os.abort()
        case "exits":
            os.write(2, b"Traceback\nno such module\n\n")
            os._exit(3)
        case "killed":
            os.kill(os.getpid(), 9)
        case "137":
            os._exit(137)
        case "lost":
            os.kill(parent_of(os.getppid()), 9)
            return
        case "unrecorded":
            os.kill(os.getppid(), 9)
            return
        case "full":
            resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": "s-1", "update": update})
    send(id=rpc_id, result={"stopReason": "tired" if word == "broken" else "end_turn"})


def parent_of(pid: int) -> int:
    """Returns the parent process of a process."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


for line in sys.stdin.buffer:
    request = json.loads(line)
    if request["method"] == "initialize":
        send(id=request["id"], result={"protocolVersion": 1})
    elif request["method"] == "session/new":
        send(id=request["id"], result={"sessionId": "s-1"})
    else:
        answer(request["id"], request["params"])
