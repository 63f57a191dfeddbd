"""Values of a recording: frames, file names, the log format, filters and the text form."""
