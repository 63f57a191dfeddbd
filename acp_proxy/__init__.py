"""A record/replay debugging proxy for the Agent Client Protocol (ACP).

As a library it opens recordings: see `acp_proxy.api`. Names of the library are imported when they
are first used, because `acp-proxy record` imports this module and must start at once.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.api import OpenRecording, open, recordings  # noqa: A004  as `gzip.open`
    from acp_proxy.base.errors import AcpProxyError
    from acp_proxy.recording.library_values import (
        RecordedExchange,
        RecordedFrame,
        RecordedMessage,
        RecordedToolCall,
        RecordedTurn,
    )
    from acp_proxy.recording.recording import Recording

__version__ = "0.1.0"

__all__ = [
    "AcpProxyError",
    "OpenRecording",
    "RecordedExchange",
    "RecordedFrame",
    "RecordedMessage",
    "RecordedToolCall",
    "RecordedTurn",
    "Recording",
    "open",
    "recordings",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from acp_proxy import api
    from acp_proxy.base import errors

    return getattr(errors if hasattr(errors, name) else api, name)


def __dir__() -> "list[str]":
    return [*globals(), *__all__]
