"""The wire protocol: framing, JSON-RPC, correlation and dialects. Its modules do no I/O."""
