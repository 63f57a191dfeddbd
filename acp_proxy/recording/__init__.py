"""A recording as values: its frames, its files' names, its log's format, filters and text form."""
