"""Fuzz targets: functions of bytes that raise an exception if a guarantee is violated.

``make fuzz`` runs each target for ten minutes with Hypothesis and, if installed, with atheris,
which looks for bytes that reach new code. The test suite runs a fixed number of examples.

To add a target, write a module with a ``TARGET`` and name it in `tests.fuzz.targets.NAMES`.
"""
