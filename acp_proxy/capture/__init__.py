"""Moves bytes and logs them first; imports the standard library's small parts only.

Nothing in this package may import anything that takes time: it stands between an editor's click and
the agent's first byte. A test holds the list of modules it may load.
"""
