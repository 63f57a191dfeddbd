"""Describes the parts of a message in words, a module per topic.

A describer takes an object of any shape and returns a text, which is empty if there is nothing say.
`method_texts.METHODS` and `update_texts.UPDATES` list the describers by method and by kind of
update. The text may contain any character; `preview` makes it safe to print.
"""
