-- The tables and indexes of version 1. They never change: later versions are migrations.

CREATE TABLE "recording" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tool_version" TEXT,
   "started_at" TEXT,
   "ended_at" TEXT,
   "state" TEXT,
   "command" TEXT,
   "cwd" TEXT,
   "platform" TEXT,
   "dialect" TEXT,
   "dialect_reason" TEXT,
   "client_name" TEXT,
   "client_version" TEXT,
   "agent_name" TEXT,
   "agent_version" TEXT,
   "protocol_version" TEXT,
   "exit_code" INTEGER,
   "exit_signal" INTEGER,
   "end_reason" TEXT,
   "fault_plan" TEXT,
   "seed" INTEGER,
   "redaction" TEXT,
   "connection_id" TEXT,
   "parent" TEXT
);

CREATE TABLE "labels" (
   "id" INTEGER PRIMARY KEY,
   "text" TEXT
);

CREATE UNIQUE INDEX "idx_labels_text" ON "labels" ("text");

-- The line is the last column: SQLite expands a zeroblob in memory if anything follows it.
CREATE TABLE "frame_rows" (
   "seq" INTEGER PRIMARY KEY,
   "flags" INTEGER,
   "kind" INTEGER,
   "t_ns" INTEGER,
   "lag_ns" INTEGER,
   "method" INTEGER,
   "rpc_id" TEXT,
   "exchange" INTEGER,
   "session" INTEGER,
   "turn" INTEGER,
   "tool_call" INTEGER,
   "terminal" INTEGER,
   "parse_error" TEXT,
   "fault" TEXT,
   "raw" BLOB
);

CREATE INDEX "idx_frame_rows_method_session" ON "frame_rows" ("method", "session");

CREATE INDEX frame_rows_odd ON frame_rows (kind) WHERE kind > 1;

CREATE INDEX frame_rows_tool_call ON frame_rows (tool_call) WHERE tool_call IS NOT NULL;

CREATE INDEX frame_rows_terminal ON frame_rows (terminal) WHERE terminal IS NOT NULL;

CREATE TABLE "exchanges" (
   "id" INTEGER PRIMARY KEY,
   "direction" TEXT,
   "method" TEXT,
   "rpc_id" TEXT,
   "session" TEXT,
   "request_seq" INTEGER,
   "response_seq" INTEGER,
   "latency_ns" INTEGER,
   "outcome" TEXT
);

CREATE INDEX "idx_exchanges_method" ON "exchanges" ("method");

CREATE INDEX "idx_exchanges_request_seq" ON "exchanges" ("request_seq");

CREATE INDEX "idx_exchanges_response_seq" ON "exchanges" ("response_seq");

CREATE TABLE "turns" (
   "id" INTEGER PRIMARY KEY,
   "session" TEXT,
   "prompt_seq" INTEGER,
   "end_seq" INTEGER,
   "stop_reason" TEXT,
   "updates" INTEGER,
   "tool_calls" INTEGER,
   "duration_ns" INTEGER
);

CREATE TABLE "events" (
   "seq" INTEGER PRIMARY KEY,
   "t_ns" INTEGER,
   "kind" TEXT,
   "data" TEXT
);

CREATE TABLE "faults_fired" (
   "seq" INTEGER,
   "rule" TEXT,
   "action" TEXT,
   "received" BLOB,
   "delivered" BLOB
);

CREATE TABLE "indexing" (
   "id" INTEGER PRIMARY KEY,
   "log_offset" INTEGER,
   "state" TEXT
);
