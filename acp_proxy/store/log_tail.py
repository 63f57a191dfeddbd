"""The tail of a recording: what only its log has, framed into temporary tables.

The rows and the tail have to fit together, although a recorder may be moving frames from the one to
the other, or another reader that finishes what a dead one left. So the tail holds a read
transaction on the rows, and looks after each reading of the log whether both still begin and end at
the same offset, and whether the rows are as settled as they were.
"""

import sqlite3

from acp_proxy.store.checked_values import check_labels, limited
from acp_proxy.store.indexer import Indexer
from acp_proxy.store.log_reader import LogMoved, LogReader
from acp_proxy.store.log_recovery import check_order, is_live

_BATCH = 1 << 20


class LogTail:
    """What is in a log and not in the rows.

    Args:
        connection: the rows, with an empty database ``tail`` attached.
        log: the log.

    Raises:
        ValueError: the log begins later than the rows end.
    """

    def __init__(self, connection: sqlite3.Connection, log: LogReader) -> None:
        self._connection = connection
        self._log = log
        _, remembered = self._indexed()
        self._indexer = Indexer(connection, log, schema="tail")
        self._start = self._indexer.state.offset, remembered
        check_order(self._indexer)

    @property
    def newest(self) -> int:
        """The number of the newest frame or event."""
        return self._indexer.state.next_seq - 1

    @property
    def has_recorder(self) -> bool:
        """Whether the recorder lives."""
        return is_live(self._log.fd)

    def read(self) -> None:
        """Frames what is new in the log, then holds on to the rows that go with it.

        Raises:
            LogMoved: somebody has indexed meanwhile, so rows and tail overlap or gape.
        """
        self._connection.commit()
        self._log.check()
        with limited(self._connection):
            while self._indexer.step(_BATCH):
                pass
        check_labels(self._connection, "tail.labels")
        # The recorder empties the log only after it has committed the rows. So if the log is the
        # same now, and the rows as this transaction sees them end where the tail begins, no frame
        # is in both or in neither.
        self._log.check()
        self._hold_rows()

    def settle(self) -> None:
        """Ends the recording of a recorder that is gone: unfinished lines become frames.

        Raises:
            LogMoved: another reader has indexed meanwhile.
        """
        self._connection.commit()
        with limited(self._connection):
            self._indexer.settle()
        self._hold_rows()

    def _hold_rows(self) -> None:
        self._connection.execute("BEGIN")
        if self._indexed() != self._start:
            raise LogMoved

    def _indexed(self) -> tuple[int, str]:
        """How far the log has been indexed, and what the indexer remembered there."""
        sql = "SELECT log_offset, state FROM main.indexing"
        row: tuple[int, str] | None = self._connection.execute(sql).fetchone()
        return row or (0, "")
