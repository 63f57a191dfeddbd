"""Labels written frames again when their dialect turns out to be another one.

Only the sessions and turns of frames, and the rows of exchanges and turns, follow from the dialect.
Numbers and all other labels stay.
"""

import sqlite3

from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import State
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.outline import EDGE, read_outline
from acp_proxy.protocol.peers import DIRECTIONS
from acp_proxy.store.row_batch import RowBatch
from acp_proxy.store.schema import LARGE, STREAM_CODES

_DIRECTIONS = {STREAM_CODES[stream]: direction for stream, direction in DIRECTIONS.items()}
_FRAMES = f"""
SELECT seq, t_ns, flags & 3, session, turn,
  substr(raw, 1, iif(length(raw) > {LARGE}, {EDGE}, {LARGE})),
  iif(length(raw) > {LARGE}, substr(raw, -{EDGE}), NULL)
FROM {{}}.frame_rows WHERE flags & 3 < 3 ORDER BY seq
"""


def label_again(connection: sqlite3.Connection, schema: str, state: State, dialect: str) -> State:
    """Labels the frames of a recording as if their dialect had been known from the start.

    Args:
        connection: a database with our tables; nothing is committed.
        schema: ``main``, or ``tail``, whose rows follow those of ``main``.
        state: of the machine behind the last frame.
        dialect: what it has found out.

    Returns:
        The state that the machine has then.

    Raises:
        sqlite3.Error: they could not be written, for instance since the file is open for reading.
    """
    again, batch = Connection(State(), dialect), RowBatch()
    labels: dict[str | None, int] = {}
    for name in dict.fromkeys(("main", schema)):
        labels |= connection.execute(f"SELECT text, id FROM {name}.labels")
        changed = []
        for seq, t_ns, stream, *old, head, tail in connection.execute(_FRAMES.format(name)):
            message = read(head) if tail is None else read_outline(head, tail)
            done = again.feed(seq, t_ns, _DIRECTIONS[stream], message)
            batch.keep(done)
            new = [labels.get(done.session), done.turn]
            if new != old:
                changed.append((*new, seq))
        sql = f"UPDATE {name}.frame_rows SET session = ?, turn = ? WHERE seq = ?"
        connection.executemany(sql, changed)
    batch.write(connection, schema)
    made = again.state
    made.forced, made.evidence, made.handshake = False, state.evidence, state.handshake
    return made
