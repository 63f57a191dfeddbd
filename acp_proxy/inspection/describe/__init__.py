"""Says in words what the parts of a message mean, a module per topic.

Every describer takes the object that it describes, of whatever shape it came in, and returns one
piece of text, empty if there is nothing to say. `methods.METHODS` and `updates.UPDATES` list which
one describes what. The text may hold any character; `preview` makes it safe to print.
"""
