"""Everything with a life: the only trio of the package."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.capture.options import RecordOptions
    from acp_proxy.capture.relay import Relay


def supervise(relay: "Relay", options: "RecordOptions") -> None:
    """Owns a relay whose pumps run; imports what takes time only now, while the agent boots.

    Args:
        relay: the conversation.
        options: what the command line asked for.
    """
    from acp_proxy.runtime import supervisor

    supervisor.supervise(relay, options)
