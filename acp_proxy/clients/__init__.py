"""The ACP clients of this machine: reads their settings, and adds agents that are recorded."""
