"""Faults make a conversation go wrong as a plan requires, in the same way every time.

A fault decides and never waits: it gets a frame and yields the effects that replace the frame. The
drivers wait. All random numbers depend on the plan's seed.
"""
