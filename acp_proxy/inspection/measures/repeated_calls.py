"""Finds the tool calls of a recording whose ids were used before."""

from array import array

from acp_proxy.inspection.message_pass import MessagePass
from acp_proxy.protocol.call_ids import CallKey
from acp_proxy.protocol.connection_state import Transition


class RepeatedCalls:
    """Takes what messages about tool calls have changed, in their order.

    A replayed history begins no calls with ids that were used before it: it repeats them.

    Args:
        messages: the pass over the messages.
    """

    def __init__(self, messages: MessagePass) -> None:
        self._messages = messages
        self._first = dict[CallKey, int]()
        self._found: dict[CallKey, array[int]] = {}

    def feed(self, seq: int, done: Transition) -> None:
        """Takes a message about a tool call.

        Args:
            seq: the number of its frame.
            done: what it has changed.
        """
        key = (done.session, done.tool_call or "")
        first = self._first.setdefault(key, seq)
        if not done.begins_call or first == seq:
            return
        if done.turn is None:
            since = self._messages.history_seq(done.session)
            if since is not None and first < since:
                return
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = array("q")
        found.append(seq)

    def finish(self) -> "dict[CallKey, array[int]]":
        """Returns the first frames of these tool calls by id, but for the first call with an id."""
        self._first.clear()
        return self._found
