"""A record/replay debugging proxy for the Agent Client Protocol (ACP).

As a library it opens recordings: see `acp_proxy.api`, whose names this module has as well. They are
looked up when they are used, since `acp-proxy record` imports this module and has to start at once.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.api import (
        AcpProxyError,
        OpenRecording,
        RecordedExchange,
        RecordedFrame,
        RecordedMessage,
        RecordedToolCall,
        RecordedTurn,
        Recording,
        open,  # noqa: A004  as `gzip.open`
        recordings,
    )

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

    return getattr(api, name)


def __dir__() -> "list[str]":
    return [*globals(), *__all__]
