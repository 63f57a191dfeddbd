"""Plays a recorded client to a live agent: events in, commands out.

`verification` is the engine, and `verify_requests` has the parts of its state.

- `recorded_client`, `lane`, `recorded_requests` and `stream_progress` read the recording.
- `agent_messages` and `session_map` handle the agent's lines.
- `request_matcher` and `known_files` find the recorded request of a live one, or answer by default.
- `permission_scope`, `permission_match` and `permission_guard` decide whether the recorded answer
  to a permission request may be given.
- `client_sender` and `verify_requests` choose the next frame; `composer` writes it with live values
  and with secrets in place of markers.
- `verify_report` reports what happened.
- `scripted_client` is a second, much smaller client, with which replays are tested.
"""
