"""The views that are stored in the file of a recording, for queries with other programs.

They are plain SQL that works since SQLite 3.31. A line may be anything, so members are read only
from valid JSON. JSON may contain half of a surrogate pair, which Python's sqlite3 does not accept
as text, so such text is repaired. The pieces of a message are joined before their escapes are
decoded, since some agents cut between the two halves of a pair.
"""

import re
from collections.abc import Iterable

from acp_proxy.base.limits import SHOWN_VALUE
from acp_proxy.protocol.dialects import OPENING, PERMISSION, PROMPT, V2
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.updates import (
    AGENT_TEXT,
    FINAL,
    NEW_CALL,
    RUNNING,
    THOUGHT_CHUNKS,
    TOOL_CALLS,
    UPDATE,
    USER_TEXT,
    WHOLE_MESSAGES,
    WHOLE_THOUGHT,
)
from acp_proxy.store.tables.schema import KIND_CODES, VIEWS, valid_json

_UPDATED = TOOL_CALLS[1]
_NOTIFICATION, _BATCH = KIND_CODES[Kind.NOTIFICATION], KIND_CODES[Kind.BATCH]
_BLOCK = 500
"""How many characters of a message are repaired at once, since SQLite's substr counts from the
beginning of the text each time."""

_ROLES = {
    "user": (PROMPT, USER_TEXT, "user_message"),
    "agent": (AGENT_TEXT, "agent_message"),
    "thought": (*THOUGHT_CHUNKS, WHOLE_THOUGHT),
    "summary": ("compaction_summary_chunk",),
}
"""The requests and updates with text, by the role of the text's author."""


def _listed(texts: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"'{text}'" for text in texts) + ")"


_WHOLE = _listed(WHOLE_MESSAGES)


def _first(*paths: str, json: str = "json") -> str:
    """Returns SQL for the first of these members that exists; NULL if it is empty."""
    return _first_of(f"json_extract({json}, '$.{path}')" for path in paths)


def _object(*paths: str) -> str:
    """Returns SQL for the path of the first member of ``json`` that is an object, or NULL."""
    whens = " ".join(f"WHEN json_type(json, '$.{path}') THEN '$.{path}'" for path in paths)
    return f"CASE 'object' {whens} END"


def _within(*names: str) -> str:
    """Returns SQL for the first of the members below the path ``place`` that exists."""
    return _first_of(f"json_extract(json, place || '.{name}')" for name in names)


def _first_of(members: Iterable[str]) -> str:
    every = [*members]
    joined = ", ".join(every)
    return f"nullif({joined if len(every) == 1 else f'coalesce({joined})'}, '')"


def _json(row: str) -> str:
    """Returns SQL for a message as JSON, as in ``frames``; NULL if it is not valid or too deep."""
    return f"CASE WHEN {valid_json(f'{row}.raw')} END"


def _spelled(path: str, json: str = "json") -> str:
    """Returns SQL for a string in an object with its escapes, without its quotes.

    SQLite returns several members as an array, and keeps their escapes in it: ``["text",null]``.
    """
    extracted = f"json_extract({json}, {path}, '$[0]')"
    return f"substr({extracted}, 3, length({extracted}) - 9)"


_HALVED = "GLOB '*' || char(65533) || '*'"
"""Matches text with half of a surrogate pair, which SQLite reads as U+FFFD."""


def _valid(column: str) -> str:
    """Returns SQL for a column as valid text; repaired text is cut to `SHOWN_VALUE`."""
    return (
        f"CASE WHEN {column} {_HALVED} THEN (WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL"
        f" SELECT n + 1 FROM place WHERE n < min({SHOWN_VALUE}, length({column})))"
        f" SELECT group_concat(char(unicode(substr({column}, n, 1))), '') FROM place)"
        f" ELSE {column} END AS {column}"
    )


def _word(*columns: str) -> str:
    """Returns SQL for columns with ids or words of the protocol; NULL if the text is invalid."""
    return ", ".join(f"CASE WHEN {column} {_HALVED} THEN NULL ELSE {column} END AS {column}"
                     for column in columns)  # fmt: skip


