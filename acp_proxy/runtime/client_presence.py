"""Finds out whether the client is still there, and whether its agent overstays.

An agent overstays when the client's input has ended, no byte moved on any stream for the grace
time, the client is gone, and no request waits for an answer. A client is gone when our stdout has
no reader any more, or when our parent is not the process that started us. A client that only closed
its end may wait as long as it likes, as it could without a proxy.

Either sign can be missing. A file, a terminal or /dev/null as our stdout never shows that it has no
reader. A parent that was `init` or a subreaper from the start never changes. Without a sign the
client counts as present, since it is better to leave an agent running than to end it by mistake.
"""

import os
import select

from attrs import frozen

from acp_proxy.capture.pumps import Pump
from acp_proxy.capture.relay import Relay


@frozen
class ClientPresence:
    """The signs that the client has left."""

    has_no_reader: bool
    """Nobody can read what we write to the client."""
    lost_parent: bool
    """The process that started us has ended."""

    @property
    def is_gone(self) -> bool:
        """Whether the client has left for good."""
        return self.has_no_reader or self.lost_parent


def look_for_client(relay: Relay) -> ClientPresence:
    """Checks whether the client of a relay is still there."""
    return ClientPresence(_has_no_reader(relay.to_client), os.getppid() != relay.parent)


def why_overstaying(client: ClientPresence, *, open_request: bool | None) -> str | None:
    """Returns why an idle agent whose client's input has ended overstays, or None if it does not.

    Args:
        client: the signs.
        open_request: whether the agent has to answer a request of the client; None if unknown. A
            request whose answer cannot be read counts as closed.
    """
    if client.is_gone and open_request is False:
        return "no request is open"
    return "nobody reads its output" if client.has_no_reader else None


def _has_no_reader(pump: Pump) -> bool:
    """Whether no process reads what a pump writes, as far as the system shows that.

    An agent that closed its own output sends nothing more. Its client may still wait for its exit.
    """
    if pump.ended.is_set:
        return not pump.source_ended
    try:
        poller = select.poll()
        poller.register(pump.sink, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poller.poll(0))
    except (OSError, ValueError):
        return False
