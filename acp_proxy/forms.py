"""The one converter that reads and writes every form that is ours."""

from cattrs.preconf.json import make_converter

converter = make_converter()
"""attrs values to plain JSON and back; ACP frames never pass through it."""