_VALID_TEXT = f"""
CASE WHEN text {_HALVED} THEN (
    WITH RECURSIVE block(b) AS (
      SELECT 0 UNION ALL SELECT b + 1 FROM block WHERE (b + 1) * {_BLOCK} < length(text))
    SELECT group_concat(piece, '') FROM (SELECT (
      WITH RECURSIVE place(n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < length(part))
      SELECT group_concat(char(unicode(substr(part, n, 1))), '') FROM place) AS piece
      FROM (SELECT substr(text, b * {_BLOCK} + 1, {_BLOCK}) AS part FROM block)))
  ELSE text END AS text
""".strip()


def _members(labelled: str, wanted: str, columns: str) -> str:
    """Returns SQL for messages, in batches and outside of them.

    The row of a batch does not have the labels of its messages, so these are read from their JSON.

    Args:
        labelled: the FROM and WHERE clauses of messages outside of batches; ``f`` is their row.
        wanted: a condition on the messages in batches.
        columns: the columns to compute from ``json``, the text of a message.
    """
    return f"""
SELECT *, {columns} FROM (
  SELECT f.seq, 0 AS member, f.t_ns, m.text AS method, s.text AS session, f.turn,
    c.text AS tool_call, length(f.raw) AS size, {_json("f")} AS json
  FROM {labelled}
  UNION ALL
  SELECT seq, member, t_ns, method, session,
    (SELECT max(id) FROM turns AS t WHERE t.session = b.session AND t.prompt_seq <= b.seq
      AND (t.end_seq IS NULL OR t.end_seq >= b.seq)),
    tool_call, length(json), json
  FROM (
    SELECT *, {_first("method")} AS method, {_first("params.sessionId")} AS session,
      {_first(*_NAMED)} AS tool_call
    FROM (
      SELECT f.seq, e.key AS member, f.t_ns, CASE e.type WHEN 'object' THEN e.value END AS json
      FROM frame_rows AS f, json_each({_json("f")}) AS e WHERE f.kind > 1 AND f.kind = {_BATCH})
  ) AS b WHERE {wanted})
""".strip()


_NAMED = (
    "params.toolCallId",
    "params.update.toolCallId",
    "params.toolCall.toolCallId",
    "params.subject.toolCall.toolCallId",
    "params.subject.toolCallId",
)
_LABELS = """
  LEFT JOIN labels AS s ON s.id = f.session LEFT JOIN labels AS c ON c.id = f.tool_call
""".strip()


def _asked(methods: str, direction: str) -> str:
    """Returns SQL for exchanges, with the JSON of the request and of the answer.

    Args:
        methods: the methods of the exchanges, as a list in SQL.
        direction: the direction of the requests.
    """
    texts = [
        f"""CASE {row}.kind WHEN {_BATCH} THEN (
      SELECT e.value FROM json_each({_json(row)}) AS e
      WHERE CASE e.type WHEN 'object' THEN json_extract(e.value, '$.id', '$.method') END
        = '[' || x.rpc_id || {end} LIMIT 1)
    ELSE {_json(row)} END"""
        for row, end in (("q", """',"' || x.method || '"]'"""), ("a", "',null]'"))
    ]
    return f"""
SELECT x.id, x.method, x.request_seq, x.response_seq, x.session, x.outcome, x.latency_ns, q.t_ns,
    coalesce(q.turn, CASE q.kind WHEN {_BATCH} THEN (
      SELECT max(id) FROM turns AS t WHERE t.session = x.session AND t.prompt_seq <= q.seq
        AND (t.end_seq IS NULL OR t.end_seq >= q.seq)) END) AS turn,
    (SELECT text FROM labels WHERE id = q.tool_call) AS labelled,
    {texts[0]} AS json,
    {texts[1]} AS answer
  FROM exchanges AS x JOIN frame_rows AS q ON q.seq = x.request_seq
    LEFT JOIN frame_rows AS a ON a.seq = x.response_seq
  WHERE x.method IN {methods} AND x.direction = '{direction}'
""".strip()


_KINDS = " ".join(f"WHEN kind IN {_listed(kinds)} THEN '{role}'" for role, kinds in _ROLES.items())
_SAYING = _listed((UPDATE, PROMPT, "session/load", "session/resume"))
_SAID = f"""labels AS m JOIN frame_rows AS f ON f.method = m.id {_LABELS}
  WHERE m.text IN {_SAYING} AND f.kind <= 2"""
