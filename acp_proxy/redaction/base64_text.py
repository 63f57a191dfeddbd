"""Reads and writes text that stands in a message in base64, whatever bytes it is made of."""

import base64
import binascii


def decoded_base64(text: str) -> str | None:
    """Returns the text that is encoded in base64, or None if it is not base64."""
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return None


def encoded_base64(text: str) -> bytes:
    """Returns the base64 of a text that `decoded_base64` has returned, or of one made of it."""
    return base64.b64encode(text.encode("utf-8", "surrogateescape"))
