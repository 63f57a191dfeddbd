"""The ACP clients of this machine: their settings, the agents in them, and how to add one."""
