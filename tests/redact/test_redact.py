"""Secrets are put together at run time, from pieces, so that no scanner takes this file for a leak."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gitmem
from gitmem.platform.machine import table
from gitmem.redact.redact import Redacted, redact
from tests.redact.planted import ALNUM, planted

PLANTED = planted()
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


@pytest.mark.few(1)
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
        *("토큰은 {}를", "({})", "={},", "a\\n{}\\n", "%20{}", "\x1b[32m{}\x1b[0m", "키:{}。", "<{}>", "'{}';"),
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


@pytest.mark.parametrize("before", ["비밀번호는 ", "암호: ", "password: ", "비번은 "])
@pytest.mark.parametrize("secret", ["하늘바다123!", "하늘바다123!이야", "여름4!휴가2"])
def test_a_password_in_hangul_goes_where_digits_stand_beside_a_sign(before, secret):
    marker = before + "[REDACTED:password]"
    assert redact(f"{before}{secret} 끝").text == f"{marker} 끝"
    escaped = json.loads(redact(json.dumps({"a": f'{before}{secret}" 끝\n'})).text)
    assert escaped == {"a": f'{marker}" 끝\n'}


@pytest.mark.parametrize(
    "sentence",
    [
        "비밀번호는 최소8자 이상!",
        "비밀번호: 영문·숫자 8~16자!",
        "암호는 이슈#123을 보라",
        "비밀번호는 약50%가 짧다!",
        "암호가 노출되었다!!",
    ],
)
def test_a_sentence_about_passwords_in_korean_stays(sentence):
    assert redact(sentence).text == sentence


@pytest.mark.parametrize(
    "secret", ["Qx7&3" + "xyz", "ab&3" + "xyz", "Qx7!;3|x" + "yz", "Qx7<3,x>" + "yz", "Qx7'3" + "xyz9"]
)
@pytest.mark.parametrize(
    "before, after", [("비밀번호는 ", "야"), ("password: ", " for all"), ("DB_PASSWORD=", "\nX=1")]
)
def test_a_password_is_gone_to_its_end(secret, before, after):
    assert redact("비밀번호: " + secret + "&").text == "비밀번호: [REDACTED:password]"
    assert redact(before + secret + after).text == f"{before}[REDACTED:password]{after}"


@pytest.mark.parametrize(
    "before, after",
    [
        ("https://a.example/?password=", "&next=b"),
        ("https://a.example/?x=1&password=", "&debug"),
        ("user=kim&password=", "&next=b"),
        ("password=", "&amp;next=b"),
        ("password=", "&&npm test"),
        ("connect(password=", ",timeout=3)"),
        ("password: ", "<br>next"),
    ],
)
def test_a_password_ends_where_the_next_field_or_tag_begins(before, after):
    assert redact(f"{before}hunter2x{after}").text == f"{before}[REDACTED:password]{after}"


def test_quotes_of_a_call_do_not_make_it_a_password():
    code = "pwd = (self.password.encode('utf-8') if known else b'')"
    assert redact(code).text == code


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
    *("cookie: a", "cookie: sid=a1b2c3; ", "cookie:;", "authorization: a ", "x-a-key: ", "-a-key:A1", "psk="),
    *("{ssha}a", "mongosh -p ", "a -p b 7z ", "curl -u ", "ldapx -w ", ":5432:a:b:", ":5432:a", "a:$6$"),
    *("a@tcp(", "a:b@tcp(", "htpasswd -b a ", "new PDO('a','b',", "PDO('", 'getConnection("a",', "master.key 1"),
    *('kty"d":"a', "/user:a net use ", "a LOGIN b ", "echo a:b | chpasswd", "\\u003cprivate ", "＜private "),
    *("a1B2c3_key=", "API_KEY A1b2C3d4E5f6G7h8", "/bot1234567890:", "%41", "%41password=", "\u200b", "g\u200bh"),
    *("\\u200b", "token to ", "api_key ", "api_key, ", "API_KEY 값은 ", "토큰의 키 ", "< private", "<private\n"),
    *("</private", "MT1a.", "pat", "sk.eyJ", "EAA1", "okta 00aA", "/bot1", "AKIA/", "a", "A1", "sk-", "eyJ"),
    *("eyJ-", "eyJaaaaaaaaaa.eyJ", "xoxb-", "://a:", ":AA", "123456789:AA", "1Q~", "AKIA", "password="),
    *("PASSWORD=", 'password="', "token=", "token={a", "pwd=$", "--password ", "비밀번호는 ", "Bearer "),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAA", "<private>", "<private "),
    *("<pri", "\\", '\\"', "'", "login a ", "password ", "password - value", "Authorization: Basic "),
    *("hooks.slack.com/"),
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.few(1)
def test_steps_grow_with_the_length_of_hostile_text(grows_linearly, piece):
    assert grows_linearly(redact, lambda size: (piece * size)[:size])


# Properties -----------------------------------------------------------------------------------------------------

ANYTHING = st.text(st.characters(codec=None), max_size=200)  # lone surrogates and NUL included
NEIGHBOURS = st.text(st.characters(categories=["Lo", "Po", "Zs", "Cc"]), max_size=60).filter(
    lambda text: not text or not text[-1].isascii() or text[-1] not in ALNUM + "_"
)


@given(st.sampled_from(sorted(PLANTED)), st.integers(0, 1_000_000), NEIGHBOURS, NEIGHBOURS)
def test_a_planted_secret_is_gone_whatever_surrounds_it(name, seed, before, after):
    secret, text = planted(seed)[name]
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
        *("password", "비밀번호는 ", "=", ": ", '"', "'", '\\"', "\\", "<private>", "</private>", "[REDACTED:jwt]"),
        "\n",
        *("hunter2x", "sk-", "://", "@", "a", "1", "Bearer ", "-----BEGIN PRIVATE KEY-----"),
        "-----END PRIVATE KEY-----",
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
@example(["\n", "q9" + "xT4mVb7Kd2Rw8Zc3Nf6H", "비밀번호는 "], False)
def test_json_stays_json_whatever_its_strings_hold(fragments, ascii_only):
    document = {"a": "".join(fragments), "b": [*fragments, {"password": "".join(fragments[:2])}], "token": 12}
    after = json.loads(redact(json.dumps(document, ensure_ascii=ascii_only)).text)
    assert set(after) == set(document)
    assert len(after["b"]) == len(document["b"])


@given(ANYTHING.filter(lambda text: not any(c in text for c in ":/=<-_.\\ ")))
def test_text_without_a_keyword_is_unchanged(text):
    assert redact(text) == Redacted(text, ())
