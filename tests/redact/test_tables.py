"""Tables of secrets and of harmless lines (tests/data/secrets): the figures that redaction must keep."""

import json
import random
import re
import secrets

import pytest

from gitmem.redact.redact import Redacted, redact
from tests.redact.planted import CONTEXTS, filled, harmless, kinds, missed, rows, table

FORMS = {kind: {name: line for one, name, line in rows("forms.tsv") if one == kind} for kind in ("first", "later")}
SURROUNDINGS = {
    "own line": "{}",
    "tool output": "$ cat notes\n     1\tfirst\n     2\t{}\n     3\tlast",
    "English": "Use {} for staging, then run the tests again.",
    "Korean": "스테이징에는 {}를 쓰고 테스트를 다시 돌려줘.",
    "JSON": "",
    "diff": "@@ -1,2 +1,2 @@\n-old\n+{}\n context",
}


def _in_context(context: str, line: str) -> str:
    return json.dumps({"command": line}) if context == "JSON" else SURROUNDINGS[context].format(line)


def _is_caught(name: str, form: str, context: str, seed: int) -> bool:
    line, pieces = filled(form, random.Random(f"{name} {seed}"))
    left = redact(_in_context(context, line)).text
    # Of several parts (a salt, a hash) the last one is the secret.
    return pieces[-1] not in left and json.dumps(pieces[-1])[1:-1] not in left


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind, count, most", [("first", 60, 3), ("later", 40, 2)])
def test_secrets_of_a_hundred_forms_are_found_in_all_contexts(kind, count, most, seed):
    forms = FORMS[kind]
    left = {name for name, form in forms.items() for c in SURROUNDINGS if not _is_caught(name, form, c, seed)}
    assert len(forms) == count
    assert len(left) <= most, left


@pytest.mark.parametrize("form", [*FORMS["first"].values(), *FORMS["later"].values()])
def test_redacting_a_form_twice_changes_nothing_more(form):
    line, _ = filled(form, random.Random(1))
    for context in SURROUNDINGS:
        once = redact(_in_context(context, line)).text
        assert redact(once).text == once
        if context == "JSON":
            json.loads(once)


@pytest.mark.parametrize("name", ["sonar.login", "sonar.token", "spring.datasource.password", "api.secret"])
def test_a_property_on_a_command_line_is_redacted(name):
    secret = secrets.token_hex(20)
    assert secret not in redact(f"mvn verify -D{name}={secret} -X").text


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.few(5)
def test_nearly_all_kinds_are_caught_in_each_context(context, seed):
    assert len(kinds(seed)) == 40
    assert len(missed(context, seed)) <= 1, f"\n{table(seed)}"


# Other names of the same secrets.
SPOKEN = {
    "AWS_SECRET_ACCESS_KEY": ("AWS secret access key", "aws_secret", "AWS_SECRET_KEY"),
    "TWILIO_AUTH_TOKEN": ("Twilio auth token", "TWILIO_SECRET", "Twilio 토큰"),
    "DATADOG_API_KEY": ("Datadog API key", "DD_APP_KEY", "DATADOG_KEY", "Datadog API 키"),
    "HEROKU_API_KEY": ("Heroku API key", "HEROKU_KEY"),
    "ETH_PRIVATE_KEY": ("Ethereum private key", "WALLET_KEY", "이더리움 비밀키"),
    "DB_PASSWORD": ("DB_PASS", "MYSQL_PWD", "db password", "DB 비밀번호"),
}


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize(
    "template", ["{}={}", "{}: {}", "The {} is {} and it works.", "{} 값은 {} 이고", "{}는 {}이다"]
)
def test_a_secret_is_known_by_its_other_names(name, template):
    for other in SPOKEN[name]:
        value = kinds(1)[name]
        assert value not in redact(template.format(other, value)).text, other


