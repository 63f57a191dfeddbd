"""Records a conversation: relays it, supervises the agent and indexes the log."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.record.capture.record_options import RecordOptions
    from acp_proxy.record.capture.relay import Relay


def supervise(relay: "Relay", options: "RecordOptions") -> None:
    """Supervises a running relay; imports slow modules only when called, while the agent boots.

    Args:
        relay: the relay.
        options: the options of the command line.
    """
    from acp_proxy.record import supervisor

    supervisor.supervise(relay, options)
