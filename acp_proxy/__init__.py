"""A record/replay debugging proxy for the Agent Client Protocol (ACP).

As a library, `acp_proxy` opens recordings: see `acp_proxy.api`. A name of the library is imported
at its first use, since `acp-proxy record` must start fast.
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
