"""The text form of a recording, line by line; it knows neither files nor databases.

`header` has the first line, `writer` and `reader` the others. `spelling` decides which messages can
stand there as JSON, and `values` how the small things are written, both ways.
"""
