"""The conversation as the rules see it: its sessions, terminals, requests and changes."""
