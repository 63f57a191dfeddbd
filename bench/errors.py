"""The one exception of the bench."""


class BenchError(Exception):
    """Something could not be measured; the text says what and why."""
