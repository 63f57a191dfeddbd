"""The recorded client, played to a live agent: events in, commands out.

`recorded_client` is the recording as the client sees it: what it sends, in lanes, and what it has
received before each message. `send_conditions` decides when a message may go out, `sender` sends
it, `agent_messages` takes what the agent says, `agent_requests` finds the recorded answer to what
the agent asks. `verification` is the whole.
"""
