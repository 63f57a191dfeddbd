"""Plays a recorded client to a live agent: an engine gets events and yields commands.

`verification` has the engine, and `verify_requests` has the parts of its state.

- `recorded_client`, `lane`, `recorded_requests` and `stream_progress` read the recording.
- `agent_messages` and `session_map` handle the agent's lines.
- `request_matcher` finds the recorded request for a live request. `known_files` has the contents
  of files, for reads that were not recorded.
- `permission_scope`, `permission_match` and `permission_guard` decide whether the recorded answer
  to a permission request may be given.
- `client_sender` and `verify_requests` choose the next frame; `composer` writes it with live values
  and with secrets in place of markers.
- `verify_report` reports what happened.
- `scripted_client` is a second, much smaller client, with which replays are tested.
"""
