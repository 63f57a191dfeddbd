"""Faults: what goes wrong in a conversation, by a plan, the same way every time.

A fault decides and never waits: it gets a frame and yields what happens in its place. The
runtime does the waiting, and all chance comes from the plan's seed.
"""
