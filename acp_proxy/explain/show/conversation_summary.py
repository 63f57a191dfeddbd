"""Reads the conversation for a summary: capabilities, sessions, turns and invalid lines.

The name of a capability is its path in the message: ``fs.readTextFile``,
``promptCapabilities.image``, ``session.mcp.http``. Custom capabilities are included.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from acp_proxy.base.limits import LINE_EDGE, TITLE, WHOLE_LINE
from acp_proxy.base.wording import plain
from acp_proxy.explain.describe.peer_texts import auth_method_ids, enabled
from acp_proxy.explain.describe.phrases import Value, compact, message_of, part, word
from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.show.chosen_messages import messages_of_exchanges, prompt_of, read_messages
from acp_proxy.explain.show.summary_values import (
    Capabilities,
    InvalidLines,
    SessionSummary,
    TurnSummary,
)
from acp_proxy.explain.stats.turn_times import TurnTime
from acp_proxy.protocol.dialects import OPENING
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.store.queries import exchanges, frames
from acp_proxy.store.queries.exchanges import ExchangeRow, TurnRow
from acp_proxy.store.reader import RecordingReader

_MOST = 500
"""The largest number of capabilities of a peer that are listed."""
_PROMPT = 100_000
"""The size in bytes of the largest prompt that is read whole."""


def read_initialization(reader: RecordingReader) -> dict[str, Value]:
    """Reads the last answered initialization; if none was answered, the last initialization.

    Returns:
        A value for each direction to a peer: ``to-client`` has the client's params, and
        ``to-agent`` has the agent's result.
    """
    row = exchanges.initialization(reader)
    if row is None:
        return {"to-client": {}, "to-agent": {}}
    keys = (row.request_seq, row.id), (row.response_seq, row.id)
    messages = messages_of_exchanges(reader, keys, WHOLE_LINE)
    request, response = messages.get(keys[0]), messages.get((row.response_seq or 0, row.id))
    return {
        "to-client": request.part("params") if request is not None else {},
        "to-agent": response.part("result") if response is not None else {},
    }


def read_capabilities(peers: dict[str, Value]) -> Capabilities:
    """Returns the capabilities of the peers, from the result of `read_initialization`."""
    params, result = peers["to-client"], peers["to-agent"]
    return Capabilities(
        [*map(plain, capabilities(params))],
        [*map(plain, capabilities(result))],
        [*map(plain, capabilities(result, "requiredClientCapabilities"))],
        [plain(_short(name)) for name in auth_method_ids(result)[:_MOST]],
    )


def capabilities(half: Value, *holders: str) -> list[str]:
    """Returns the sorted names of a peer's capabilities, the custom capabilities last.

    Args:
        half: the params or the result of an initialization, in any dialect.
        holders: the names of the members that contain capabilities; by default, the members of all
            dialects.
    """
    names = {_short(_name(path, value)) for path, value in enabled(half, *holders)}
    # The name of a custom capability, or of a member around it, begins with an underscore.
    return sorted(names - {""}, key=lambda name: ("._" in f".{name}", name))[:_MOST]


def _name(path: tuple[str, ...], value: Any) -> str:
    name = ".".join(path)
    if value is True or value == []:
        return name
    values = map(compact, value) if isinstance(value, list) else [compact(value)]
    return f"{name}: {', '.join(values)}"


def _short(name: str) -> str:
    return name if len(name) <= TITLE else f"{name[:TITLE]}…"


def read_sessions(
    reader: RecordingReader, turns: list[TurnRow], parents: Mapping[str, str]
) -> list[SessionSummary]:
    """Returns the sessions in the order of the first request about them.

    Args:
        reader: the recording.
        turns: all turns of the recording.
        parents: the parent session of each child session.
    """
    opened: dict[str, list[ExchangeRow]] = {}
    for row in exchanges.exchanges(reader, methods=OPENING, direction="to-agent"):
        if row.session is not None:
            opened.setdefault(row.session, []).append(row)
    keys = ((row.request_seq, row.id) for rows in opened.values() for row in rows)
    folders = {
        exchange: plain(word(message.part("params"), "cwd", "workingDirectory"))
        for (_, exchange), message in messages_of_exchanges(reader, keys).items()
    }
    counts = Counter(turn.session for turn in turns)
    summaries = []
    for session, seq in exchanges.first_request_of_sessions(reader).items():
        rows = opened.get(session, [])
        named = [folders[row.id] for row in rows if folders.get(row.id)]
        how = [_way(row) for row in rows if row.outcome == "result"]
        open_ = [row for row in rows if row.response_seq is None and reader.is_open]
        failed = [_way(row) for row in rows if row.outcome != "result" and row not in open_]
        folder, ways = named[-1] if named else None, [_way(row) for row in open_]
        count, parent = counts[session], parents.get(session)
        summaries.append(SessionSummary(session, folder, how, seq, count, failed, ways, parent))
    return summaries


def _way(row: ExchangeRow) -> str:
    """Returns how a request opens a session: new, load, resume or fork."""
    return (row.method or "").removeprefix("session/")


def read_turns(reader: RecordingReader) -> list[TurnSummary]:
    """Returns all turns, each with the beginning of its prompt."""
    turns = exchanges.turns(reader)
    return with_prompts(turns, read_prompts(reader, turns))


def read_prompts(reader: RecordingReader, turns: Iterable[TurnRow | TurnTime]) -> dict[int, str]:
    """Returns the beginnings of prompts, by the numbers of the turns.

    Args:
        reader: the recording.
        turns: some turns of the recording, or all.
    """
    return {
        message.turn: prompt_of(message.part("params"))
        for message in read_messages(reader, (turn.prompt_seq for turn in turns), _PROMPT)
        if message.turn is not None
        and message.kind == "request"
        and message.method == "session/prompt"
    }


def with_prompts(
    turns: list[TurnRow], prompts: dict[int, str], tokens: Mapping[int, Tokens] | None = None
) -> list[TurnSummary]:
    """Returns turns, each with the beginning of its prompt.

    Args:
        turns: the rows of the turns.
        prompts: the beginnings of prompts, by the numbers of the turns.
        tokens: the tokens of turns, by the numbers of the turns.
    """
    every = {} if tokens is None else tokens
    return [
        TurnSummary(**turn._asdict(), prompt=prompts.get(turn.id, ""), tokens=every.get(turn.id))
        for turn in turns
    ]


def first_prompt(raw: bytes | None) -> str:
    """Returns the text of a ``session/prompt`` request; of a batch, the first prompt's text."""
    if raw is None:
        return ""
    members = read(raw).members if raw.lstrip().startswith(b"[") else ()
    prompts = [member.raw for member in members if member.method == "session/prompt"]
    return prompt_of(part(message_of(next(filter(None, prompts), raw)), "params"), None)


def read_invalid_lines(reader: RecordingReader, without: Collection[int]) -> list[InvalidLines]:
    """Returns, for each direction, the first invalid line and the number of invalid lines.

    Args:
        reader: the recording.
        without: numbers of frames to leave out.
    """
    known = reader.first_of_kind("invalid", without)
    return [
        InvalidLines(
            line.stream,
            known[line.stream][1],
            line.seq,
            plain(line.raw[:400].decode(errors="replace")),
            plain(frames.parse_error_of(reader, line.seq) or ""),
        )
        for line in read_messages(reader, (seq for seq, _ in known.values()), LINE_EDGE)
    ]
