"""Harmless texts that resemble secrets. At most 0.5 % of them may be masked.

Half of the texts are made by a seeded generator. The others are lines of real agents and clients,
and of the manual.
"""

from __future__ import annotations

import base64
import json
import random
import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
CODE = """
const token = await getToken(user);
token = os.environ["GITHUB_TOKEN"]
password = getpass.getpass("Password: ")
def authenticate(self, token: str, secret_key: bytes | None = None) -> bool:
if (token !== expectedToken) throw new Error("invalid token");
let apiKey = process.env.OPENAI_API_KEY;
const { apiKey, secret } = config;
export ANTHROPIC_API_KEY=$(pass show anthropic)
export TOKEN="$GITHUB_TOKEN"
Authorization: Bearer ${token}
headers["Authorization"] = f"Bearer {token}"
req.Header.Set("Authorization", "Bearer "+token)
curl -H "Authorization: Bearer $TOKEN" https://api.example.com/v1/users
password: ${{ secrets.DB_PASSWORD }}
token: ${{ secrets.GITHUB_TOKEN }}
private readonly tokenService: TokenService,
public string Password { get; set; }
String password = request.getParameter("password");
$password = $_POST['password'];
fn parse_token(input: &str) -> Result<Token, ParseError> {
let token = tokens.next().unwrap();
for token in tokenizer.tokenize(text):
max_tokens=4096, temperature=0.7
"max_tokens": 4096,
"total_tokens": 15234, "prompt_tokens": 12000
SECRET_KEY = env("DJANGO_SECRET_KEY")
secret_key = config.get("secret_key")
client_secret: str = Field(..., env="CLIENT_SECRET")
api_key: Optional[str] = None
api_key = "your-api-key-here"
OPENAI_API_KEY=your-openai-api-key
password = "changeme"
password: <password>
passwd: files systemd
key: value
primary_key = "user_id"
mysql -uroot -p
mysql -h db --port 3306 -P 3306 app
use sshpass -p to pass the password
docker run -p 8080:80 nginx
docker login -u me --password-stdin ghcr.io
machine learning login form password field
redis-cli -h cache ping
PWD=/home/me/project
OLDPWD=/home/me
export PWD=~/src/app
the SK-1 task was asked for in desk 4
set the --token option, or --api-key for all
GRANT ALL ON x TO y IDENTIFIED BY PASSWORD
setx PATH C:\\tools
spin=3 laptop="x" pins="a1"
foreign_key="users.id"
partitionKey: 'tenant#123'
cacheKey = `${namespace}:${id}`
const key = event.key === 'Enter' ? 13 : 27;
publicKey = load_public_key(path)
monkey.patch("requests.get", fake_get)
session.commit()
signature = inspect.signature(func)
def signature(self) -> Signature:
cookie = SimpleCookie()
document.cookie.split(';')
credentials: 'include',
credentials = service_account.Credentials.from_file(path)
webhook = await stripe.webhooks.constructEvent(body, sig, endpointSecret);
dsn = settings.SENTRY_DSN
connection_string = build_connection_string(host, port)
basic configuration of the bearer token middleware
Basic authentication is not supported; use a bearer token instead.
The token expired; run `gh auth login` to get a new one.
Enter the password for user postgres:
fatal: Authentication failed for 'https://github.com/owner/repo.git/'
remote: Support for password authentication was removed on August 13, 2021.
error: invalid token at line 12, column 5
SyntaxError: Unexpected token '}' in JSON at position 42
The key is to keep functions small.
keyboard shortcuts: Ctrl+K, Ctrl+S
type Secret<T> = { readonly value: T };
class TokenBucket: capacity = 10
assert response.json()["access_token"]
it("rejects an expired token", async () => {
token_type: bearer
grant_type=client_credentials
scope=openid profile email
.sk-fading-circle-animation { width: 40px; height: 40px; margin: 100px auto; }
.sk-chasing-dot-before-2 { animation-delay: -1.1s; }
background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk)
color: #3a7bd5; border-radius: 4px;
if "-----BEGIN RSA PRIVATE KEY-----" in text:
-----BEGIN CERTIFICATE-----
-----BEGIN PRIVATE KEY-----
ssh-ed25519 public keys are in ~/.ssh/id_ed25519.pub
https://user@example.com:8443/path
git@github.com:owner/repo.git
postgres://localhost:5432/app
postgres://user:password@localhost/app
https://example.com/?page=2&sort=name&key=title
https://example.com/docs?sig=verify&design=Modern2026
def f(x): sig=inspect.signature(x); design=Grid3xColumnsB4
mailto:someone@example.com
--token-file /run/secrets/token
--password-stdin
--max-tokens 2000
--no-password
usage: tool [--token TOKEN] [--password PASSWORD]
docker run --rm -u 1000:1000 -v /src:/src image
npm warn deprecated inflight@1.0.6: This module is not supported, and leaks memory.
added 245 packages, and audited 246 packages in 3s
Successfully installed attrs-24.2.0 cattrs-24.1.2 click-8.1.8
Collecting cryptography==43.0.1
[main 3f2b8c1] Add token refresh
 1 file changed, 3 insertions(+), 1 deletion(-)
diff --git a/src/auth/token.ts b/src/auth/token.ts
index 83db48f..bf2a3c1 100644
| `--token` | the token of the service |
Set `token=` in config.yaml, for instance to the value of step 2 of 3.
Use `api_key=` or `token:` 3 times, see section 4.2.
The URL ends with "?access_token=" and the token of User 1, and 'password=' is not read.
- [ ] rotate the API key
## Authentication and tokens
claude-sonnet-4-5-20250929
claude-3-5-haiku-latest
gpt-4o-mini-2024-07-18
gemini-2.5-pro-preview-06-05
models/gemini-2.0-flash-exp
mistral-large-2411
qwen2.5-coder-32b-instruct-q4_k_m
""".strip().splitlines()


