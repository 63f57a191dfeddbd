"""One pass finds all places where words may begin."""

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction import fingerprints
from acp_proxy.redaction.fingerprints import Fingerprints, fingerprint_of

SEQUENCES = ["key", "KEY", "hp_", "xb-", "://", 'nv"', "pas", "zzz", "\\u0"]


@given(st.lists(st.sampled_from([*SEQUENCES, "a", "-", "ke", "é"]), max_size=30))
def test_no_place_is_left_out(pieces: list[str]) -> None:
    """Each place where a fingerprint stands is among those that are found."""
    data = "".join(pieces).encode()
    places = set(Fingerprints(SEQUENCES).places(data))
    for sequence in SEQUENCES:
        for place in range(len(data)):
            if data.startswith(sequence.encode(), place):
                assert place in places


def test_a_place_between_two_blocks() -> None:
    """Large data is searched in blocks, and a sequence may stand across their border."""
    for place in range(fingerprints._BLOCK - 4, fingerprints._BLOCK + 4):
        data = b"." * place + b"key" + b"." * fingerprints._BLOCK
        assert Fingerprints(["key"]).places(data) == [place]


def test_a_word_without_a_known_fingerprint() -> None:
    """It is found by how it begins."""
    assert fingerprint_of("zzz9_", exact=True) == "zzz"
