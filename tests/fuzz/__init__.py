"""Fuzzers. Each module has a target: a function of bytes that raises if a guarantee is violated.

``make fuzz`` runs each for ten minutes, with Hypothesis and, where it is installed, with atheris,
which looks for bytes that reach new code. The suite runs a fixed number of examples of each.

To add a target, write a module with a ``TARGET`` and name it in `tests.fuzz.targets.NAMES`.
"""
