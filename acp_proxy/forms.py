"""The one converter that reads and writes our own values as JSON."""

from cattrs.preconf.json import make_converter

converter = make_converter()
"""attrs values to plain JSON and back; ACP frames never pass through it."""
