"""Requests with their answers, and turns: what a connection consists of."""

from attrs import define, field

from acp_proxy.protocol.states import TurnPhase


@define
class Exchange:
    """A request and its response; ``outcome`` is final once the recording has ended."""

    id: int
    direction: str
    """Of the request."""
    method: str | None
    rpc_id: str | None
    session: str | None
    request_seq: int
    request_ns: int = field(metadata={"internal": True})
    response_seq: int | None = None
    latency_ns: int | None = None
    outcome: str = "unanswered"
    """result, error, unanswered or cancelled."""
    turn: int | None = None
    tool_call: str | None = None
    terminal: str | None = None
    cancelled: bool = False
    """Whether ``$/cancel_request`` named it."""


@define
class Turn:
    """A prompt and what followed until its end; history streamed by session/load is none."""

    id: int
    session: str | None
    prompt_seq: int
    prompt_ns: int
    end_seq: int | None = None
    stop_reason: str | None = None
    updates: int = 0
    tool_calls: int = 0
    """Distinct ones."""
    duration_ns: int | None = None
    seen: set[str] = field(factory=set)
    """The tool calls counted so far."""
    state: TurnPhase = TurnPhase.RUNNING
