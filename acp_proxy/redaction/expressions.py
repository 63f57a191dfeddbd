"""The regular expressions that recognize secrets in free text.

Compiling them takes longer than everything else that most commands do, so they are compiled when
the first needle is found.
"""

import re
from functools import cache

from acp_proxy.redaction.key_formats import ALPHABETS


class Expressions:
    """The regular expressions, each named for what it matches."""

    def __init__(self) -> None:
        self.runs = {name: re.compile(pattern) for name, pattern in ALPHABETS.items()}
        self.jwt = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){1,3}", re.ASCII)
        self.open_jwt = re.compile(r"eyJ[\w-]*(?:\.[\w-]*){0,4}", re.ASCII)
        self.pem_header = re.compile(r"BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
        self.open_pem = re.compile(r"BEGIN ?[A-Z0-9 ]{0,60}-{0,5}")
        self.pem_body = re.compile(r"(?:[^-]++|-(?!----))*")
        self.base64_lines = re.compile(r"(?:[A-Za-z0-9+/=\s]++|\\+[nr])*")
        self.base64 = re.compile(r"[A-Za-z0-9+/=]{20}")
        self.telegram = re.compile(r":AA[\w-]{0,33}", re.ASCII)
        self.scheme = re.compile(r"(?:bearer|basic)[ \t]{1,4}", re.IGNORECASE)
        self.credential = re.compile(r"[A-Za-z0-9._~+/-]*=*")
        self.user_info = re.compile(
            r"""://([^\s/?#@:"'<>]{0,256}+)(:?)([^\s/?#@"'<>]{0,1024}+)(@?)"""
        )
        self.curl_user = re.compile(
            r"""(?: -u|--user)[ =]{0,4}["']?[^\s:"']{0,256}:((?:[^\s"']|["'](?=\S)){1,1024})"""
        )
        self.assignment = re.compile(
            r"""(?P<closing>\\*["'`])?\]?[ \t]{0,4}(?:"""
            r"""(?:[A-Za-z]{1,20}[ \t](?==))?"""  # the type, in `var token string = "..."`
            r"""(?P<operator>=>|:{1,3}=|[.?|+]=|[:=]=?|>\s{0,12}|,(?=[ \t]?\\*["'`]))"""
            r"""(?:[ \t]?[A-Za-z_]{1,20}[ \t]=(?=[ \t]))?"""  # the type, in `token: str = "..."`
            r"""(?P<spaces>[ \t]{0,4})|(?P<argument>[ \t]{1,4}|["'],[ \t]?(?=["'])))"""
            r"""(?P<quote>\\*["'`])?(?P<scheme>(?:bearer|basic|token|apikey)[ \t]{1,4})?""",
            re.IGNORECASE,
        )
        self.open_name = re.compile(  # what may stand between a name and its value, cut off
            r"""\\*["'`]?\]?[ \t]{0,4}(?:[sS][a-z]{0,5}[ \t]?)?[:,.?|+=>]{0,4}\s{0,12}"""
            r"""(?:[sS][a-z]{0,5}[ \t]?=?[ \t]?)?\\*["'`]?"""
        )
        self.cut = re.compile(
            r"[A-Za-z][A-Za-z0-9+.-]{0,15}:/$|-B$|(?:https?|ftps?|sftp|ssh|git|wss?|postgres(?:ql)?"
            r"|mysql|mssql|mongodb(?:\+srv)?|rediss?|amqps?|smtps?|ldaps?):$"
        )
        first_part = "(?:api|access|private|account|encryption|master|shared|signing)"
        self.cut_name = re.compile(f"[-_]{first_part}$|{first_part}[-_]$", re.IGNORECASE)
        self.unquoted = re.compile(r"""[^\s"'`,;<>(){}\[\]|&\\]{0,4096}""")
        self.quoted = {
            '"': re.compile(r'(?:[^"\\\r\n]|\\[^\r\n]){0,4096}'),
            "'": re.compile(r"(?:[^'\\\r\n]|\\[^\r\n]){0,4096}"),
            "`": re.compile(r"(?:[^`\\\r\n]|\\[^\r\n]){0,4096}"),
        }
        self.escaped = re.compile(r"""[^"'`\\\r\n]{0,4096}""")
        self.line = re.compile(r"""[^"'`\r\n\\]{0,4096}""")
        before = "server|data source|host|uid|user id"
        self.connection = re.compile(rf"(?i:{before}) ?=[^;]{{0,99}};[^\n]{{0,200}}$")
        self.escape = re.compile(r"(?:\\[nrt]?|%[0-9A-Fa-f]{0,2}|\x1b(?:\[[0-9;]*m?)?)$")
        self.before = re.compile(r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)$")


expressions = cache(Expressions)
"""Returns the regular expressions; the first call compiles them."""
