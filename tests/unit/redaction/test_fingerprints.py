"""One pass finds all places where words may begin."""

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction import fingerprints
from acp_proxy.redaction.fingerprints import Fingerprints

SEQUENCES = ["key", "tok", "xb-", "://", 'nv"', "pat"]


@given(st.lists(st.sampled_from([*SEQUENCES, "KEY", "a", "-", "ke", "é"]), max_size=30))
def test_no_place_is_left_out(pieces: list[str]) -> None:
    """Each place where a sequence stands in any case is among those that are found."""
    data = "".join(pieces).encode()
    folded = data.lower()
    places = set(Fingerprints(SEQUENCES).places(data))
    for sequence in SEQUENCES:
        for place in range(len(data)):
            if folded.startswith(sequence.encode(), place):
                assert place in places


def test_a_place_between_two_blocks() -> None:
    """Large data is searched in blocks, and a sequence may stand across their border."""
    for place in range(fingerprints._BLOCK - 4, fingerprints._BLOCK + 4):
        data = b"." * place + b"key" + b"." * fingerprints._BLOCK
        assert list(Fingerprints(["key"]).places(data)) == [place]
