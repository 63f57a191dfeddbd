"""Describes the events of a recording in words."""

import json

from acp_proxy.base.system import FROM_OUTSIDE
from acp_proxy.base.wording import plain
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.store.tables.checked_values import Row


def describe_event(kind: str, data: Row) -> str:
    """Describes an event in words.

    Args:
        kind: the kind of the event.
        data: the data of the event.
    """
    stream = data.get("stream", "")
    match kind:
        case "start":
            command = data.get("command")
            words = map(str, command if isinstance(command, list) else [])
            return plain(f"agent: {' '.join(words)}")
        case "eof":
            return f"{stream} ended: {data.get('reason', '')}"
        case "signal":
            reason = f": {data['reason']}" if data.get("reason") else ""
            name = data.get("name", data.get("signal"))
            return f"{name} was {data.get('action', 'sent')} to the agent{reason}"
        case "exit" if "name" in data:
            how = "was ended by" if data.get("signal") in FROM_OUTSIDE else "crashed:"
            return f"the agent {how} {data['name']}"
        case "exit":
            return str(data.get("reason") or f"the agent exited with {data.get('code')}")
        case "gap":
            lost = ", ".join(f"{n} bytes {s}" for s in Stream if (n := data.get(s)))
            return f"not recorded: {lost} ({data.get('reason', '')})"
        case "undelivered":
            return f"{data.get('bytes')} bytes {stream} were read but could not be delivered"
        case "fault":
            return plain(_effect(data, stream))
        case "note" if isinstance(data.get("reason"), str):
            waiting = f": {n:,} bytes wait" if isinstance(n := data.get("bytes"), int) else ""
            return plain(f"{data['reason']}{waiting}")
    return plain(json.dumps(data, ensure_ascii=False))


def _effect(data: Row, stream: str) -> str:
    """Describes an effect of a fault on a whole stream or on the agent, not on one line."""
    match data.get("action"):
        case "stall":
            what = f"nothing more passes {stream}"
        case "close" | "limit-data":
            what = f"{stream} is closed"
        case "exit":
            what = f"the agent is made to exit with {data.get('code')}"
        case "stderr-flood":
            what = f"{data.get('bytes')} bytes on stderr"
        case _ if "name" in data:
            what = f"{data['name']} to the agent"
        case _:
            what = json.dumps(data, ensure_ascii=False)
    return f"{data.get('rule', 'a fault')}: {what}"
