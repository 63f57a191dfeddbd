"""Describes the parts of a message in words, with one module for each topic.

A describer is a function that accepts an object of any shape and returns a text. The text is empty
if there is nothing to describe. `method_texts.METHODS` lists the describers by method, and
`session_texts.UPDATES` by kind of update. The texts may contain any character; `preview` makes them
safe to print.
"""
