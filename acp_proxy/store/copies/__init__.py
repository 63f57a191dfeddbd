"""Makes recordings from text forms and from other tools' logs, and text forms from recordings."""
