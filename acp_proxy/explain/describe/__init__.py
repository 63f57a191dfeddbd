"""Describes the parts of a message in words, with one module for each topic.

A describer is a function that accepts an object of any shape and returns a text, which is empty if
there is nothing to describe. `method_texts.METHODS` lists the describers by method, and
`session_texts.UPDATES` lists them by kind of update. The text may contain any character; `preview`
makes the text safe to print.
"""
