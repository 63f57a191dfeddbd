"""`explain.describe.session_texts`: a prompt as a title."""

import pytest

from acp_proxy.explain.describe.session_texts import prompt_title


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("# Do **it**,\r\n\tand `x` too", "Do it, and x too"),
        ("```py\n2 ** 3 ** 4\n```\n#5 is an issue", "py 2 ** 3 ** 4 #5 is an issue"),
        ("a\x1b[1mb", "a\\x1b[1mb"),
        ("", ""),
    ],
)
def test_a_title_is_one_line_of_plain_words(said: str, title: str) -> None:
    """A title has no line breaks, no marks of Markdown and no control characters."""
    assert prompt_title({"prompt": [{"type": "text", "text": said}]}) == title
