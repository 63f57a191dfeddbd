"""Describes the parts of a message in words, a module per topic.

A describer is given an object of any shape and returns a text, which is empty if there is nothing
to describe. `method_texts.METHODS` lists the describers by method, and `session_texts.UPDATES` by
kind of update. The text may contain any character; `preview` makes the text safe to print.
"""