_KIND_AND_PLACE = f"""
    CASE method WHEN '{UPDATE}' THEN
      coalesce({_first("params.update.sessionUpdate")}, {_first("params.type")})
      ELSE method END AS kind,
    CASE WHEN method != '{UPDATE}' THEN CASE WHEN json_type(json, '$.params.prompt') IS NULL
        THEN '$.params.content' ELSE '$.params.prompt' END
      WHEN json_type(json, '$.params.update') IS NULL THEN '$.params.data.content'
      ELSE '$.params.update.content' END AS place
""".strip()
# With a LIMIT, SQLite computes a column once, and not again wherever the column is used.
_MESSAGES = f"""
WITH line AS ({_members(_SAID, f"method IN {_SAYING}", _KIND_AND_PLACE)}
  LIMIT -1
), piece AS (
  SELECT seq, member, t_ns, session, turn, tool_call, kind, CASE {_KINDS} END AS role,
    {_first("params.update.messageId", "params.update.compactionId")} AS message_id,
    CASE json_type(json, place)
      WHEN 'text' THEN {_spelled("place")}
      WHEN 'object' THEN CASE WHEN json_extract(json, place || '.type') = 'text'
        AND json_type(json, place || '.text') = 'text' THEN {_spelled("place || '.text'")} END
      WHEN 'array' THEN coalesce((SELECT group_concat(CASE WHEN e.type = 'object' THEN
        CASE WHEN json_type(e.value, '$.text') = 'text' THEN {_spelled("'$.text'", "e.value")}
        END END, '') FROM json_each(line.json, place) AS e), '')
      WHEN 'null' THEN '' END AS spelled,
    method != '{UPDATE}' AS opens
  FROM line LIMIT -1
), item AS (
  SELECT *, CASE WHEN role IS NULL OR opens THEN seq || '.' || member
    ELSE role || ' ' || coalesce(turn, '') || ' ' || coalesce(message_id, '') END AS name
  FROM piece WHERE opens OR role IS NOT NULL AND spelled IS NOT NULL
    OR tool_call IS NOT NULL AND kind = '{NEW_CALL}'
    OR tool_call IS NOT NULL AND kind IN {_listed(TOOL_CALLS)} AND seq = (
      SELECT coalesce(min(f.seq), piece.seq) FROM labels AS c JOIN frame_rows AS f
      ON f.tool_call = c.id
      WHERE c.text = piece.tool_call AND f.turn IS piece.turn AND f.kind = {_NOTIFICATION})
), placed AS (
  SELECT *, row_number() OVER w AS n, sum(opens) OVER w AS part,
    name IS NOT lag(name) OVER w AS is_new
  FROM item WINDOW w AS (PARTITION BY session ORDER BY seq, member)
), grouped AS (
  SELECT *, CASE WHEN message_id IS NULL THEN sum(is_new) OVER w ELSE part || ' ' || name END AS run
  FROM placed WINDOW w AS (PARTITION BY session ORDER BY n)
), kept AS (
  SELECT *, max(CASE WHEN kind IN {_WHOLE} THEN n END) OVER (PARTITION BY session, run)
    AS whole
  FROM grouped WHERE role IS NOT NULL
)
SELECT first_seq, last_seq, session, turn, role, {_word("message_id")}, frames, seconds,
  duration_ns, {_VALID_TEXT}
FROM (
  SELECT min(seq) AS first_seq, max(seq) AS last_seq, session, turn, role, message_id,
    count(DISTINCT seq) AS frames, round(min(t_ns) / 1e9, 6) AS seconds,
    max(t_ns) - min(t_ns) AS duration_ns,
    json_extract('"' || coalesce(group_concat(
      CASE WHEN whole IS NULL OR n >= whole THEN spelled END, ''), '') || '"', '$') AS text
  FROM (SELECT * FROM kept ORDER BY session, run, n) GROUP BY session, run)
ORDER BY first_seq
""".strip()

