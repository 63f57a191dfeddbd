"""Phrases that reports and screens of several rooms share."""


def counted(count: int, noun: str) -> str:
    """Writes a number with its noun, such as ``1 frame`` or ``1,200 frames``.

    Args:
        count: how many there are.
        noun: what is counted, in the singular; its plural takes an s.
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
