"""Plays a recorded agent to a live client: events in, commands out.

`replay` is the engine, and `replay_state` has what several of its parts share.

- `schedule` and `lanes` sort the recording, which is read as far as needed.
- `client_messages` and `client_replies` take the client's lines by their kind.
- `message_matcher` and `message_comparison` find the recorded message of a live one.
- `divergence_handler` pairs the two, or logs and answers a divergence.
- `replay_requests` knows what is open, and `frame_scheduler` chooses the next frame.
- `frame_sender` and `withholding` rewrite it, withhold it or send it.
- `replay_report` reports what happened.
- `recording_choice` plays several recordings at once, until one fits alone.
"""
