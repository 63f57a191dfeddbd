"""The client's end of a JSON-RPC connection: sends requests, and answers the agent's requests.

Each request of the agent is answered by its own task, so the agent may ask for a file while a
person thinks about a permission. Lines that are not messages are ignored here; the recording
contains them.
"""

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from typing import Any

import trio
from attrs import define, field
from trio.abc import ReceiveStream, SendStream

from acp_proxy.base.limits import CHUNK
from acp_proxy.playback.drivers.event_loop import now_ns
from acp_proxy.protocol.framing import LineCutter
from acp_proxy.protocol.json_text import encode_json, json_or_none
from acp_proxy.protocol.jsonrpc import Direction, Kind, read

_LOOK_S = 0.2
"""Seconds between two checks of whether the agent has been silent for too long."""
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602

Watch = Callable[[Direction, bytes], None]
"""Receives each line that is sent or received: its direction, and its bytes without the newline."""
Handler = Callable[[str, Any], Awaitable[Any]]
"""Answers a request of the agent: takes the method and the decoded request, returns the result."""


class RequestError(Exception):
    """Raised by a handler to answer a request of the agent with an error.

    Args:
        code: the error code of the answer, as in JSON-RPC 2.0, section 5.1.
        message: the sentence that the answer contains.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class AgentLeft(Exception):
    """The agent's output has ended or the agent hangs, so no further answer will come."""


@define(eq=False)
class AgentConnection:
    """A client's connection with an agent, over two streams.

    Args:
        source: the agent's output.
        sink: the agent's input.
        handler: answers the agent's requests.
        watch: receives each line that is sent or received.
    """

    _source: ReceiveStream
    _sink: SendStream
    _handler: Handler
    _watch: Watch
    moved_ns: int = field(init=False, factory=now_ns)
    """When bytes were last sent or received, in nanoseconds of trio's clock."""
    answering: int = field(init=False, default=0)
    """How many requests of the agent are being answered."""
    has_left: trio.Event = field(init=False, factory=trio.Event)
    """Set when the agent's output has ended, or when the wait for a hanging agent is given up."""
    _numbers: Iterator[int] = field(init=False, factory=count)
    _pending: dict[str, trio.MemorySendChannel[Any]] = field(init=False, factory=dict)
    """For each awaited answer or update, by name: the channel that receives it.

    The name of an answer is the id of its request as JSON text.
    """
    _lock: trio.Lock = field(init=False, factory=trio.Lock)
    """Held while a line is written, so that two lines are never mixed."""

    async def run(self) -> None:
        """Reads the agent's messages until its output ends, and answers its requests."""
        cutter = LineCutter()
        async with trio.open_nursery() as nursery:
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                while chunk := await self._source.receive_some(CHUNK):
                    self.moved_ns = now_ns()
                    for cut in cutter.feed(bytes(chunk)):
                        await self._take(cut.raw, nursery)
            if (rest := cutter.finish()) is not None:
                await self._take(rest.raw, nursery)
            self.leave()
            nursery.cancel_scope.cancel()

    def leave(self) -> None:
        """Ends the wait for all open answers, because no further answer will come."""
        self.has_left.set()
        for answers in self._pending.values():
            answers.close()

    async def fall_silent(self, limit_s: float, is_held_up: Callable[[], bool]) -> None:
        """Waits until the agent has been silent for too long, although it has to act.

        The agent has to act while a request is unanswered and the agent itself waits for no answer.

        Args:
            limit_s: a silence of this many seconds is too long.
            is_held_up: returns whether the agent waits for anything else, such as a command.
        """
        while True:
            is_idle = self._pending and not self.answering and not is_held_up()
            silent_s = (now_ns() - self.moved_ns) / 1e9 if is_idle else 0.0
            if silent_s >= limit_s:
                return
            await trio.sleep(max(_LOOK_S, limit_s - silent_s) if silent_s else _LOOK_S)

    async def request(self, method: str, params: Any, name: str | None = None) -> Any:
        """Sends a request and returns the message that answers it.

        Args:
            method: the method.
            params: the params, as JSON values.
            name: the id of the request; None to use the next number as the id.

        Raises:
            AgentLeft: the agent's output ended before the answer came, or the agent hangs.
        """
        number = next(self._numbers) if name is None else name
        token = encode_json(number).decode()
        with self.expected(token) as answers:
            await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            if self.has_left.is_set() and token in self._pending:
                raise AgentLeft
            return await answers.receive()

    @contextlib.contextmanager
    def expected(self, token: str) -> Iterator[trio.MemoryReceiveChannel[Any]]:
        """Accepts an answer or an update by its name, as long as the context is open.

        Yields:
            The channel on which the answer or update arrives.

        Args:
            token: the name under which `give` passes on the answer or update.

        Raises:
            AgentLeft: the agent's output ends before the answer or update comes.
        """
        self._pending[token], things = trio.open_memory_channel[Any](1)
        try:
            yield things
        except trio.EndOfChannel:
            raise AgentLeft from None
        finally:
            self._pending.pop(token, None)

    def give(self, token: str | None, thing: Any) -> None:
        """Passes an answer or update to the code that awaits it; drops it if no code does.

        Args:
            token: the name: for an answer, the id of its request as JSON text.
            thing: the answer or update.
        """
        if (things := self._pending.pop(token or "", None)) is not None:
            things.send_nowait(thing)

    async def notify(self, method: str, params: Any) -> None:
        """Sends a notification.

        Args:
            method: the method.
            params: the params, as JSON values.
        """
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def send(self, message: Any) -> None:
        """Sends a message as one line; has no effect if the agent has closed its input.

        Args:
            message: a JSON value, or the bytes of a line without its newline.
        """
        line = message if isinstance(message, bytes) else encode_json(message)
        async with self._lock:
            self._watch(Direction.TO_AGENT, line)
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self._sink.send_all(line + b"\n")
        self.moved_ns = now_ns()

    async def _take(self, raw: bytes, nursery: trio.Nursery) -> None:
        self._watch(Direction.TO_CLIENT, raw)
        labels, value = read(raw), json_or_none(raw)
        members = value if labels.kind is Kind.BATCH else [value]
        for label, member in zip(labels.members or (labels,), members or [], strict=False):
            if label.kind is Kind.REQUEST and label.method is not None:
                self.answering += 1
                await nursery.start(self._answer, label.rpc_id, label.method, member)
            elif label.kind in (Kind.RESPONSE, Kind.ERROR):
                self.give(label.rpc_id, member)

    async def _answer(
        self, token: str | None, method: str, message: Any, *, task_status: trio.TaskStatus[None]
    ) -> None:
        task_status.started()  # only now is the next line read, so handlers start in order
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": json.loads(token or "null")}
        try:
            answer["result"] = await self._handler(method, message)
        except RequestError as e:
            answer["error"] = {"code": e.code, "message": str(e)}
        finally:
            self.answering -= 1
        await self.send(answer)
