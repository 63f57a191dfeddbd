"""Creates and upgrades databases: an append-only list of small functions."""

from sqlite_utils import Database, Migrations

from acp_proxy.store.tables.schema import APPLICATION_ID
from acp_proxy.store.tables.stored_views import STORED_VIEWS

migrations = Migrations("acp_proxy")


@migrations(name="0001_recordings")
def create_tables(db: Database) -> None:
    """Creates the tables of version 1."""
    db.table("recording").create(
        {
            **dict.fromkeys(("id", "name", "tool_version", "started_at", "ended_at", "state"), str),
            **dict.fromkeys(("command", "cwd", "platform", "dialect", "dialect_reason"), str),
            **dict.fromkeys(("client_name", "client_version", "agent_name"), str),
            **dict.fromkeys(("agent_version", "protocol_version"), str),
            **dict.fromkeys(("exit_code", "exit_signal"), int),
            **dict.fromkeys(("end_reason", "fault_plan"), str),
            "seed": int,
            **dict.fromkeys(("redaction", "connection_id", "parent"), str),
        },
        pk="id",
    )
    db.table("labels").create({"id": int, "text": str}, pk="id")
    db.table("labels").create_index(["text"], unique=True)
    db.table("frame_rows").create(
        {
            "seq": int,
            **dict.fromkeys(("flags", "kind", "t_ns", "lag_ns", "method"), int),
            "rpc_id": str,
            **dict.fromkeys(("exchange", "session", "turn", "tool_call", "terminal"), int),
            "parse_error": str,
            "fault": str,
            "raw": bytes,  # last: SQLite expands a zeroblob in memory if anything follows it
        },
        pk="seq",
    )
    # One index for both: a second index costs 11 bytes per frame, and few sessions are rare.
    db.table("frame_rows").create_index(["method", "session"])
    db.execute("CREATE INDEX frame_rows_odd ON frame_rows (kind) WHERE kind > 1")
    # SQLite infers only the condition "IS NOT NULL" from a join on the column.
    for name in ("tool_call", "terminal"):
        db.execute(
            f"CREATE INDEX frame_rows_{name} ON frame_rows ({name}) WHERE {name} IS NOT NULL"
        )
    db.table("exchanges").create(
        {
            "id": int,
            **dict.fromkeys(("direction", "method", "rpc_id", "session"), str),
            **dict.fromkeys(("request_seq", "response_seq", "latency_ns"), int),
            "outcome": str,
        },
        pk="id",
    )
    db.table("exchanges").create_index(["method"])
    db.table("exchanges").create_index(["request_seq"])
    db.table("exchanges").create_index(["response_seq"])
    db.table("turns").create(
        {
            "id": int,
            "session": str,
            **dict.fromkeys(("prompt_seq", "end_seq"), int),
            "stop_reason": str,
            **dict.fromkeys(("updates", "tool_calls", "duration_ns"), int),
        },
        pk="id",
    )
    db.table("events").create({"seq": int, "t_ns": int, "kind": str, "data": str}, pk="seq")
    db.table("faults_fired").create(
        {"seq": int, "rule": str, "action": str, "received": bytes, "delivered": bytes}
    )
    # How much of the log is indexed, and the state of the indexer there.
    db.table("indexing").create({"id": int, "log_offset": int, "state": str}, pk="id")
    for name, select in STORED_VIEWS.items():
        db.create_view(name, select)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@migrations(name="0002_note")
def add_note(db: Database) -> None:
    """Adds the note that a user writes about a recording."""
    db.execute("ALTER TABLE recording ADD COLUMN note TEXT")


@migrations(name="0003_origin")
def add_origin(db: Database) -> None:
    """Adds the origin of an imported recording, as JSON."""
    db.execute("ALTER TABLE recording ADD COLUMN origin TEXT")


@migrations(name="0004_late")
def add_late(db: Database) -> None:
    """Adds the delay between receiving and forwarding a line that a rule fired on."""
    db.execute("ALTER TABLE faults_fired ADD COLUMN late_ns INTEGER")