def made() -> Iterator[str]:
    """Yields generated texts, such as ids, hashes, paths, versions and lock files."""
    chance = random.Random(15)

    def of(alphabet: str, length: int) -> str:
        return "".join(chance.choices(alphabet, k=length))

    words = ["token", "secret", "password", "key", "auth", "cache", "user", "session", "index"]
    hexadecimal = "0123456789abcdef"
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    for _ in range(60):
        a, b, c = chance.sample(words, 3)
        commit = of(hexadecimal, 40)
        unique = str(uuid.UUID(int=chance.getrandbits(128)))
        number = chance.randrange(10**6)
        packed = base64.b64encode(chance.randbytes(64)).decode()
        yield unique
        yield f"sess_{unique}"
        yield f'"sessionId":"{unique}"'
        yield f'{{"jsonrpc":"2.0","id":{number},"result":{{"sessionId":"{of(letters, 26)}"}}}}'
        yield f"toolu_{of(letters, 24)}"
        yield f"call_{of(letters, 24)}"
        yield f"msg_{of(letters, 24)}"
        yield f"chatcmpl-{of(letters, 29)}"
        yield f"commit {commit}"
        yield f"{commit[:7]} Fix {a} in {b}"
        yield f"index {of(hexadecimal, 7)}..{of(hexadecimal, 7)} 100644"
        yield f'"integrity": "sha512-{packed}"'
        yield f"sha256:{of(hexadecimal, 64)}"
        yield f"--hash=sha256:{of(hexadecimal, 64)}"
        yield f"  integrity sha512-{packed}"
        yield f'checksum = "{of(hexadecimal, 64)}"'
        yield f"data:image/png;base64,iVBORw0KGgo{packed}"
        yield f"/home/{a}/project/src/{b}/{c}_{number}.py:{number % 400}"
        yield f"src/{a}-{b}/{c}.test.ts"
        yield f"https://example.com/{a}/{b}?page={number}&{c}_id={number}"
        yield f"{a}_{b}_{c} = get_{a}({b}, {c}={number % 10})"
        yield f'{a}_{b} = self._{c}["{b}"]'
        yield f"const {a}{b.title()} = {c}.{a}.{b}({number});"
        yield f"{a}-{b}=={number % 9}.{number % 20}.{number % 7}"
        yield f'"@{a}/{b}": "^{number % 9}.{number % 20}.0",'
        yield f"The {a} of the {b} is not a {c}: it is read once, and then kept."
        yield f"expected {a} {number}, got {b} {number + 1}"
        yield f"[{number}] INFO {a}: {b} {c} done in {number % 999} ms"
        yield f"2026-01-{number % 28 + 1:02}T10:{number % 60:02}:00.123Z {a} {b}"
        yield f"0x{of(hexadecimal, 16)} in {a}_{b}+0x{of(hexadecimal, 3)}"
    yield from CODE


def written() -> Iterator[str]:
    """Yields lines of real agents and clients, and of the manual."""
    for path in sorted((ROOT / "tests" / "data" / "captures").rglob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for text in _strings(json.loads(line)):
                yield from text.splitlines()
    for path in sorted((ROOT / "docs").glob("*.md")):
        yield from path.read_text(encoding="utf-8").splitlines()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


@cache
def look_alikes() -> list[str]:
    """Returns all texts, without duplicates and without short texts."""
    texts = [*made(), *written()]
    return [text for text in dict.fromkeys(texts) if len(text) > 8]
