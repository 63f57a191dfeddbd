"""The tail of a recording: what only its log has, framed into temporary tables.

The rows and the tail have to fit together, although a recorder may be moving frames from the one to
the other. So the tail holds a read transaction on the rows, and looks after each reading of the log
whether both still begin and end at the same offset.
"""

import sqlite3

from acp_proxy.store.held_values import check_labels, limited
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
        self._indexer = Indexer(connection, log, schema="tail")
        self._start = self._indexer.state.offset
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
            LogMoved: the recorder has indexed meanwhile, so rows and tail overlap or gape.
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
        self._connection.execute("BEGIN")
        row = self._connection.execute("SELECT log_offset FROM main.indexing").fetchone()
        if (row[0] if row else 0) != self._start:
            raise LogMoved

    def settle(self) -> None:
        """Ends the recording of a recorder that is gone: unfinished lines become frames."""
        self._connection.commit()
        with limited(self._connection):
            self._indexer.settle()