HARMLESS = [
    *harmless(),
    *("import secrets\nfrom tokens import token", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----"),
    *("password: string\n", "password: incorrect\n", "", "\0", "\ud800"),
]


def test_what_is_no_secret_stays_in_any_context():
    assert len(HARMLESS) > 300
    templates = ["{}", "see {} please", "값: {}", "값은 {} 이고", *filter(None, SURROUNDINGS.values())]
    texts = [template.replace("{}", line) for line in HARMLESS for template in templates]
    texts += [json.dumps({"content": line}) for line in HARMLESS]
    assert [text for text in texts if redact(text) != Redacted(text, ())] == []


# What hides a secret though nobody meant to: text that was copied from a page or a chat, and URLs.
HIDDEN = ["\u200b", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u202e", "\ufe0f", "\u3164", "\U000e0041"]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "DISCORD_BOT_TOKEN", "TWILIO_AUTH_TOKEN", "DB_PASSWORD"])
def test_invisible_characters_hide_no_secret(name, hidden):
    value = kinds(1)[name]
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
    secret = kinds(1)["GITHUB_TOKEN"]
    assert redact(f"a\u200bb \u200b{secret}\u200b c").text == "a\u200bb \u200b[REDACTED:github-token]\u200b c"


@pytest.mark.parametrize("name", sorted(kinds(1)))
def test_percent_encoding_hides_no_secret(name):
    value = kinds(1)[name]
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


def _made(alphabet: str, length: int) -> str:
    chosen = random.Random(f"{alphabet} {length}")
    return "".join(chosen.choice(alphabet) for _ in range(length))


LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz123456789"
BYTES = ", ".join(str(31 * place % 256) for place in range(64))


@pytest.mark.parametrize(
    "line, secret",
    [
        ("npx convex deploy --admin-key 'prod:calm-fox-1|{}'", _made(LETTERS, 60)),
        ("The solana keypair is [{}]", BYTES),
        ("Keypair.fromSecretKey(bs58.decode('{}'))", _made(LETTERS, 88)),
        ("[Interface]\nPrivateKey = {}", f"/{_made(LETTERS, 42)}="),
        (
            "PuTTY-User-Key-File-3: x\nPrivate-Lines: 2\n{}\nPrivate-MAC: 0",
            "\n".join(_made(LETTERS, n) for n in (64, 40)),
        ),
        ('expect "password:"\nsend "{}\\r"', "Blue7!whale"),
        ('{{"wif": "{}"}}', f"K{_made(LETTERS, 51)}"),
        ("서비스키: {}", f"{_made(LETTERS, 43)}/{_made(LETTERS, 42)}=="),
        ("add https://mcp.example.com/{}/sse", _made("abcdef0123456789", 32)),
        ("hcloud context create prod <<< {}", _made(LETTERS, 64)),
        ("The deepgram key is {}, for now.", _made("0123456789abcdef", 40)),
        ("Please use this token for Mistral: `{}`", _made(LETTERS, 33)),
        ("here is our Twilio API key {} please set it up", _made("0123456789abcdef", 32)),
        ("gh secret set DEPLOY_TOKEN --body '{}'", _made(LETTERS, 24)),
        ("접속 키는 {} 입니다. 설정에 넣어 줘", _made(LETTERS, 43)),
        ("vendor auth login --with-token <<EOF\n{}\nEOF", _made("0123456789abcdef", 32)),
        ('expect "Code:"\nsend "{}\\r"', _made(LETTERS, 40)),
        ("curl -u '{}:' https://api.example.com/v1", _made(LETTERS, 64)),
        ("git clone https://bot:{}@git.example.com/a.git", f"{_made(LETTERS, 20)}/{_made(LETTERS, 22)}="),
        ("backup_{}", f"ghp_{_made(LETTERS, 36)}"),
    ],
)
def test_a_secret_is_known_by_its_place(line, secret):
    text = line.format(secret)
    assert secret not in redact(text).text
    assert json.dumps(secret)[1:-1] not in redact(json.dumps({"text": text}, ensure_ascii=False)).text


@pytest.mark.parametrize("key", ["primary", "cache", "idempotency", "public", "partition"])
def test_a_key_that_is_no_secret_stays(key):
    text = f"The {key} key is 3f2504e0-4f89-41d3-9a0c-0305e82c3301."
    assert redact(text).text == text


@pytest.mark.parametrize(
    "line",
    [
        "The key is to call validateAuthenticationHeader before parseRequestBodyWithLimit",
        '"login": "octo", "node_id": "MDQ6VXNlcjE2NTQ3ODE2NTM4", "secret": false',
        "auth failed in the tool call toolu_01NqVwYS81VP7Hb1DX8pPd5k",
        "Trace Root=1-fcc589f8-d0a9f94f03e7914c0f87f17f for the login",
        "The Content-MD5 of the token file: pV00uzQhZGmlv1jqKn3O7g==",
        "See 9fceb02d0ae598e95dc970b74767f19372d61af8 for the rotation of the secret",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ],
)
def test_what_stands_beside_the_name_of_a_secret_and_is_none_stays(line):
    assert redact(line).text == line


@pytest.mark.parametrize(
    "line",
    [
        "Use {} as the DEPLOY_TOKEN, please.",
        "{} is my DEPLOY_TOKEN",
        "DEPLOY_TOKEN → {}",
        "The DEPLOY_TOKEN should be {}.",
        "echo {} | gh secret set DEPLOY_TOKEN",
        "printf '%s' {} | wrangler secret put DEPLOY_KEY",
        "vercel env add DEPLOY_KEY production <<< {}",
        "{}가 DEPLOY_TOKEN입니다",
        "DEPLOY_TOKEN를 {}(으)로 설정했어요",
        "DEPLOY_KEY 환경변수에 {} 넣었어",
        'client.set_api_key("{}")',
        'gh secret set DEPLOY_TOKEN --body "{}"',
        "| DEPLOY_TOKEN | `{}` |",
        "DEPLOY_TOKEN,{}",
        "API key - {}",
        "API key:\n{}",
        "deploy.api.key={}",
        "<key>DeployApiKey</key><string>{}</string>",
        '<string name="deploy_api_key">{}</string>',
        'System.setProperty("deploy.token", "{}");',
        'const API_KEY: &str = "{}";',
        'variable "deploy_token" {{ default = "{}" }}',
        "https://{}@git.example.org/a.git",
        "https://data.example.org/v1?key={}",
        "시크릿 키: {}",
        "개인키는 {} 입니다",
        "https://data.example.org/v1?serviceKey={}&rows=1",
    ],
)
@pytest.mark.parametrize("form", ["<alnum:40>", "<hex:40>", "<url:43>"])
def test_a_secret_beside_its_name_is_found_on_either_side(line, form):
    secret, _ = filled(form, random.Random(line))
    assert secret not in redact(line.format(secret)).text


def test_the_words_of_a_wallet_are_found():
    words = " ".join(["legal", "winner", "thank", "year"] * 3)
    assert words not in redact(f"WALLET_MNEMONIC='{words}'").text
    assert redact("a mnemonic is easier to keep in mind than a row of digits").findings == ()
