"""A table of the keys of providers that are recognized by their prefix.

A row has the prefix, the alphabet of the characters after the prefix, their least number, and after
a dash their greatest number. A question mark means that other text has the same prefix too, so the
characters after the prefix must look random. A key ends before the first character that is not in
its alphabet.
"""

from base64 import b64encode
from typing import NamedTuple

ALPHABETS = {
    "hex": "[0-9a-fA-F]*",
    "upper": "[A-Z0-9]*",
    "alnum": "[A-Za-z0-9]*",
    "url": "[A-Za-z0-9_-]*",
    "base64": "[A-Za-z0-9+/]*={0,3}",
    "dots": "[A-Za-z0-9_.-]*={0,3}",
    "path": "[A-Za-z0-9_/@%+-]*",
}
"""Patterns of the characters after the prefix."""
_TABLE = """
sk-ant- url 30
sk-proj- url 40
sk-or-v1- hex 40
sk- url 20?
sk_live_ alnum 10
sk_test_ alnum 10
sk_prod_ alnum 10
rk_live_ alnum 10
rk_test_ alnum 10
rk_prod_ alnum 10
whsec_ base64 24
ghp_ url 36
gho_ url 36
ghu_ url 36
ghs_ url 36
ghr_ url 36
github_pat_ url 60
glpat- dots 20
gldt- url 20
glrt- dots 20
glptt- hex 40
glcbt- url 20
glft- url 20
glimt- url 20
gloas- url 40
glsoat- url 20
glffct- url 20
glagent- url 40
GR1348941 url 20
_gitlab_session= alnum 32
xoxb- url 20
xoxp- url 20
xoxa- url 8
xoxr- url 8
xoxe- url 20
xoxe.xox url 40
xoxo- url 20
xoxs- url 20
xoxc- url 20
xoxd- path 20
xapp- url 20
hooks.slack.com/services/ path 40
hooks.slack.com/workflows/ path 40
hooks.slack.com/triggers/ path 40
webhook.office.com/webhookb2/ path 60
discord.com/api/webhooks/ path 60
discordapp.com/api/webhooks/ path 60
AKIA upper 16-16
ASIA upper 16-16
ABIA upper 16-16
ACCA upper 16-16
ABSK base64 109
bedrock-api-key- base64 24
AIza url 35
ya29. dots 30
GOCSPX- url 20
LTAI alnum 12-24?
hf_ alnum 34-34
api_org_ alnum 34
gsk_ alnum 40
xai- alnum 60
pplx- alnum 40
nvapi- url 50
r8_ alnum 37-40
tgp_v1_ url 40
fw_ alnum 22-28?
pcsk_ url 40
lsv2_pt_ url 32
lsv2_sk_ url 32
npm_ alnum 36
pypi-AgE url 50
rubygems_ hex 48
CLOJARS_ alnum 60
dckr_pat_ url 20
dop_v1_ hex 64
doo_v1_ hex 64
dor_v1_ hex 64
dp.pt. alnum 40
dp.st. dots 40
dp.ct. alnum 40
dp.sa. alnum 40
hvs. url 24
hvb. url 100
atlasv1. dots 60
HRKU-AA url 58
SG. dots 60
key- hex 32-32
xkeysib- url 70
xsmtpsib- url 70
shpat_ hex 32
shpca_ hex 32
shppa_ hex 32
shpss_ hex 32
shippo_live_ hex 40
shippo_test_ hex 40
sq0atp- url 22
sq0csp- url 22
EAAA url 56-64?
EAAM alnum 100
EAAC alnum 100
EZAK alnum 54-54
EZTK alnum 54-54
FLWSECK_TEST- url 12
FLWSECK- url 32
dapi hex 32
PMAK- url 59
AKCp alnum 69
cmVmd alnum 59
ATATT3 dots 100
ATCTT3 dots 100
ATBB alnum 32?
AGE-SECRET-KEY-1 upper 58
A3- dots 30?
ops_eyJ base64 250
eyJrIjoi base64 70
glc_ base64 32?
glsa_ url 41
lin_api_ alnum 40
ntn_ alnum 46
secret_ alnum 43-43?
figd_ url 40
phx_ alnum 32
sbp_ hex 40
NRAK- alnum 27
NRII- url 32
NRJS- hex 19
dt0c01. dots 80
fio-u- dots 64
duffel_live_ dots 43
duffel_test_ dots 43
tfp_ dots 59
fo1_ url 43
fm1a_ base64 100
fm1r_ base64 100
fm2_ base64 100
CFPAT- url 40
ico- alnum 32-32?
pnu_ alnum 36
pul- hex 40
rdme_ alnum 70
tk-us- url 48
sm_aat_ alnum 16
sm_pat_ alnum 16
sm_sat_ alnum 16
sgp_ url 40
sntrys_ dots 60
sntryu_ hex 64
pscale_tkn_ dots 32
pscale_pw_ dots 32
pscale_oauth_ dots 32
p8e- alnum 32
dnkey- url 70
sha256~ url 43
s-s4t2ud- hex 64
s-s4t2af- hex 64
4b1d alnum 38-38
API- upper 26-26?
pat. dots 60
sat. dots 60
sl. dots 100
v1.0- url 150
AQ.Ab url 30
vcp_ alnum 20
tvly- url 20
csk- alnum 30
pa- url 43-43?
"""
_PAIRS = [f"{number:02x}" for number in range(256)]
_STARTS = [*(pair for pair in _PAIRS if pair != "ed"), *(f"ed{c}" for c in "0123456789abcdef")]
_TWILIO = "".join(f"\nSK{start} hex {32 - len(start)}-{32 - len(start)}" for start in _STARTS)
"""Keys of Twilio: too many words have `sk` in them, and `asked` also a digit of them."""
_CODED = 6
"""Characters of a prefix that are searched for in base64 as well, at least."""


class KeyFormat(NamedTuple):
    """The prefix and the form of the keys of one provider."""

    prefix: str
    alphabet: str
    """A key of `ALPHABETS`."""
    least: int
    """The least number of characters after the prefix."""
    most: int | None
    """The greatest number of these characters; None if there is no limit."""
    weak: bool
    """Whether text that is no key often has the same prefix."""


def _row(line: str) -> KeyFormat:
    prefix, alphabet, lengths = line.split()
    least, _, most = lengths.rstrip("?").partition("-")
    return KeyFormat(
        prefix, alphabet, int(least), int(most) if most else None, lengths.endswith("?")
    )


def _encoded(row: KeyFormat) -> KeyFormat:
    """Returns the form of a key in base64, as in the secrets of Kubernetes."""
    prefix = b64encode(row.prefix[:_CODED].encode()).decode()
    least = (len(row.prefix) - _CODED + row.least) * 4 // 3
    return KeyFormat(prefix, "base64", least, None, False)


def key_formats() -> list[KeyFormat]:
    """Returns the rows of the table, longer prefixes first, so that exact ones are tried first."""
    rows = [_row(line) for line in (_TABLE.strip() + _TWILIO).splitlines()]
    rows += [_encoded(row) for row in rows if len(row.prefix) >= _CODED and not row.weak]
    return sorted(rows, key=lambda row: len(row.prefix), reverse=True)
