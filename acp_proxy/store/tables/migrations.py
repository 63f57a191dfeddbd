"""Creates and upgrades databases: an append-only list of small functions.

The tables of version 1 and the stored views are SQL in the files beside this module.
"""

import re
from pathlib import Path

from sqlite_utils import Database, Migrations

from acp_proxy.store.tables.schema import APPLICATION_ID, AS_STORED, frames_select

migrations = Migrations("acp_proxy")


# In a transaction, sqlite-utils looks for the ends of statements character by character, which is
# slow. No transaction is needed: the tables are made in memory, and a new database is a copy.
@migrations(name="0001_recordings", transactional=False)
def create_tables(db: Database) -> None:
    """Creates the tables of version 1, and the views as they are now."""
    db.executescript(_sql("version_1.sql"))
    columns = AS_STORED.line, AS_STORED.size, AS_STORED.masked
    db.create_view("frames", frames_select("frame_rows", "labels", *columns))
    views = _sql("stored_views.sql")
    db.executescript(re.sub(r"\n\s+", "\n ", views))  # indentation takes space in each recording
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@migrations(name="0002_note")
def add_note(db: Database) -> None:
    """Adds a column for the note that a user writes about a recording."""
    db.execute("ALTER TABLE recording ADD COLUMN note TEXT")


@migrations(name="0003_origin")
def add_origin(db: Database) -> None:
    """Adds a column for the origin of an imported recording, as JSON."""
    db.execute("ALTER TABLE recording ADD COLUMN origin TEXT")


@migrations(name="0004_late")
def add_late(db: Database) -> None:
    """Adds a column for the delay between the reading and the forwarding of a faulted line."""
    db.execute("ALTER TABLE faults_fired ADD COLUMN late_ns INTEGER")


def _sql(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
