"""Secrets are put together at run time, from pieces, so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gitmem
from gitmem.redact.redact import Redacted, redact
from gitmem.text.data import table

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"


def _planted(seed: int = 0) -> dict[str, tuple[str, str]]:
    """Name → the secret, and the text it stands in."""
    rng = random.Random(seed)

    def some(length: int, alphabet: str = ALNUM) -> str:
        # The first two make sure of a letter and a digit, which a random string of some length always has.
        return "".join([*"a1"[: 2 * (alphabet is ALNUM)], *rng.choices(alphabet, k=length)])[:length]

    def base64url(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    def pem(label: str, lines: int) -> str:
        body = "\n".join(some(64, BASE64) for _ in range(lines))
        return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"

    password = "Tr0ub4dor&3"[:9] + some(5)
    claims = json.dumps({"sub": some(8), "iat": 1_516_239_022}).encode()
    jwt = ".".join([base64url(b'{"alg":"HS256","typ":"JWT"}'), base64url(claims), base64url(rng.randbytes(32))])
    bare = {
        "anthropic": "sk-" + "ant-api03-" + some(93, URLSAFE) + "AA",
        "anthropic admin": "sk-" + "ant-admin01-" + some(93, URLSAFE) + "AA",
        "openai": "sk-" + some(20) + "T3Blbk" + "FJ" + some(20),
        "openai project": "sk-" + "proj-" + some(74) + "T3Blbk" + "FJ" + some(74, URLSAFE),
        "openai service account": "sk-" + "svcacct-" + some(74),
        "openrouter": "sk-" + "or-v1-" + some(64, HEX),
        "groq": "gsk" + "_" + some(52),
        "xai": "xai" + "-" + some(80),
        "hugging face": "hf" + "_" + some(34, string.ascii_letters),
        "github": "ghp" + "_" + some(36),
        "github oauth": "gho" + "_" + some(36),
        "github app": "ghs" + "_" + some(36),
        "github app, stateless": "ghs" + "_" + "123456_" + jwt,
        "github fine-grained": "github" + "_pat_" + some(22) + "_" + some(59),
        "gitlab": "glpat" + "-" + some(20, URLSAFE),
        "gitlab routable": "glpat" + "-" + some(27, URLSAFE) + ".01." + some(9, HEX),
        "npm": "npm" + "_" + some(36),
        "pypi": "pypi" + "-AgEIcHlwaS5vcmc" + some(150, URLSAFE),
        "docker": "dckr" + "_pat_" + some(27, URLSAFE),
        "linear": "lin" + "_api_" + some(40),
        "aws id": "AKIA" + some(16, UPPER),
        "google": "AIza" + "Sy" + some(33, URLSAFE),
        "google since 2026": "AQ." + "Ab8" + some(46, URLSAFE),
        "google oauth": "ya29" + ".a0" + some(120, URLSAFE),
        "google client": "GOCSPX" + "-" + some(28, URLSAFE),
        "digitalocean": "dop" + "_v1_" + some(64, HEX),
        "cloudflare": "cfut" + "_" + some(48),
        "databricks": "dapi" + some(32, HEX),
        "vault": "hvs" + "." + some(95, URLSAFE),
        "age": "AGE-SECRET" + "-KEY-1" + some(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
        "slack": "xoxb" + "-" + some(12, string.digits) + "-" + some(13, string.digits) + "-" + some(24),
        "slack app": "xapp" + "-1-A" + some(10, UPPER) + "-" + some(13, string.digits) + "-" + some(64, HEX),
        "stripe": "sk" + "_live_" + some(24),
        "stripe restricted": "rk" + "_live_" + some(99),
        "stripe test": "sk" + "_test_" + some(24),
        "toss": "live" + "_sk_" + some(35),
        "sendgrid": "SG" + "." + some(22, URLSAFE) + "." + some(43, URLSAFE),
        "telegram": "7" + some(9, string.digits) + ":AA" + some(33, URLSAFE),
        "jwt": jwt,
        "pem": pem("RSA " + "PRIVATE KEY", 12),
        "pem, small": pem("PRIVATE" + " KEY", 1),
        "openssh": pem("OPENSSH " + "PRIVATE KEY", 6),
        "pgp": pem("PGP " + "PRIVATE KEY BLOCK", 20),
    }
    placed = {
        "aws secret": (some(40, BASE64), "aws_secret_access_key = {}"),
        "aws secret like a path": ("/" + some(39, BASE64), "SecretAccessKey: {}"),
        "aws pair": (some(40, BASE64), "AKIA" + some(16, UPPER) + ",{}"),
        "slack webhook": (f"B{some(10, UPPER)}/{some(24)}", "https://hooks.slack.com/services/T01ABCDEFG/{}"),
        "discord webhook": (some(68, URLSAFE), "https://discord.com/api/webhooks/123456789012345678/{}"),
        "azure storage": (some(86, BASE64) + "==", "AccountName=x;AccountKey={};EndpointSuffix=core.windows.net"),
        "azure sas": (some(43) + "%3D", "https://x.blob.core.windows.net/c?sv=2022-11-02&sp=r&sig={}"),
        "url": (password, "postgres://admin:{}@db.example.com:5432/app"),
        "url without user": (password, "redis://:{}@cache:6379/0"),
        "bearer": (some(40), "Authorization: Bearer {}"),
        "basic": (base64.b64encode(f"me:{password}".encode()).decode(), "authorization: Basic {}"),
        "curl": (password, "curl -s -u admin:{} https://example.com"),
        "curl, quoted": (password, 'curl --user "admin:{}" https://example.com'),
        "netrc": (password, "machine example.com login me password {}"),
        "sshpass": (password, "sshpass -p {} ssh host"),
        "docker login": (password, "docker login -u me -p {} registry.example.com"),
        "mysql": (password, "mysql -h db -uroot -p{} app"),
        "redis": (password, "redis-cli -h cache -a {} ping"),
        "openssl": (password, "openssl rsa -in key.pem -passin pass:{} -out out.pem"),
        "docker config": (
            base64.b64encode(f"me:{password}".encode()).decode(),
            '{{"auths": {{"https://index.docker.io/v1/": {{"auth": "{}"}}}}}}',
        ),
        "npmrc": (base64.b64encode(f"me:{password}".encode()).decode(), "_auth={}"),
        "sql, user": (password, "CREATE USER app IDENTIFIED BY '{}';"),
        "sql, role": ("correcthorse", "ALTER ROLE app WITH PASSWORD '{}';"),
        "wordpress": (password, "define('DB_PASSWORD', '{}');"),
        "python": (password, 'password = "{}"'),
        "python, typed": (password, 'password: str = "{}"'),
        "python, keyword": (password, "connect(user='me', password='{}', port=1)"),
        "index": (password, 'config["db_password"] = "{}"'),
        "environment": (password, "export DB_PASSWORD={}"),
        "environment, a word": ("correcthorse", "MYSQL_ROOT_PASSWORD={}"),
        "environment, short name": (password, "SMTP_PASS={}"),
        "environment, key": (some(32), "API_KEY={}"),
        "environment, base": (some(64, HEX), "SECRET_KEY_BASE={}"),
        "json": (some(32), '{{"client_secret": "{}"}}'),
        "yaml": (password, "  password: {}"),
        "compose": ("correcthorse", "      POSTGRES_PASSWORD: {}"),
        "yaml, a word": ("letmein", "db:\n  user: me\n  password: {}\n  port: 1"),
        "query, a word": ("letmein", "https://example.com/?user=me&password={}&x=1"),
        "kubernetes": (password, "- name: DB_PASSWORD\n  value: {}"),
        "hash rocket": (password, ":password => '{}'"),
        "go": (some(24), 'apiKey := "{}"'),
        "header": (some(32, HEX), "X-Api-Key: {}"),
        "query": (some(32, HEX), "https://example.com/?access_token={}&x=1"),
        "xml": (password, "<password>{}</password>"),
        "flag": (password, "mysql --password {} -u root"),
        "flag with equals": (some(30), "tool --api-key={} run"),
        "flag with equals, a word": ("correcthorse", "mysqldump --password={} db"),
        "markdown": (password, "- **Password:** `{}`"),
        "english": (password, "the password is {}."),
        "korean": (password, "비밀번호: {}"),
        "korean sentence": (password, "관리자 비밀번호는 {}입니다"),
        "korean, slang": ("1234qwer!", "비번은 {}야"),
        "korean, short": ("qwer1234", "ID: admin / PW: {}"),
        "korean, digits": ("98765432", "암호 = {}"),
    }
    planted = {name: (secret, secret) for name, secret in bare.items()}
    return planted | {name: (secret, template.format(secret)) for name, (secret, template) in placed.items()}


PLANTED = _planted()
CONTEXTS = {
    "alone": "{}",
    "plain": "see {} please",
    "korean": "이 값은 {} 입니다",
    "lines": "before\r\n{}\r\nafter",
    "quoted": "`{}`",
    "markup": "<p>{}</p>",
}


def _is_gone(secret: str, text: str) -> bool:
    """Not a line of it is left, plain or as JSON writes it."""
    return not any(line in text for line in secret.split("\n") if not line.startswith("-----"))


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_gone_wherever_it_stands(name):
    secret, text = PLANTED[name]
    for context in CONTEXTS.values():
        before = context.format(text)
        after = redact(before)
        assert _is_gone(secret, after.text), context
        assert "[REDACTED:" in after.text
        assert after.findings
        assert redact(after.text).text == after.text


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_stays_json_at_any_depth(name, ascii_only):
    secret, text = PLANTED[name]
    for depth in (1, 2, 3):
        payload = f"다음을 쓰세요:\n{text}\n끝"
        for _ in range(depth):
            payload = json.dumps({"content": payload, "n": 1}, ensure_ascii=ascii_only)
        after = redact(payload)
        assert _is_gone(secret, after.text)
        inner = after.text
        for _ in range(depth):
            inner = json.loads(inner)["content"]
        assert inner.endswith("\n끝")
        assert redact(after.text).text == after.text


@pytest.mark.parametrize("name", [name for name, (secret, text) in PLANTED.items() if secret == text])
def test_a_format_needs_no_space_around_it(name):
    secret, _ = PLANTED[name]
    for context in (
        "토큰은 {}를",
        "({})",
        "={},",
        "a\\n{}\\n",
        "%20{}",
        "\x1b[32m{}\x1b[0m",
        "키:{}。",
        "<{}>",
        "'{}';",
    ):
        assert _is_gone(secret, redact(context.format(secret)).text), context


def test_only_the_value_goes():
    secret = "Tr0ub4dor9"
    assert redact(f"postgres://admin:{secret}@db/app").text == "postgres://admin:[REDACTED:password]@db/app"
    assert redact(f'{{"password": "{secret}", "port": 1}}').text == '{"password": "[REDACTED:password]", "port": 1}'
    assert redact(f"DB_PASSWORD={secret}\nX=1").text == "DB_PASSWORD=[REDACTED:password]\nX=1"
    assert redact(f"connect(password={secret})").text == "connect(password=[REDACTED:password])"
    assert redact(f"비밀번호는 {secret}입니다").text == "비밀번호는 [REDACTED:password]입니다"
    assert redact(f"Password={secret};Server=db").text == "Password=[REDACTED:password];Server=db"
    assert redact(f"[the password is {secret}](../a1.md)").text == "[the password is [REDACTED:password]](../a1.md)"


def test_a_finding_says_where_in_the_original_and_never_what():
    secret = PLANTED["github"][0]
    text = f"<private>me</private> {secret} and password=hunter2x"
    result = redact(text)
    assert result.text == " [REDACTED:github-token] and password=[REDACTED:password]"
    assert [(f.kind, text[f.start : f.end]) for f in result.findings] == [
        ("private", "<private>me</private>"),
        ("github-token", secret),
        ("password", "hunter2x"),
    ]
    assert secret not in repr(result.findings)


# fmt: off
NO_SECRETS = [
    "commit 3354616d2f0c9a8b7e6d5c4b3a29181706f5e4d3", "id: 550e8400-e29b-41d4-a716-446655440000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "index 83db48f..bf12a9c 100644",
    '"integrity": "sha512-iCl3Vqg5BuA1YpLmG9rQ0vWUrP4y0zNFJwM4oYpJ2cBpaSpBn4p9cVnR9LzF2d+ABCDEFGH0123456789=="',
    "resolved https://registry.example/lodash/-/lodash-4.17.21.tgz#679591c564c3bffaae8454cf0b3df370c3d6911c",
    "![x](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA)",
    ".sk-circle .sk-child { width: 100% }", "task-manager-with-a-very-long-name-1", "risk-assessment-2024-q3-final-v2",
    "disk-usage-of-partition-number-12345", "sk-cube-grid sk-folding-cube", "mask_token_ids", "ghp_", "ghp_xxxx",
    "ghp_" + "x" * 36, "sk-...", "sk-ant-...", "sk-ant-" + "x" * 30, "AKIA" + "IOSFODNN7" + "EXAMPLE", "AKIA",
    "eyJ is how a token begins", "eyJhbGciOiJIUzI1NiJ9.not.a-token", "xoxb-your-token-here-please",
    "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "npm_config_registry",
    "import secrets\nfrom tokens import token", "pypi-publish: uses the token", "hf_hub_download(repo_id='x')",
    "password: str", "password: str | None = None", "def f(password: str, token: str) -> bool:", "password = None",
    'password = os.environ["DB_PASSWORD"]', "password=os.getenv('PASSWORD')", "token = process.env.GITHUB_TOKEN",
    "PASSWORD=$PASSWORD", "PASSWORD=${DB_PASSWORD:-}", 'TOKEN="$(gh auth token)"', "token: ${{ secrets.GITHUB_TOKEN }}",
    'password="{{ vault_password }}"', "password=<your-password>", 'api_key="<your-key>"', "password: xxxx",
    "password=********", 'password: "********"', "password = getpass.getpass()", "password=config.password",
    "password=password", "user.password = hashed_password", 'api_key = "your-api-key-here"', "API_KEY=your_api_key",
    'password: "changeme"', "password: %s", 'f"password={password!r}"', 'f"token={token}"', "--password-stdin",
    "pass --password to give one", "use the --token option and --secret too", "Password: ", "Password is required",
    "The password must have 8 characters", "비밀번호를 입력하세요", "비밀번호는 8자 이상이어야 합니다",
    "암호화: AES-256", "토큰은 필요 없습니다", 'label="Password"', '<input type="password" name="password">',
    '"password": "비밀번호"', '"error": "password: wrong"', "max_tokens: 4096", '"token_count": 123456789012',
    '"total_tokens": 52345', '"next_token": "QTKknzFg2J4ygwaXvHAxUl1hyHoY0gVfZdf"', 'token: "end_turn"',
    "arn:aws:secretsmanager:us-east-1:123456789012:secret:Test-a1b2c3d4", "secret/data/app#key", "tokenizer: gpt2",
    "model: claude-3-5-sonnet-20241022", "secretName: my-secret-v2", "token == other", "PWD=/home/me/project1",
    'PASSWORD_FIELD = "PASSWORD_FIELD"', "export TOKEN", "Bearer token-based-authentication", "Authorization: Bearer",
    "https://example.com:8080/@scope/package", "git@github.com:me/repo.git", "ssh://git@github.com/me/repo.git",
    "https://user:password@example.com", "https://user:$PASSWORD@example.com", "http://[::1]:80/a@b",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
    'if "-----BEGIN PRIVATE KEY-----" in text and "-----END PRIVATE KEY-----" in text:', "private key",
    "password: string;", "password?: string", "let token: string;", "<password>", "curl -u user:$TOKEN https://x",
    "docker run -u 1000:1000 image", "docker run mysql -p3306:3306", "mysql -u root -p app", "http=1", "[PRIVATE]",
    "Authorization: Basic auth", "authorization: basic authentication", '"auth": "none"', '"auth": "required1"',
    "define('WP_DEBUG', true);", "define('AUTH_KEY', 'put your unique phrase here');", "password: string\n",
    "password: incorrect\n", "--- PASS: Test1", "PASS: test_foo1", "first pass: 1234", "uses pw_dir = 1234",
    "the password 's length", "a library identified by 'name1'", '"AWS::X::BatchScramSecret": "ff2b807a577495b0"',
    "the private method", "std::private", "a<privateKey>b</privateKey>",
    "token = r'[a-zA-Z0-9_]{44}'", "", "\0", "\ud800",
    "[return the client_secret to frontend](../sessions/2025/01/20250125_100000-78fedad6-314f-5ba8-83c7.md)",
]
# fmt: on


@pytest.mark.parametrize("text", NO_SECRETS)
def test_what_is_no_secret_stays(text):
    for context in ("{}", "see {} please", "값: {}"):
        before = context.replace("{}", text)
        assert redact(before) == Redacted(before, ())
    assert redact(json.dumps({"content": text})).text == json.dumps({"content": text})


@pytest.mark.parametrize(
    "text, left",
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b</Private> c", "a  c"),
        ('a <private reason="x">b</private> c', "a  c"),
        ("a <private>b\nc\r\nd</private> e", "a  e"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>b <private>c</private> d", "a "),
        ("a <private>b", "a "),
        ("a <private>b</private> <private>c</private> d", "a   d"),
        ("a </private> b", "a </private> b"),
        ("<private></private>", ""),
        ("a <pri<private>x</private>vate>b</private> c", "a "),
        ('{"a": "x <private>y", "b": "z"}', '{"a": "x ", "b": "z"}'),
        ('{"a": "x \\u003cprivate\\u003ey\\u003c/private\\u003e"}', '{"a": "x "}'),
        ('{"a": "<private>"}\n{"b": "</private> z"}\n', '{"a": ""}\n{"b": "</private> z"}\n'),
        ('{"a": {"b": ["\\"<private>\\\\", 1]}}', '{"a": {"b": ["\\"", 1]}}'),
        ("{not json <private>x", "{not json "),
    ],
)
def test_private_text_is_dropped(text, left):
    assert redact(text).text == left
    assert redact(left).text == left


def test_a_secret_in_private_text_leaves_nothing():
    secret = PLANTED["github"][0]
    assert redact(f"a <private>{secret}</private> b").text == "a  b"
    assert redact(f"a {secret[:9]}<private>x</private>{secret[9:]} b").text == "a [REDACTED:github-token] b"


def test_allowed_secrets_stay():
    secret = PLANTED["stripe test"][0]
    text = f'key = "{secret}" password=hunter2x'
    assert redact(text, allow=[secret, "hunter2x"]).text == text
    assert redact(text, allow=["sk_test_*"]).text == f'key = "{secret}" password=[REDACTED:password]'
    assert redact(text, allow=["SK_TEST_*", "sk_test_", "[h]unter"]) == redact(text)
    assert redact("password=a[b]c1234", allow=["a[b]c1234"]).text == "password=a[b]c1234"
    assert redact("<private>x</private>", allow=["*"]).text == ""


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n", "\n+", "\n   12→"])
def test_a_key_block_is_found_however_its_lines_are_joined(newline):
    block = PLANTED["openssh"][0]
    text = f"x {block.replace(chr(10), newline)} y"
    assert redact(text).text == "x [REDACTED:private-key] y"


@pytest.mark.parametrize("joint", ['\\n" +\n    "', '","', '","+', "\\n', '"])
def test_of_a_key_block_in_many_strings_each_line_goes(joint):
    lines = PLANTED["openssh"][0].split("\n")
    after = redact(f'["{joint.join(lines)}"]').text
    assert not any(line in after for line in lines[1:-1])
    if joint == '","':
        assert json.loads(after)[1:-1] == ["[REDACTED:private-key]"] * (len(lines) - 2)


@pytest.mark.parametrize("newline", ["\n", "\\n", "\n   12→"])
def test_a_key_block_that_is_cut_off_is_redacted_as_far_as_it_goes(newline):
    lines = PLANTED["pem"][0].split("\n")[:6]
    after = redact(f"x {newline.join(lines)}\nand so on").text
    assert after == "x [REDACTED:private-key]\nand so on"


def test_prose_between_two_names_of_a_block_stays():
    words = "how a key is written, in words, at some length. " * 10
    text = f"From -----BEGIN RSA PRIVATE KEY----- {words} to -----END RSA PRIVATE KEY-----."
    assert redact(text).text == text


def test_escaped_slashes_of_json_do_not_hide_a_secret():
    secret = "wJa1rXUtnF3MI/K7MD3NG/bPxRf1CY" + "qqqqqqKEYS"
    for escaped in (secret, secret.replace("/", "\\/")):
        assert (
            redact(f'{{"aws_secret_access_key": "{escaped}"}}').text
            == '{"aws_secret_access_key": "[REDACTED:aws-secret-key]"}'
        )
        assert redact(f"AWS_SECRET_ACCESS_KEY={escaped}").text == "AWS_SECRET_ACCESS_KEY=[REDACTED:aws-secret-key]"


def test_a_long_value_is_redacted_whole():
    value = "Ab1-x9Z" * 2000
    for text in (f'token = "{value}"', f"TOKEN={value}", f"Bearer {value}"):
        assert "Ab1-x9Z" not in redact(text).text


def test_every_format_is_gated_by_a_literal_and_has_a_source():
    for kind, literals, pattern, source in table("secrets.tsv"):
        assert literals or kind == "discord-token"  # which has none
        assert all(len(literal) > 1 for literal in literals.split())
        assert re.compile(pattern).groups <= 1
        assert source.startswith(("http", "RFC", "PyPI Help"))
        assert kind.replace("-", "").isalpha()


def test_importing_compiles_nothing():
    probe = """
