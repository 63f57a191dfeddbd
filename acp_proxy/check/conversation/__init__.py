"""The conversation that rules are given: its sessions, terminals, requests and changes."""
