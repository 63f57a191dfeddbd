"""Describes the parts of a message in words, a module per topic.

A describer takes an object of any shape and returns a text, which is empty if there is nothing to
say. `method_texts.METHODS` and `update_texts.UPDATES` list what describes which message. The text
may hold any character; `preview` makes it safe to print.
"""
