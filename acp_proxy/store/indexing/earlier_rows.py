"""Masks secrets in the rows that were written before the secrets were recognized.

Rows may contain a secret that was recognized only later. So at the end of the conversation, all
rows that were written before the last new secret was recognized are searched again for all known
secrets.

One transaction writes the masked rows, and stores that the search is complete
(`IndexerState.search_before`). Only then may the log be removed, since no other file contains the
secrets.
"""

import sqlite3
from contextlib import suppress

from acp_proxy.base.forms import converter
from acp_proxy.recording.recording import Recording
from acp_proxy.redaction.redactor import Redactor
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.indexing.row_batch import write_recording
from acp_proxy.store.queries.masked_rows import MaskedRows, Watch, masked_recording
from acp_proxy.store.tables.schema import MASKED as IS_MASKED
from acp_proxy.store.tables.views import MASKED

_COLUMNS = {
    "frame_rows": ("seq", "seq", ("raw",)),
    "events": ("seq", "seq", ("data",)),
    "faults_fired": ("rowid", "place", ("received", "delivered")),
}
"""For each table: its key, the name of the key in the masked rows, and the columns to be masked."""


def mask_earlier(indexer: Indexer, watch: Watch | None = None) -> None:
    """Masks rows that were indexed before their secrets were recognized.

    Call this function at the end of the log.

    Args:
        indexer: the indexer, after it has indexed all of the log into the main tables.
        watch: called with each row before the row is searched; may raise an error.

    Raises:
        sqlite3.Error: nothing was written. An error of `watch` leaves the rows unchanged too.
    """
    state, masking = indexer.state, indexer.masking
    if masking is None or not state.search_before:
        return
    connection, until = indexer.connection, state.search_before - 1
    try:
        recording = mask_rows(connection, masking.redactor, until, state.recording, watch)
        state.search_before = 0
        known = masking.redactor.without_known(converter.dumps(state))
        connection.execute("UPDATE main.indexing SET state = ?", (known,))
        connection.commit()
    except BaseException:
        connection.rollback()
        state.search_before = until + 1
        raise
    finally:
        with suppress(sqlite3.Error):
            connection.execute(f"DETACH {MASKED}")
    state.recording = recording


def mask_rows(
    connection: sqlite3.Connection,
    redactor: Redactor,
    until: int,
    recording: Recording | None,
    watch: Watch | None = None,
) -> Recording | None:
    """Masks the rows of a recording up to the row ``until``, without a commit.

    The database ``masked`` stays attached.

    Args:
        connection: the recording, outside of a transaction.
        redactor: the redactor that has read the rows, and therefore knows the secrets.
        until: the number of the last row to mask.
        recording: the row of the recording, if there is one.
        watch: as for `mask_earlier`.

    Returns:
        The recording's row as this function has written it, without secrets; None without a row.
    """
    MaskedRows(connection, redactor, ("main",)).mask_again(redactor, until, watch)
    for table, (key, place, columns) in _COLUMNS.items():
        masked = f"FROM {MASKED}.{table} AS k"
        values = (f"{c} = (SELECT k.{c} {masked} WHERE k.{place} = {table}.{key})" for c in columns)
        flags = [f"flags = flags | {IS_MASKED}"] if table == "frame_rows" else []
        sets = ", ".join([*values, *flags])
        connection.execute(
            f"UPDATE main.{table} SET {sets} WHERE {key} IN (SELECT {place} {masked})"
        )
    if recording is not None:
        recording = masked_recording(recording, redactor)
        write_recording(connection, "main", recording)
    return recording
