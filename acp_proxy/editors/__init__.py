"""The ACP clients of this machine: where their settings are, and how settings name an agent."""
