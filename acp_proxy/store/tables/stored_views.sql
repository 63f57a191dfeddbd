-- The views that are stored in the file of a recording, besides `frames`, for queries with other
-- programs. A view whose name begins with an underscore is only a part of others.
--
-- They are plain SQL that works since SQLite 3.31. A line may be anything, so members are read only
-- from valid JSON of less than 2 MB, or of ASCII. JSON may contain half of a surrogate pair, which
-- SQLite reads as U+FFFD, and which Python's sqlite3 does not accept as text. So text with
-- char(65533) is rebuilt from its code points, and a word of the protocol becomes NULL.
--
-- If a query and the query in it have LIMIT -1, SQLite does not merge the two. A merged query would
-- read the JSON again for each use of a column.

-- `frame_kind` is 1 for a notification, 2 for a request, 5 for a batch. `call` is not NULL if
-- `tool_call` is not, and has an index.
CREATE VIEW "_lines" AS
SELECT f.seq, f.t_ns, f.kind AS frame_kind, m.text AS method, s.text AS session, f.turn,
  c.text AS tool_call, f.tool_call AS call, length(f.raw) AS size,
  CASE WHEN (length(f.raw) < 2097152 OR CAST(f.raw AS TEXT) NOT GLOB '*[^ -~]*')
    AND json_valid(CAST(f.raw AS TEXT)) THEN CAST(f.raw AS TEXT) END AS json
FROM frame_rows AS f LEFT JOIN labels AS m ON m.id = f.method
  LEFT JOIN labels AS s ON s.id = f.session LEFT JOIN labels AS c ON c.id = f.tool_call;

-- The row of a batch does not have the labels of its messages, so these are read from their JSON.
CREATE VIEW "_members" AS
SELECT *, json_extract(json, '$.id', '$.method') AS id_and_method,
  nullif(json_extract(json, '$.method'), '') AS method,
  nullif(json_extract(json, '$.params.sessionId'), '') AS session,
  nullif(coalesce(json_extract(json, '$.params.toolCallId'),
    json_extract(json, '$.params.update.toolCallId'),
    json_extract(json, '$.params.toolCall.toolCallId'),
    json_extract(json, '$.params.subject.toolCall.toolCallId'),
    json_extract(json, '$.params.subject.toolCallId')), '') AS tool_call
FROM (
  SELECT l.seq, e.key AS member, l.t_ns, l.frame_kind,
    CASE e.type WHEN 'object' THEN e.value END AS json
  FROM _lines AS l, json_each(l.json) AS e WHERE l.frame_kind > 1 AND l.frame_kind = 5);

-- The messages of all lines, also those in a batch.
CREATE VIEW "_messages" AS
SELECT *, coalesce(nullif(json_extract(json, '$.params.update.sessionUpdate'), ''),
  nullif(json_extract(json, '$.params.type'), '')) AS update_kind
FROM (
  SELECT seq, 0 AS member, t_ns, frame_kind, method, session, turn, tool_call, call, size, json
  FROM _lines WHERE frame_kind != 5
  UNION ALL
  SELECT seq, member, t_ns, frame_kind, method, session,
    (SELECT max(id) FROM turns AS t WHERE t.session = b.session AND t.prompt_seq <= b.seq
      AND (t.end_seq IS NULL OR t.end_seq >= b.seq)),
    tool_call, tool_call, length(json), json
  FROM _members AS b);

-- The exchanges with the JSON of request and answer. `waited_ns` lasts until the answer, or until
-- the end of the recording.
CREATE VIEW "_exchanges" AS
SELECT x.*,
  coalesce(x.latency_ns, (SELECT max(t_ns) FROM (SELECT max(t_ns) AS t_ns FROM frame_rows
    UNION ALL SELECT max(t_ns) FROM events)) - q.t_ns) AS waited_ns,
  coalesce(q.turn, CASE q.frame_kind WHEN 5 THEN (
    SELECT max(id) FROM turns AS t WHERE t.session = x.session AND t.prompt_seq <= q.seq
      AND (t.end_seq IS NULL OR t.end_seq >= q.seq)) END) AS turn,
  coalesce(q.tool_call, (SELECT tool_call FROM _members
    WHERE seq = x.request_seq AND id_and_method = x.wanted LIMIT 1)) AS tool_call,
  coalesce((SELECT json FROM _members
    WHERE seq = x.request_seq AND id_and_method = x.wanted LIMIT 1), q.json) AS json,
  coalesce((SELECT json FROM _members
    WHERE seq = x.response_seq AND id_and_method = '[' || x.rpc_id || ',null]' LIMIT 1),
    (SELECT json FROM _lines WHERE seq = x.response_seq)) AS answer
