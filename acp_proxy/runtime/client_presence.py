"""Whether the client is still there, and the rule for when its agent overstays.

The rule: the client's input has ended, no byte moved on any stream for the grace time, the client
is gone, and no request waits for an answer. A client is gone when our stdout has no reader any
more, or when our parent is not the process that started us. A client that only closed its end may
wait as long as it likes, as it could without a proxy.

Either sign can be missing. A file, a terminal or /dev/null as our stdout never shows that it has no
reader. A parent that was `init` or a subreaper from the start never changes. Without a sign the
client counts as present, since an agent that stays is better than one that is ended for nothing.
"""

import os
import select

from attrs import frozen

from acp_proxy.capture.pumps import Pump
from acp_proxy.capture.relay import Relay


@frozen
class ClientPresence:
    """What can be seen of the client.

    Attributes:
        has_no_reader: what we write to the client cannot be read.
        lost_parent: the process that started us has ended.
    """

    has_no_reader: bool
    lost_parent: bool

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
        client: what can be seen of the client.
        open_request: whether the agent still has to answer a request of the client; None if that
            is not known. A request whose answer cannot be read counts as closed.
    """
    if client.is_gone and open_request is False:
        return "no request is open"
    return "nobody reads what it says" if client.has_no_reader else None


def _has_no_reader(pump: Pump) -> bool:
    """Whether what a pump writes next has no reader, as far as the system shows that.

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
