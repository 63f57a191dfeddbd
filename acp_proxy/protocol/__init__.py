"""The wire: framing, JSON-RPC, correlation and dialects, where no I/O is possible."""
