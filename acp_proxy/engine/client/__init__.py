"""A recorded client, played against a live agent: events in, commands out.

`plot` is what was recorded, as the client sees it: what it says, in lanes, and what it heard before
each message. `causes` decides when a message may go out, `speaker` says it, `hearer` takes what the
agent says, `asking` finds the recorded answer to what the agent asks. `verification` is the whole.
"""