_OPTION = "json_extract(o.value, '$.optionId')"
_PERMISSIONS = f"""
WITH exchange AS (
  {_asked(f"('{PERMISSION}')", "to-client")}
), placed AS (
  SELECT *, coalesce({_object("params.toolCall", "params.subject.toolCall")}, '$.none') AS place,
    CASE json_type(answer, '$.result.outcome') WHEN 'object' THEN '$.result.outcome'
      ELSE '$.result' END AS decided
  FROM exchange
), named AS (
  SELECT *, coalesce(labelled, {_first(*_NAMED)}) AS tool_call,
    json_extract(answer, decided || '.optionId') AS option_id,
    coalesce({_first("params.title", "params.message")},
      {_within("title", "name", "tool", "toolCallId", "id")},
      {_first("params.operation")} || ' ' || {_first("params.resource")},
      {_first("params.operation", "params.resource")}) AS asked
  FROM placed
)
SELECT request_seq, response_seq, session, turn, {_word("tool_call")}, {_valid("asked")}, options,
  {_word("chosen")}, waited_ns
FROM (
  SELECT *,
    CASE json_type(json, '$.params.options') WHEN 'array'
      THEN json_extract(json, '$.params.options') END AS options,
    CASE WHEN response_seq IS NOT NULL THEN coalesce(nullif(outcome, 'result'),
      CASE json_type(answer, '$.result.granted')
        WHEN 'true' THEN 'granted' WHEN 'false' THEN 'denied' END,
      (SELECT nullif(json_extract(o.value, '$.kind'), '')
        FROM json_each(named.json, '$.params.options') AS o
        WHERE CASE o.type WHEN 'object' THEN {_OPTION} END = option_id LIMIT 1),
      nullif(option_id, ''), nullif(json_extract(answer, decided || '.outcome'), ''),
      'answered') END AS chosen,
    coalesce(latency_ns, (SELECT max(t_ns) FROM (SELECT max(t_ns) AS t_ns FROM frame_rows
      UNION ALL SELECT max(t_ns) FROM events)) - t_ns) AS waited_ns
  FROM named)
ORDER BY id
""".strip()

_LATEST = ", ".join(
    f"substr(max(printf('%020d%09d', seq, member) || {column}), 30) AS {column}"
    for column in ("title", "kind", "status", "permission")
)
_ABOUT = f"""frame_rows AS f JOIN labels AS c ON c.id = f.tool_call
    LEFT JOIN labels AS m ON m.id = f.method LEFT JOIN labels AS s ON s.id = f.session
  WHERE f.tool_call IS NOT NULL AND f.kind != {_BATCH}"""
