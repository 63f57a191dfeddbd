"""Makes sure that a recording's tables are tables: nothing runs when they are read or changed.

A file from somebody else may have a view in a table's place, which SQLite would compute without an
end, or a trigger, which would do more than was asked when a note is written.
"""

import sqlite3

TABLES = ("recording", "labels", "frame_rows", "exchanges", "turns", "events", "faults_fired",
          "indexing")  # fmt: skip
_NAMES = ", ".join(f"'{name}'" for name in (*TABLES, "_sqlite_migrations"))
_ODD = f"""
SELECT name, type FROM main.sqlite_master WHERE type = 'trigger'
UNION ALL
SELECT name, CASE WHEN type = 'table' THEN 'virtual table' ELSE type END FROM main.sqlite_master
  WHERE lower(name) IN ({_NAMES}) AND (type != 'table' OR rootpage = 0)
UNION ALL
SELECT t.name, 'table with computed columns'
  FROM main.sqlite_master AS t, pragma_table_xinfo(t.name)
  WHERE t.type = 'table' AND t.rootpage > 0 AND lower(t.name) IN ({_NAMES}) AND hidden != 0
LIMIT 1
"""


def check_tables(connection: sqlite3.Connection) -> None:
    """Makes sure that a database's tables are plain, as far as it has them.

    Raises:
        sqlite3.DatabaseError: one is a view or a virtual table or has computed columns; or there is
            a trigger.
        sqlite3.Error: the database cannot be read.
    """
    odd = connection.execute(_ODD).fetchone()
    if odd is not None:
        raise sqlite3.DatabaseError(f"{odd[0]} is a {odd[1]}, where a recorder makes plain tables")