import sys
sys.path.insert(0, sys.argv[1])
from gitmem.redact import names, redact
print(names.compiled.cache_info().currsize)
"""
    root = Path(gitmem.__file__).parents[1]
    done = subprocess.run([sys.executable, "-I", "-c", probe, root], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]


HOSTILE = [
    *(
        "cookie: a",
        "cookie: sid=a1b2c3; ",
        "cookie:;",
        "authorization: a ",
        "x-a-key: ",
        "-a-key:A1",
        "psk=",
        "{ssha}a",
    ),
    *(
        "mongosh -p ",
        "a -p b 7z ",
        "curl -u ",
        "ldapx -w ",
        ":5432:a:b:",
        ":5432:a",
        "a:$6$",
        "a@tcp(",
        "a:b@tcp(",
        "htpasswd -b a ",
    ),
    *(
        "new PDO('a','b',",
        "PDO('",
        'getConnection("a",',
        "master.key 1",
        'kty"d":"a',
        "/user:a net use ",
        "a LOGIN b ",
        "echo a:b | chpasswd",
    ),
    *("\\u003cprivate ", "\uff1cprivate ", "a1B2c3_key=", "API_KEY A1b2C3d4E5f6G7h8", "/bot1234567890:"),
    *("%41", "%41password=", "\u200b", "g\u200bh", "\\u200b", "token to ", "api_key ", "api_key, ", "API_KEY 값은 "),
    *(
        "토큰의 키 ",
        "< private",
        "<private\n",
        "</private",
        "MT1a.",
        "pat",
        "sk.eyJ",
        "EAA1",
        "okta 00aA",
        "/bot1",
        "AKIA/",
    ),
    *("a", "A1", "sk-", "eyJ", "eyJ-", "eyJaaaaaaaaaa.eyJ", "xoxb-", "://a:", ":AA", "123456789:AA", "1Q~", "AKIA"),
    *("password=", "PASSWORD=", 'password="', "token=", "token={a", "pwd=$", "--password ", "비밀번호는 ", "Bearer "),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAA",
        "<private>",
        "<private ",
        "<pri",
    ),
    *(
        "\\",
        '\\"',
        "'",
        "curl -u ",
        "login a ",
        "password ",
        "password - value",
        "Authorization: Basic ",
        "hooks.slack.com/",
    ),
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.few(24)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, piece):
    assert grows_linearly(redact, lambda size: (piece * size)[:size])


# Properties -----------------------------------------------------------------------------------------------------

ANYTHING = st.text(st.characters(codec=None), max_size=200)  # lone surrogates and NUL included
NEIGHBOURS = st.text(st.characters(categories=["Lo", "Po", "Zs", "Cc"]), max_size=60).filter(
    lambda text: not text or not text[-1].isascii() or text[-1] not in ALNUM + "_"
)


@given(st.sampled_from(sorted(PLANTED)), st.integers(0, 1_000_000), NEIGHBOURS, NEIGHBOURS)
def test_a_planted_secret_is_gone_whatever_surrounds_it(name, seed, before, after):
    secret, text = _planted(seed)[name]
    whole = f"{before}\n{text} {after}"
    once = redact(whole)
    assert _is_gone(secret, once.text)
    assert redact(once.text).text == once.text


@given(ANYTHING)
def test_any_text_is_taken_and_redacting_is_idempotent(text):
    once = redact(text)
    assert redact(once.text).text == once.text
    assert once == redact(text)


FRAGMENTS = st.sampled_from(
    [
        *(
            "password",
            "비밀번호는 ",
            "=",
            ": ",
            '"',
            "'",
            '\\"',
            "\\",
            "<private>",
            "</private>",
            "[REDACTED:jwt]",
            "\n",
        ),
        *(
            "hunter2x",
            "sk-",
            "://",
            "@",
            "a",
            "1",
            "Bearer ",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
        ),
        *("%22", "%5C", "%67hp_", "%3D", "\u200b", "API_KEY ", " 값은 ", " to ", ", "),
        *(PLANTED["github"][0], PLANTED["aws id"][0], PLANTED["jwt"][0], "TOKEN=", "{", "}", "$", " ", "[", "]", ","),
    ]
)


@given(st.lists(FRAGMENTS, max_size=12))
def test_redacting_what_nearly_is_a_secret_is_idempotent(fragments):
    text = "".join(fragments)
    once = redact(text)
    assert redact(once.text).text == once.text
    assert all(0 <= f.start < f.end <= len(text) for f in once.findings)
    assert all(a.end <= b.start for a, b in zip(once.findings, once.findings[1:], strict=False))


@given(st.lists(FRAGMENTS, max_size=12), st.booleans())
def test_json_stays_json_whatever_its_strings_hold(fragments, ascii_only):
    document = {"a": "".join(fragments), "b": [*fragments, {"password": "".join(fragments[:2])}], "token": 12}
    after = json.loads(redact(json.dumps(document, ensure_ascii=ascii_only)).text)
    assert set(after) == set(document)
    assert len(after["b"]) == len(document["b"])


@given(ANYTHING.filter(lambda text: not any(c in text for c in ":/=<-_.\\ ")))
def test_text_without_a_keyword_is_unchanged(text):
    assert redact(text) == Redacted(text, ())