FROM (SELECT *, '[' || rpc_id || ',"' || method || '"]' AS wanted FROM exchanges) AS x
  JOIN _lines AS q ON q.seq = x.request_seq;

-- 200 characters take at most 800 bytes.
CREATE VIEW "timeline" AS
SELECT seq, round(t_ns / 1e9, 6) AS seconds, stream, kind, method, rpc_id, session, turn, size,
  CASE WHEN kind IN ('stderr', 'invalid') AND start GLOB '*[^ -~]*' THEN (
    WITH RECURSIVE place(n) AS (
      SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < min(200, length(start)))
    SELECT group_concat(char(unicode(substr(start, n, 1))), '') FROM place)
  ELSE substr(start, 1, 200) END AS preview
FROM (SELECT *, CAST(substr(raw, 1, 800) AS TEXT) AS start FROM frames)
UNION ALL
SELECT seq, round(t_ns / 1e9, 6), NULL, kind, NULL, NULL, NULL, NULL, NULL, data FROM events
ORDER BY seq;

CREATE VIEW "unanswered" AS
SELECT id, direction, method, rpc_id, session, request_seq,
  round(waited_ns / 1e9, 3) AS waited_seconds
FROM _exchanges WHERE response_seq IS NULL ORDER BY id;

CREATE VIEW "latency" AS
SELECT method, direction, count(*) AS exchanges, count(latency_ns) AS answered,
  sum(outcome = 'error') AS errors, round(min(latency_ns) / 1e6, 3) AS min_ms,
  round(avg(latency_ns) / 1e6, 3) AS mean_ms, round(max(latency_ns) / 1e6, 3) AS max_ms
FROM exchanges GROUP BY method, direction ORDER BY max_ms DESC;

