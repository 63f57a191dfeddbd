"""The ACP clients of this machine: where their settings are, and how an agent is written there."""
