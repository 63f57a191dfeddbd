"""``acp-proxy try``: its options, and what it shows while the agent works."""
