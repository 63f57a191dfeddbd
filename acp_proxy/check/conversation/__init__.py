"""The conversation that rules receive: its sessions, terminals and requests, and its changes."""
