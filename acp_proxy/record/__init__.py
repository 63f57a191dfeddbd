"""Runs relays, replays and verifications: the only trio of the package."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.record.capture.record_options import RecordOptions
    from acp_proxy.record.capture.relay import Relay


def supervise(relay: "Relay", options: "RecordOptions") -> None:
    """Owns a running relay; imports slow modules only now, while the agent boots.

    Args:
        relay: the relay.
        options: the options of the command line.
    """
    from acp_proxy.record import supervisor

    supervisor.supervise(relay, options)
