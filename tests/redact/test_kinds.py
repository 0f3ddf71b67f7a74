"""Forty kinds of secrets in five contexts, and what is harmless: the figures that redaction must keep.

Secrets are put together at run time, from pieces, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import urllib.parse

import pytest

from gitmem.redact.redact import redact

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"

LEAST_CAUGHT = 39  # of the forty kinds, in each context


def _kinds(seed: int) -> dict[str, str]:
    """Return a fake secret by the name of the variable that holds it."""
    rng = random.Random(seed)

    def some(length: int, alphabet: str = ALNUM) -> str:
        # The first two make sure of a letter and a digit, which a random string of some length always has.
        return "".join([*"a1"[: 2 * (alphabet is ALNUM)], *rng.choices(alphabet, k=length)])[:length]

    def base64url(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    uuid = "-".join(some(length, HEX) for length in (8, 4, 4, 4, 12))
    snowflake = str(rng.randrange(10**17, 10**18)).encode()
    jwt = ".".join(
        [base64url(b'{"alg":"HS256","typ":"JWT"}'), base64url(rng.randbytes(30)), base64url(rng.randbytes(32))]
    )
    jwt = jwt.replace(jwt.split(".")[1], base64url(json.dumps({"sub": some(8), "iat": 1_516_239_022}).encode()))
    return {
        "ANTHROPIC_API_KEY": "sk-" + "ant-api03-" + some(93, URLSAFE) + "AA",
        "OPENAI_API_KEY": "sk-" + "proj-" + some(74) + "T3Blbk" + "FJ" + some(74),
        "GITHUB_TOKEN": "ghp" + "_" + some(36),
        "GH_FINE_GRAINED": "github" + "_pat_" + some(22) + "_" + some(59),
        "GITLAB_TOKEN": "glpat" + "-" + some(20),
        "NPM_TOKEN": "npm" + "_" + some(36),
        "PYPI_TOKEN": "pypi" + "-AgEIcHlwaS5vcmc" + some(150),
        "AWS_ACCESS_KEY_ID": "AKIA" + some(16, UPPER),
        "AWS_SECRET_ACCESS_KEY": some(40, BASE64),
        "GOOGLE_API_KEY": "AIza" + "Sy" + some(33),
        "GOOGLE_CLIENT_SECRET": "GOCSPX" + "-" + some(28),
        "AZURE_STORAGE_KEY": some(86, BASE64) + "==",
        "SLACK_BOT_TOKEN": "xoxb" + "-" + some(12, string.digits) + "-" + some(13, string.digits) + "-" + some(24),
        "SLACK_WEBHOOK": "https://hooks.slack" + ".com/services/T01ABCDEFG/B" + some(10, UPPER) + "/" + some(24),
        "STRIPE_SECRET_KEY": "sk" + "_live_" + some(24),
        "SENDGRID_API_KEY": "SG" + "." + some(22, URLSAFE) + "." + some(43, URLSAFE),
        "HF_TOKEN": "hf" + "_" + some(34, string.ascii_letters),
        "DIGITALOCEAN_TOKEN": "dop" + "_v1_" + some(64, HEX),
        "DATABRICKS_TOKEN": "dapi" + some(32, HEX),
        "VAULT_TOKEN": "hvs" + "." + some(95),
        "LINEAR_API_KEY": "lin" + "_api_" + some(40),
        "NOTION_TOKEN": "ntn" + "_" + some(46),
        "POSTMAN_API_KEY": "PMAK" + "-" + some(24, HEX) + "-" + some(34, HEX),
        "SHOPIFY_TOKEN": "shpat" + "_" + some(32, HEX),
        "NEW_RELIC_KEY": "NRAK" + "-" + some(27, UPPER),
        "SESSION_JWT": jwt,
        "DATABASE_URL": "postgres://app:" + some(16) + "@db.internal:5432/app",
        "DISCORD_BOT_TOKEN": base64url(snowflake) + "." + some(6) + "." + some(38, URLSAFE),
        "TELEGRAM_BOT_TOKEN": "7" + some(9, string.digits) + ":AA" + some(33, URLSAFE),
        "OKTA_API_TOKEN": "00" + some(40),
        "MAPBOX_TOKEN": "sk" + "." + base64url(b'{"u":"someone","a":"' + some(25).encode() + b'"}') + "." + some(22),
        "AIRTABLE_PAT": "pat" + some(14) + "." + some(64, HEX),
        "TWILIO_AUTH_TOKEN": some(32, HEX),
        "MAILGUN_API_KEY": some(32, HEX) + "-" + some(8, HEX) + "-" + some(8, HEX),
        "DATADOG_API_KEY": some(32, HEX),
        "HEROKU_API_KEY": uuid,
        "FACEBOOK_ACCESS_TOKEN": "EAA" + "C" + some(160),
        "ETH_PRIVATE_KEY": "0x" + some(64, HEX),
        "SENTRY_AUTH_TOKEN": "sntrys" + "_eyJ" + some(120) + "_" + some(43),
        "DB_PASSWORD": "Tr0ub4dor&3"[:9] + some(5),
    }


# `{name}` is the variable, `{lower}` its name in lower case, `{value}` the secret.
CONTEXTS = {
    "setting": ("{name}={value}", "{name}: {value}", '{{"{lower}": "{value}"}}', "- name: {name}\n  value: {value}"),
    "shell": (
        "export {name}='{value}' && ./deploy.sh",
        "{name}={value} npm publish",
        "docker run -e {name}={value} app",
        "heroku config:set {name}={value}",
        "aws configure set {name} {value}",
        "curl 'https://api.example.com/v1/items?{lower}={encoded}'",
    ),
    "english": (
        "The {name} is {value} and it works.",
        "I set {name} to {value}.",
        "the value of `{name}` is `{value}`",
        "{name} was {value}, which is old",
    ),
    "korean": (
        "{name} 값은 {value} 이고 배포는 끝났다",
        "{name}은 {value}입니다.",
        "{name}의 값은 {value} 이다",
        "{name}를 {value}로 바꿨다",
        "{name} 값: {value}",
        "{name} 키는 {value}",
    ),
    "code": (
        'const {name} = "{value}";',
        "{lower} = '{value}'",
        'os.environ["{name}"] = "{value}"',
        'client = Client({lower}="{value}", retries=3)',
        'config.set("{lower}", "{value}")',
    ),
}

# Other names of the same secrets.
SPOKEN = {
    "AWS_SECRET_ACCESS_KEY": ("AWS secret access key", "aws_secret", "AWS_SECRET_KEY"),
    "TWILIO_AUTH_TOKEN": ("Twilio auth token", "TWILIO_SECRET", "Twilio 토큰"),
    "DATADOG_API_KEY": ("Datadog API key", "DD_APP_KEY", "DATADOG_KEY", "Datadog API 키"),
    "HEROKU_API_KEY": ("Heroku API key", "HEROKU_KEY"),
    "ETH_PRIVATE_KEY": ("Ethereum private key", "WALLET_KEY", "이더리움 비밀키"),
    "DB_PASSWORD": ("DB_PASS", "MYSQL_PWD", "db password", "DB 비밀번호"),
}

# Each provider's own way into a command or a URL.
OWN = {
    "TELEGRAM_BOT_TOKEN": "curl https://api.telegram.org/bot{value}/getMe",
    "OKTA_API_TOKEN": 'curl -H "Authorization: SSWS {value}" https://example.okta.com/api/v1/users',
    "DISCORD_BOT_TOKEN": 'curl -H "Authorization: Bot {value}" https://discord.com/api/v10/users/@me',
    "MAPBOX_TOKEN": "https://api.mapbox.com/styles/v1/me?access_token={value}",
    "AIRTABLE_PAT": 'curl -H "Authorization: Bearer {value}" https://api.airtable.com/v0/meta/bases',
    "TWILIO_AUTH_TOKEN": "curl -u ACaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:{value} https://api.twilio.com/2010-04-01",
    "MAILGUN_API_KEY": "curl -s --user 'api:{value}' https://api.mailgun.net/v3/example.com/messages",
    "DATADOG_API_KEY": 'curl -H "DD-API-KEY: {value}" https://api.datadoghq.com/api/v1/validate',
    "HEROKU_API_KEY": 'curl -H "Authorization: Bearer {value}" https://api.heroku.com/apps',
    "FACEBOOK_ACCESS_TOKEN": "https://graph.facebook.com/v19.0/me?access_token={value}",
    "ETH_PRIVATE_KEY": "cast send --private-key {value} 0xdead",
    "DB_PASSWORD": "PGPASSWORD={value} psql -h db -U app",
}


def missed(context: str, seed: int = 1) -> list[str]:
    """Return the kinds that are left in some text of the context."""
    left = []
    for name, value in _kinds(seed).items():
        templates = [*CONTEXTS[context], *([OWN[name]] if context == "shell" and name in OWN else [])]
        words = {"name": name, "lower": name.lower(), "value": value, "encoded": urllib.parse.quote(value, safe="")}
        texts = [template.format(**words) for template in templates]
        secret = value.split(":")[2].split("@")[0] if name == "DATABASE_URL" else value.rpartition("/")[2]
        secret = value if name in {"AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_KEY"} else secret
        if any(form in redact(text).text for text in texts for form in (secret, urllib.parse.quote(secret, safe=""))):
            left.append(name)
    return left


def table(seed: int = 1) -> str:
    """Return how many of the kinds are caught in each context, and which are not."""
    lines = []
    for context in CONTEXTS:
        left = missed(context, seed)
        lines.append(
            f"{context:8} {len(_kinds(seed)) - len(left):2} of {len(_kinds(seed))}  {', '.join(left)}".rstrip()
        )
    return "\n".join(lines)


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nearly_all_kinds_are_caught_in_each_context(context, seed):
    assert len(_kinds(seed)) == 40
    left = missed(context, seed)
    assert len(_kinds(seed)) - len(left) >= LEAST_CAUGHT, f"\n{table(seed)}"


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize(
    "template", ["{}={}", "{}: {}", "The {} is {} and it works.", "{} 값은 {} 이고", "{}는 {}이다"]
)
def test_a_secret_is_known_by_its_other_names(name, template):
    for other in SPOKEN[name]:
        value = _kinds(1)[name]
        assert value not in redact(template.format(other, value)).text, other


_SHA1 = "3354616d2f0c9a8b7e6d5c4b3a29181706f5e4d3"
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_SHA512 = "iCl3Vqg5BuA1YpLmG9rQ0vWUrP4y0zNFJwM4oYpJ2cBpaSpBn4p9cVnR9LzF2d7ABCDEFGH0123456789abcdEFGHijklmnop0Q=="
_UUID = "550e8400-e29b-41d4-a716-446655440000"
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HARMLESS = [
    # Commits, trees, digests
    _SHA1,
    f"commit {_SHA1}",
    f"Merge: {_SHA1[:7]} {_SHA1[8:15]}",
    f"git checkout {_SHA1}",
    f"index {_SHA1[:7]}..{_SHA1[9:16]} 100644",
    f"커밋 {_SHA1} 에서 고쳤다",
    f"커밋은 {_SHA1[:10]} 이다",
    f"HEAD is now at {_SHA1[:7]} fix the token parser",
    f"sha256:{_SHA256}",
    f"image: postgres@sha256:{_SHA256}",
    f"FROM python:3.12@sha256:{_SHA256}",
    f"{_SHA256}  gitmem-1.0.tar.gz",
    f"Digest: sha256:{_SHA256}",
    "md5: d41d8cd98f00b204e9800998ecf8427e",
    'ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"',
    # Lock files
    f'"integrity": "sha512-{_SHA512}"',
    f"integrity sha512-{_SHA512}",
    f'checksum = "{_SHA256}"',
    f'{{file = "a.whl", hash = "sha256:{_SHA256}"}}',
    "golang.org/x/sync v0.7.0 h1:YsImfSBoP9QPYL0xyKJPq0gcaJdG3rInoqxTWbfQu9M=",
    "golang.org/x/sync v0.7.0/go.mod h1:Czt+wKu1gCyEFDUtn0jG5QVvpJ6rzVqr5aXyt9drQfk=",
    f"--hash=sha256:{_SHA256}",
    '"resolved": "https://registry.example/lodash/-/lodash-4.17.21.tgz"',
    f'content-hash = "{_SHA256}"',
    "specifier: ^7.0.0-beta.48",
    "babel-runtime@6.26.0:",
    '  "peerDependencies": {"typescript": ">=4.8.4 <6.0.0"}',
    # Ids
    _UUID,
    f"id: {_UUID}",
    f"request_id={_UUID}",
    f"session {_UUID} ended",
    f"세션 {_UUID} 은 끝났다",
    "^01jc3x9k2m7q4w8e5r6t",
    "- [10:20:31] **Note**: use uv ^01jc3x9k2m7q4w8e5r6t",
    "Gitmem-Entry: 01jc3x9k2m7q4w8e5r6t",
    "AIza",
    "trace_id: 4bf92f3577b34da6a3ce929d0e0e4736",
    "arn:aws:iam::123456789012:role/deploy",
    "i-0abcd1234efgh5678",
    "ami-0c55b159cbfafe1f0",
    # Tests, names, words
    "test_a_token_that_expired_is_refused_with_401",
    "tests/store/test_redact.py::test_json_stays_json_at_any_depth[github-True]",
    "NotificationServiceImplTest.should.returnNothingWhenUserIsMissing",
    "MyVeryLongClassNameNumber24.method.another_long_attribute_name_number_2",
    "sk-learn-contrib-with-a-long-name-2024",
    "patch-package",
    "EAAWithoutAnythingElse",
    "cache-key-d41d8cd98f00b204e9800998ecf8427e",
    'CACHE_KEY="deps-v3-9f86d081884c7d659a2feaa0"',
    "PRIMARY_KEY = 'user_id_0001_abcdef'",
    f"primary_key: {_UUID}",
    f"cache_key = '{_SHA256}'",
    "PUBLIC_KEY=MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=",
    # Images, certificates, nonces
    f"data:image/png;base64,{_PNG}",
    f'<img src="data:image/png;base64,{_PNG}">',
    "nonce: 'r4nd0mN0nc3Value'",
    "script-src 'nonce-2726c7f26c' 'sha256-B2yPHKaXnvFWtRChIbabYmUBFZdVfKKXHbWtWidDVF8='",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGKh3nq0pS9w0bV1mUqkQq4E0Q7l8b3kq0wH9n4Yz2Xs me@host",
    "SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 github.com",
    "dGhpcyBpcyBqdXN0IHNvbWUgdGV4dCBpbiBiYXNlNjQ=",
    # Placeholders
    "API_KEY=YOUR_API_KEY",
    "API_KEY=xxxxx",
    "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "API_KEY=$API_KEY",
    "token: ${{ secrets.NPM_TOKEN }}",
    "const token = process.env.DISCORD_TOKEN;",
    'os.environ["TWILIO_AUTH_TOKEN"]',
    "API_KEY=<your api key>",
    "DB_PASSWORD=${DB_PASSWORD}",
    "PASSWORD=changeme",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "토큰은 환경 변수에서 읽는다",
    "API_KEY 값은 .env 파일에 있다",
    "비밀번호를 재설정했다",
    "DB_PASSWORD 값은 바꾸지 않았다",
    "토큰이 4096개를 넘으면 자른다",
    "set the password to something long",
    "add the token to the header",
    "the api key is missing",
    "the token was revoked on 2024-01-15",
    "send the password to admin@example.com",
    'getattr(config, "api_key", "")',
    'ask("password", "Password again")',
    "api_key: str = field(default='')",
    "printf('%5d %2d %s', a, b, c)",
    "https://example.com/a%20b/%ED%95%9C%EA%B8%80?q=1%2B1",
    # The hash of a password, where nothing says that it is one
    "$2b$12$EixZaYVK1fsbw1ZfbX3OXePaWxn96p36WQoeG6Lruj3vjPGga31lW",
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b5dWRWJTmaaJObG",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_stays(text):
    assert len(HARMLESS) >= 60
    for context in ("{}", "see {} please", "값은 {} 이고", '{{"text": {}}}'):
        before = context.format(json.dumps(text) if context.startswith("{{") else text)
        assert redact(before).text == before


# What hides a secret though nobody meant to: text that was copied from a page or a chat, and URLs.
HIDDEN = ["\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u202e", "\ufe0f", "\u3164", "\U000e0041"]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "DISCORD_BOT_TOKEN", "TWILIO_AUTH_TOKEN", "DB_PASSWORD"])
def test_invisible_characters_hide_no_secret(name, hidden):
    value = _kinds(1)[name]
    for at in (1, 5, len(value) - 1):
        blurred = value[:at] + hidden + value[at:]
        text = f"{name}={blurred} and more"
        for left in (redact(text).text, json.loads(redact(json.dumps({"a": text})).text)["a"]):
            assert re.fullmatch(rf"{name}=\[REDACTED:[a-z-]+\] and more", left)
    named = f"{name[0]}{hidden}{name[1:]} 값은 {value} 이고"
    assert value not in redact(named).text


def test_invisible_characters_elsewhere_stay():
    text = "a\u200bb ⚠\ufe0f 값은 \u200b없다"
    assert redact(text).text == text
    secret = _kinds(1)["GITHUB_TOKEN"]
    assert redact(f"a\u200bb \u200b{secret}\u200b c").text == "a\u200bb \u200b[REDACTED:github-token]\u200b c"


@pytest.mark.parametrize("name", sorted(_kinds(1)))
def test_percent_encoding_hides_no_secret(name):
    value = _kinds(1)[name]
    every = "".join(f"%{ord(c):02X}" for c in value)
    first = f"%{ord(value[0]):02x}{value[1:]}"
    for encoded in (every, first):
        text = f"curl https://example.com/?{name.lower()}={encoded}&x=1"
        left = redact(text).text
        assert encoded not in left
        assert left.startswith("curl https://example.com/?")
        assert left.endswith("&x=1")
        assert redact(left).text == left


def test_percent_encoded_text_without_a_secret_stays():
    for text in ("100%25 of %5Cn and %22password%22", "a%20b%2Bc", "token=%7Btoken%7D", "%password%", "100% sure"):
        assert redact(text).text == text
        assert json.loads(redact(json.dumps([text, text])).text) == [text, text]


@pytest.mark.parametrize(
    "text, left",
    [
        ("a < private >b</ private > c", "a  c"),
        ("a <private\n>b</private\n> c", "a  c"),
        ("a <pri\u200bvate>b</priva\u200cte> c", "a  c"),
        ("a \u200b<\u200bprivate>b<\u2060/private\ufeff> c", "a \u200b c"),
        ("a <\uff30RIVATE>b", "a <\uff30RIVATE>b"),
        ("a \uff1cprivate\uff1eb\uff1c/private\uff1e c", "a  c"),
        ("a <private\nb\n</private> c", "a  c"),
        ("a <private reason='x'\n  by='me'>b</private> c", "a  c"),
        ("a <Private><PRIVATE>b</private></pRiVaTe> c", "a  c"),
        ("a <private>b\n\n\nc", "a "),
        ("a <private>b</privat> c", "a "),
        ('{"a": "x <pri\\u200bvate>y</private> z"}', '{"a": "x  z"}'),
        ('{"a": "{\\"b\\": \\"\\\\u003cprivate\\\\u003ey\\"}"}', '{"a": "{\\"b\\": \\""}'),
        ("std::<privateKey> stays", "std::<privateKey> stays"),
        ("if (a < private && b > c) return", "if (a < private && b > c) return"),
        ("generic<private> word", "generic"),
        ("put the <private key> into a vault", "put the <private key> into a vault"),
        ('{"a": "the <private key> of", "b": 1}', '{"a": "the <private key> of", "b": 1}'),
        ("the <private key>, <private>b</private> c", "the <private key>,  c"),
        ("a <private note>b</private> c", "a  c"),
    ],
)
def test_private_passages_are_dropped_however_their_tags_are_written(text, left):
    assert redact(text).text == left
    assert redact(left).text == left
