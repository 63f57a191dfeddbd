"""The replay engines: pure machines that take events and return commands.

`replay` plays the recorded agent to a live client; `verify` plays the recorded client to a live
agent. Neither engine imports the other. `shared` has the code that both need, and `drivers` runs
both.
"""