-- The pieces of a message are joined before their escapes are decoded, since some agents cut
-- between the two halves of a surrogate pair. SQLite returns several members as an array, and keeps
-- their escapes in it: ["text",null]. 500 characters of a message are repaired at once, since
-- SQLite's substr counts from the beginning of the text each time.
CREATE VIEW "messages" AS
WITH line AS (
  SELECT *, CASE method WHEN 'session/update' THEN update_kind ELSE method END AS kind,
    CASE WHEN method != 'session/update' THEN CASE WHEN json_type(json, '$.params.prompt') IS NULL
        THEN '$.params.content' ELSE '$.params.prompt' END
      WHEN json_type(json, '$.params.update') IS NULL THEN '$.params.data.content'
      ELSE '$.params.update.content' END AS place
  FROM _messages
  WHERE method IN ('session/update', 'session/prompt', 'session/load', 'session/resume')
    AND (frame_kind <= 2 OR frame_kind = 5)
  LIMIT -1
), piece AS (
  SELECT seq, member, t_ns, session, turn, tool_call, kind,
    CASE WHEN kind IN ('session/prompt', 'user_message_chunk', 'user_message') THEN 'user'
    WHEN kind IN ('agent_message_chunk', 'agent_message') THEN 'agent'
    WHEN kind IN ('agent_thought_chunk', 'thought_message_chunk', 'agent_thought') THEN 'thought'
    WHEN kind IN ('compaction_summary_chunk') THEN 'summary' END AS role,
    nullif(coalesce(json_extract(json, '$.params.update.messageId'),
      json_extract(json, '$.params.update.compactionId')), '') AS message_id,
    CASE json_type(json, place)
      WHEN 'text' THEN
        substr(json_extract(json, place, '$[0]'), 3, length(json_extract(json, place, '$[0]')) - 9)
      WHEN 'object' THEN CASE WHEN json_extract(json, place || '.type') = 'text'
        AND json_type(json, place || '.text') = 'text' THEN
        substr(json_extract(json, place || '.text', '$[0]'), 3,
          length(json_extract(json, place || '.text', '$[0]')) - 9) END
      WHEN 'array' THEN coalesce((SELECT group_concat(CASE WHEN e.type = 'object' THEN
        CASE WHEN json_type(e.value, '$.text') = 'text' THEN
        substr(json_extract(e.value, '$.text', '$[0]'), 3,
          length(json_extract(e.value, '$.text', '$[0]')) - 9)
        END END, '') FROM json_each(line.json, place) AS e), '')
      WHEN 'null' THEN '' END AS spelled,
    method != 'session/update' AS opens
  FROM line LIMIT -1
), item AS (
  SELECT *, CASE WHEN role IS NULL OR opens THEN seq || '.' || member
    ELSE role || ' ' || coalesce(turn, '') || ' ' || coalesce(message_id, '') END AS name
  FROM piece WHERE opens OR role IS NOT NULL AND spelled IS NOT NULL
    OR tool_call IS NOT NULL AND kind = 'tool_call'
    OR tool_call IS NOT NULL AND kind IN ('tool_call', 'tool_call_update') AND seq = (
      SELECT coalesce(min(f.seq), piece.seq) FROM labels AS c JOIN frame_rows AS f
      ON f.tool_call = c.id
      WHERE c.text = piece.tool_call AND f.turn IS piece.turn AND f.kind = 1)
), placed AS (
  SELECT *, row_number() OVER w AS n, sum(opens) OVER w AS part,
    name IS NOT lag(name) OVER w AS is_new
  FROM item WINDOW w AS (PARTITION BY session ORDER BY seq, member)
), grouped AS (
  SELECT *, CASE WHEN message_id IS NULL THEN sum(is_new) OVER w ELSE part || ' ' || name END AS run
  FROM placed WINDOW w AS (PARTITION BY session ORDER BY n)
), kept AS (
  SELECT *, max(CASE WHEN kind IN ('user_message', 'agent_message', 'agent_thought') THEN n END)
    OVER (PARTITION BY session, run) AS whole
  FROM grouped WHERE role IS NOT NULL
)
SELECT first_seq, last_seq, session, turn, role,
  CASE WHEN message_id GLOB '*' || char(65533) || '*' THEN NULL ELSE message_id END AS message_id,
  frames, seconds, duration_ns,
  CASE WHEN text GLOB '*' || char(65533) || '*' THEN (
    WITH RECURSIVE block(b) AS (
      SELECT 0 UNION ALL SELECT b + 1 FROM block WHERE (b + 1) * 500 < length(text))
    SELECT group_concat(piece, '') FROM (SELECT (
      WITH RECURSIVE place(n) AS (
        SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < length(part))
      SELECT group_concat(char(unicode(substr(part, n, 1))), '') FROM place) AS piece
      FROM (SELECT substr(text, b * 500 + 1, 500) AS part FROM block)))
  ELSE text END AS text
FROM (
  SELECT min(seq) AS first_seq, max(seq) AS last_seq, session, turn, role, message_id,
    count(DISTINCT seq) AS frames, round(min(t_ns) / 1e9, 6) AS seconds,
    max(t_ns) - min(t_ns) AS duration_ns,
    json_extract('"' || coalesce(group_concat(
      CASE WHEN whole IS NULL OR n >= whole THEN spelled END, ''), '') || '"', '$') AS text
  FROM (SELECT * FROM kept ORDER BY session, run, n) GROUP BY session, run)
ORDER BY first_seq;