_CALL = _object("params.update", "params.data", "params.toolCall", "params.subject.toolCall")
_LAST_MEMBER = 999_999_999
"""A member number that sorts the result of a permission request after all messages of its frame."""
_UPDATE_KIND = f"coalesce({_first('params.update.sessionUpdate')}, {_first('params.type')})"
# An ``opener`` is a message that can begin another call with the same id, by the rules of
# `protocol.call_ids`. When a session is opened again, its history repeats the earlier calls.
_TOOL_CALLS = f"""
WITH line AS ({_members(_ABOUT, "tool_call IS NOT NULL", f"{_CALL} AS place")}
), state AS (
  SELECT *, {_within("title", "name", "tool")} AS title, {_within("kind")} AS kind,
    {_within("status")} AS status,
    CASE json_extract(json, '$.method') WHEN '{PERMISSION}' THEN 1 WHEN '{UPDATE}'
      THEN {_UPDATE_KIND} = '{NEW_CALL}' END AS opener
  FROM line
), opened AS (
  SELECT seq, member, t_ns, session, turn, tool_call, size, title, kind, status, opener,
    CASE WHEN opener THEN 1 WHEN status IN {_listed(RUNNING)} THEN
      (SELECT dialect = '{V2}' FROM recording) AND {_UPDATE_KIND} = '{_UPDATED}' END AS opens,
    NULL AS permission
  FROM state
  UNION ALL
  SELECT request_seq, {_LAST_MEMBER}, NULL, session, turn, tool_call, 0, NULL, NULL, NULL, 0, 0,
    coalesce(chosen, 'open')
  FROM permissions WHERE tool_call IS NOT NULL
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY session, tool_call ORDER BY seq, member) AS n
  FROM opened
), known AS (
  SELECT *, max(CASE WHEN opens THEN n END) OVER before AS last_opened,
    max(CASE WHEN status IN {_listed(tuple(sorted(FINAL)))} THEN n END) OVER before AS last_ended,
    max(turn) OVER before AS last_turn,
    first_value(seq) OVER (PARTITION BY session, tool_call ORDER BY n) AS first
  FROM ordered WINDOW before AS (PARTITION BY session, tool_call ORDER BY n
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), numbered AS (
  SELECT *, sum(opens AND n > 1 AND (last_ended >= coalesce(last_opened, 0)
      OR opener AND turn IS NOT NULL AND turn IS NOT last_turn)
    AND NOT (turn IS NULL AND EXISTS (SELECT 1 FROM exchanges AS x
      WHERE x.method IN {_listed(OPENING[1:])} AND x.session IS known.session
        AND known.first < x.request_seq AND x.request_seq < known.seq
        AND coalesce(x.response_seq, known.seq) >= known.seq)))
    OVER (PARTITION BY session, tool_call ORDER BY n) AS number
  FROM known
), placed AS (
  SELECT *, first_value(turn) OVER (PARTITION BY session, tool_call, number ORDER BY n)
    AS first_turn
  FROM numbered
)
SELECT id, session, turn, {_valid("title")}, {_word("kind", "status")}, first_seq, last_seq,
  frames, bytes, seconds, duration_ns, permission
FROM (
  SELECT tool_call AS id, session, first_turn AS turn, {_LATEST},
    min(seq) AS first_seq, max(seq) AS last_seq, count(DISTINCT seq) AS frames,
    sum(size) AS bytes, round(min(t_ns) / 1e9, 6) AS seconds,
    max(CASE WHEN turn IS first_turn THEN t_ns END) - min(t_ns) AS duration_ns
  FROM placed GROUP BY session, tool_call, number HAVING count(t_ns) > 0
)
ORDER BY first_seq
""".strip()

_SESSIONS = f"""
WITH opening AS (
  SELECT session, id, substr(method, 9) AS how, outcome,
    {_first("params.cwd", "params.workingDirectory")} AS cwd
  FROM ({_asked(_listed(OPENING), "to-agent")})
), traffic AS (
  SELECT session, count(*) AS frames, sum(length(raw)) AS bytes, max(seq) AS last_seq,
    count(DISTINCT tool_call) AS tool_calls
  FROM frame_rows GROUP BY session
)
SELECT id, {_valid("cwd")}, opened, first_seq, last_seq, turns, tool_calls, frames, bytes
FROM (
  SELECT x.session AS id,
    (SELECT cwd FROM opening AS o WHERE o.session = x.session AND cwd IS NOT NULL
      ORDER BY o.id DESC LIMIT 1) AS cwd,
    (SELECT group_concat(how, ', ') FROM (SELECT how FROM opening AS o
      WHERE o.session = x.session AND o.outcome = 'result' ORDER BY o.id)) AS opened,
    min(x.request_seq) AS first_seq,
    max(max(coalesce(x.response_seq, x.request_seq)), coalesce(f.last_seq, 0)) AS last_seq,
    (SELECT count(*) FROM turns AS t WHERE t.session = x.session) AS turns,
    coalesce(f.tool_calls, 0) AS tool_calls, coalesce(f.frames, 0) AS frames,
    coalesce(f.bytes, 0) AS bytes
  FROM exchanges AS x LEFT JOIN labels AS s ON s.text = x.session
    LEFT JOIN traffic AS f ON f.session = s.id
  WHERE x.session IS NOT NULL GROUP BY x.session)
ORDER BY first_seq
""".strip()


def _unindented(sql: str) -> str:
    """Returns SQL without indentation, which would take space in each recording."""
    return re.sub(r"\n\s+", "\n ", sql)


STORED_VIEWS = {
    **VIEWS,
    "messages": _unindented(_MESSAGES),
    "permissions": _unindented(_PERMISSIONS),
    "tool_calls": _unindented(_TOOL_CALLS),
    "sessions": _unindented(_SESSIONS),
}
"""The SELECT of each view, in the order of creation, since some views use others."""
