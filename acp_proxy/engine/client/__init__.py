"""The recorded client, played to a live agent: events in, commands out.

- `verification` is the engine. `scripted_client` is a second, much smaller one, which compares
  bytes; replays are tested with it.
- The recording: `recorded_client` reads it into lanes (`lane`) with the client's frames
  (`client_frames`) and the agent's requests (`recorded_requests`); `stream_progress` counts
  everything else.
- The state (`state`): `pending` has what the agent has still to answer, `answer_queue` what the
  client has still to answer, `session_map` the lanes of live sessions, `agent_output` how much has
  come, `patience` how long the client waits. Each is the only writer of its fields.
- Receiving: `agent_messages` takes messages, and `agent_requests` answers requests, for which
  `request_matcher` finds the recorded ones.
- Sending: `send_conditions` decides which frame may be sent, `sender` sends it, and `composer`
  writes it with the live ids and directories.
- Permissions: `permission_scope` finds what a request asks permission for, `permission_match`
  compares two requests, and `permission_guard` decides whether the recorded answer may be given.
"""