CREATE VIEW "permissions" AS
WITH placed AS (
  SELECT *,
    coalesce(CASE 'object'
      WHEN json_type(json, '$.params.toolCall') THEN '$.params.toolCall'
      WHEN json_type(json, '$.params.subject.toolCall') THEN '$.params.subject.toolCall'
      END, '$.none') AS place,
    CASE json_type(answer, '$.result.outcome') WHEN 'object' THEN '$.result.outcome'
      ELSE '$.result' END AS decided
  FROM _exchanges
  WHERE method IN ('session/request_permission') AND direction = 'to-client' LIMIT -1
), named AS (
  SELECT *, json_extract(answer, decided || '.optionId') AS option_id,
    coalesce(nullif(coalesce(json_extract(json, '$.params.title'),
      json_extract(json, '$.params.message')), ''),
      nullif(coalesce(json_extract(json, place || '.title'), json_extract(json, place || '.name'),
        json_extract(json, place || '.tool'), json_extract(json, place || '.toolCallId'),
        json_extract(json, place || '.id')), ''),
      nullif(json_extract(json, '$.params.operation'), '') || ' '
        || nullif(json_extract(json, '$.params.resource'), ''),
      nullif(coalesce(json_extract(json, '$.params.operation'),
        json_extract(json, '$.params.resource')), '')) AS asked
  FROM placed LIMIT -1
)
SELECT request_seq, response_seq, session, turn,
  CASE WHEN tool_call GLOB '*' || char(65533) || '*' THEN NULL ELSE tool_call END AS tool_call,
  CASE WHEN asked GLOB '*' || char(65533) || '*' THEN (
    WITH RECURSIVE place(n) AS (
      SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < min(1000, length(asked)))
    SELECT group_concat(char(unicode(substr(asked, n, 1))), '') FROM place)
  ELSE asked END AS asked,
  options,
  CASE WHEN chosen GLOB '*' || char(65533) || '*' THEN NULL ELSE chosen END AS chosen,
  waited_ns
FROM (
  SELECT *,
    CASE json_type(json, '$.params.options') WHEN 'array'
      THEN json_extract(json, '$.params.options') END AS options,
    CASE WHEN response_seq IS NOT NULL THEN coalesce(nullif(outcome, 'result'),
      CASE json_type(answer, '$.result.granted')
        WHEN 'true' THEN 'granted' WHEN 'false' THEN 'denied' END,
      (SELECT nullif(json_extract(o.value, '$.kind'), '')
        FROM json_each(named.json, '$.params.options') AS o
        WHERE CASE o.type WHEN 'object' THEN json_extract(o.value, '$.optionId') END = option_id
        LIMIT 1),
      nullif(option_id, ''), nullif(json_extract(answer, decided || '.outcome'), ''),
      'answered') END AS chosen
  FROM named)
ORDER BY id;

