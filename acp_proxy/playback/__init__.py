"""The replay engines: pure machines that take events and return commands.

`agent` plays the recorded agent to a live client, `client` plays the recorded client to a live
agent. They know nothing of each other; what both need is in `shared`.
"""
