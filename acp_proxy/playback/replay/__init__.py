"""Plays a recorded agent to a live client: an engine gets events and yields commands.

`replay` has the engine. `replay_state` has the state that the other modules share, and compares
messages.

- `schedule` and `lanes` sort the recording, which is read as far as needed.
- `client_messages` handles the client's lines, and `client_replies` the replies among them.
- `message_matcher` finds the recorded message that a live message matches.
- `divergence_handler` pairs the live with the recorded message, or logs a divergence.
- `replay_requests` tracks open requests, and `frame_scheduler` chooses the next frame.
- `frame_sender` and `withholding` rewrite the frame, and withhold or send it.
- `replay_report` reports what happened.
- `recording_choice` plays several recordings at once, until only one recording fits.
"""