-- An `opener` is a message that can begin another call with the same id, by the rules of
-- protocol/call_ids.py. When a session is opened again, its history repeats the earlier calls. The
-- member number 999999999 sorts the result of a permission request after all messages of its frame.
CREATE VIEW "tool_calls" AS
WITH line AS (
  SELECT *,
    CASE 'object'
      WHEN json_type(json, '$.params.update') THEN '$.params.update'
      WHEN json_type(json, '$.params.data') THEN '$.params.data'
      WHEN json_type(json, '$.params.toolCall') THEN '$.params.toolCall'
      WHEN json_type(json, '$.params.subject.toolCall') THEN '$.params.subject.toolCall'
      END AS place
  FROM _messages WHERE call IS NOT NULL
), state AS (
  SELECT *, nullif(coalesce(json_extract(json, place || '.title'),
    json_extract(json, place || '.name'), json_extract(json, place || '.tool')), '') AS title,
    nullif(json_extract(json, place || '.kind'), '') AS kind,
    nullif(json_extract(json, place || '.status'), '') AS status,
    CASE json_extract(json, '$.method') WHEN 'session/request_permission' THEN 1
      WHEN 'session/update' THEN update_kind = 'tool_call' END AS opener
  FROM line
), opened AS (
  SELECT seq, member, t_ns, session, turn, tool_call, size, title, kind, status, opener,
    CASE WHEN opener THEN 1 WHEN status IN ('pending', 'in_progress', 'awaiting_permission') THEN
      (SELECT dialect = 'v2' FROM recording) AND update_kind = 'tool_call_update' END AS opens,
    NULL AS permission
  FROM state
  UNION ALL
  SELECT request_seq, 999999999, NULL, session, turn, tool_call, 0, NULL, NULL, NULL, 0, 0,
    coalesce(chosen, 'open')
  FROM permissions WHERE tool_call IS NOT NULL
), ordered AS (
  SELECT *, row_number() OVER (PARTITION BY session, tool_call ORDER BY seq, member) AS n
  FROM opened
), known AS (
  SELECT *, max(CASE WHEN opens THEN n END) OVER before AS last_opened,
    max(CASE WHEN status IN ('cancelled', 'completed', 'denied', 'failed') THEN n END)
      OVER before AS last_ended,
    max(turn) OVER before AS last_turn,
    first_value(seq) OVER (PARTITION BY session, tool_call ORDER BY n) AS first
  FROM ordered WINDOW before AS (PARTITION BY session, tool_call ORDER BY n
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), numbered AS (
  SELECT *, sum(opens AND n > 1 AND (last_ended >= coalesce(last_opened, 0)
      OR opener AND turn IS NOT NULL AND turn IS NOT last_turn)
    AND NOT (turn IS NULL AND EXISTS (SELECT 1 FROM exchanges AS x
      WHERE x.method IN ('session/load', 'session/resume', 'session/fork')
        AND x.session IS known.session
        AND known.first < x.request_seq AND x.request_seq < known.seq
        AND coalesce(x.response_seq, known.seq) >= known.seq)))
    OVER (PARTITION BY session, tool_call ORDER BY n) AS number
  FROM known
), placed AS (
  SELECT *, first_value(turn) OVER (PARTITION BY session, tool_call, number ORDER BY n)
    AS first_turn
  FROM numbered
)
SELECT id, session, turn,
  CASE WHEN title GLOB '*' || char(65533) || '*' THEN (
    WITH RECURSIVE place(n) AS (
      SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < min(1000, length(title)))
    SELECT group_concat(char(unicode(substr(title, n, 1))), '') FROM place)
  ELSE title END AS title,
  CASE WHEN kind GLOB '*' || char(65533) || '*' THEN NULL ELSE kind END AS kind,
  CASE WHEN status GLOB '*' || char(65533) || '*' THEN NULL ELSE status END AS status,
  first_seq, last_seq, frames, bytes, seconds, duration_ns, permission
FROM (
  SELECT tool_call AS id, session, first_turn AS turn,
    substr(max(printf('%020d%09d', seq, member) || title), 30) AS title,
    substr(max(printf('%020d%09d', seq, member) || kind), 30) AS kind,
    substr(max(printf('%020d%09d', seq, member) || status), 30) AS status,
    substr(max(printf('%020d%09d', seq, member) || permission), 30) AS permission,
    min(seq) AS first_seq, max(seq) AS last_seq, count(DISTINCT seq) AS frames,
    sum(size) AS bytes, round(min(t_ns) / 1e9, 6) AS seconds,
    max(CASE WHEN turn IS first_turn THEN t_ns END) - min(t_ns) AS duration_ns
  FROM placed GROUP BY session, tool_call, number HAVING count(t_ns) > 0
)
ORDER BY first_seq;

CREATE VIEW "sessions" AS
WITH opening AS (
  SELECT session, id, substr(method, 9) AS how, outcome,
    nullif(coalesce(json_extract(json, '$.params.cwd'),
      json_extract(json, '$.params.workingDirectory')), '') AS cwd
  FROM _exchanges
  WHERE method IN ('session/new', 'session/load', 'session/resume', 'session/fork')
    AND direction = 'to-agent'
), traffic AS (
  SELECT session, count(*) AS frames, sum(length(raw)) AS bytes, max(seq) AS last_seq,
    count(DISTINCT tool_call) AS tool_calls
  FROM frame_rows GROUP BY session
)
SELECT id,
  CASE WHEN cwd GLOB '*' || char(65533) || '*' THEN (
    WITH RECURSIVE place(n) AS (
      SELECT 1 UNION ALL SELECT n + 1 FROM place WHERE n < min(1000, length(cwd)))
    SELECT group_concat(char(unicode(substr(cwd, n, 1))), '') FROM place)
  ELSE cwd END AS cwd,
  opened, first_seq, last_seq, turns, tool_calls, frames, bytes
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
ORDER BY first_seq;
