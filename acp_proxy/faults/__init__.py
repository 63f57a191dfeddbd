"""Faults: make a conversation go wrong by a plan, in the same way every time.

A fault decides and never waits: it gets a frame and yields the effects that replace it. The
drivers do the waiting, and all chance comes from the plan's seed.
"""
