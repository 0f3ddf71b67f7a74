"""Fake secrets by their forms (tests/data/secrets): made when they are asked for, so that no scanner finds a leak."""

import base64
import json
import random
import re
import string
import urllib.parse
from pathlib import Path

from gitmem.redact.redact import redact

DATA = Path(__file__).resolve().parents[1] / "data" / "secrets"
ALNUM = string.ascii_letters + string.digits
ALPHABETS = {
    "hex": "0123456789abcdef",
    "digits": string.digits,
    "alnum": ALNUM,
    "lower": string.ascii_lowercase + string.digits,
    "upper": string.ascii_uppercase + string.digits,
    "b32": string.ascii_uppercase + "234567",
    "b64": ALNUM + "+/",
    "url": ALNUM + "_-",
    "age": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "letters": string.ascii_letters,
}
_PIECE = re.compile(r"<(?:(\w+):(\d+)|(word|uuid|user|jwt|pem)(?: ([A-Z ]+) (\d+))?)>")
_CODES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\"}

# `{name}` is the variable, `{lower}` its name in lower case, `{value}` the secret.
CONTEXTS = {
    "setting": ("{name}={value}", "{name}: {value}", '{{"{lower}": "{value}"}}', "- name: {name}\n  value: {value}"),
    "shell": (
        *("export {name}='{value}' && ./deploy.sh", "{name}={value} npm publish"),
        *("docker run -e {name}={value} app", "heroku config:set {name}={value}"),
        *("aws configure set {name} {value}", "curl 'https://api.example.com/v1/items?{lower}={encoded}'"),
    ),
    "english": (
        *("The {name} is {value} and it works.", "I set {name} to {value}.", "the value of `{name}` is `{value}`"),
        "{name} was {value}, which is old",
    ),
    "korean": (
        *(
            "{name} 값은 {value} 이고 배포는 끝났다",
            "{name}은 {value}입니다.",
            "{name}의 값은 {value} 이다",
            "{name}를 {value}로 바꿨다",
        ),
        *("{name} 값: {value}", "{name} 키는 {value}"),
    ),
    "code": (
        *('const {name} = "{value}";', "{lower} = '{value}'", 'os.environ["{name}"] = "{value}"'),
        *('client = Client({lower}="{value}", retries=3)', 'config.set("{lower}", "{value}")'),
    ),
}


def rows(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("# ")]
    return [[re.sub(r"\\[nt\\]", lambda found: _CODES[found[0]], cell) for cell in row] for row in cells]


def harmless() -> list[str]:
    lines = (DATA / "harmless.txt").read_text(encoding="utf-8").splitlines()[1:]
    return [filled(line, random.Random(3))[0] for line in lines]


def filled(line: str, rng: random.Random) -> tuple[str, list[str]]:
    """Return a line with its pieces made, and these."""
    pieces: list[str] = []

    def fill(found: re.Match[str]) -> str:
        pieces.append(_piece(rng, found))
        return pieces[-1]

    return _PIECE.sub(fill, line), pieces


def _piece(rng: random.Random, found: re.Match[str]) -> str:  # noqa: PLR0911
    def some(alphabet: str, length: int) -> str:
        text = "".join(rng.choices(alphabet, k=length))
        return text if any(map(str.isdigit, text)) or alphabet == string.ascii_letters else "7" + text[1:]

    def base64url(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).decode().rstrip("=")

    alphabet, length, form, label, lines = found.groups()
    if alphabet:
        return some(ALPHABETS[alphabet], int(length))
    if label:
        body = "\n".join(some(ALPHABETS["b64"], 64) for _ in range(int(lines)))
        return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"
    if form == "word":
        return some(string.ascii_letters, 5) + some("!*+", 1) + some(string.digits, 3) + some(ALNUM, 4)
    if form == "uuid":
        return "-".join(some(ALPHABETS["hex"], length) for length in (8, 4, 4, 4, 12))
    if form == "user":
        return base64.b64encode(f"deploy:{some(ALNUM, 17)}".encode()).decode()
    if form == "jwt":
        claims = json.dumps({"sub": some(ALNUM, 8), "iat": 1_516_239_022}).encode()
        return ".".join(map(base64url, (b'{"alg":"HS256","typ":"JWT"}', claims, rng.randbytes(32))))
    key = f"-----BEGIN EC {'PRIVATE'} KEY-----\n{some(ALPHABETS['b64'], 64)}\n-----END"
    return base64.b64encode(key.encode()).decode()


def planted(seed: int = 0) -> dict[str, tuple[str, str]]:
    """Return a secret by its name, and the text it stands in."""
    rng = random.Random(seed)
    made = [(name, filled(form, rng)[0], filled(text, rng)[0]) for name, form, text in rows("planted.tsv")]
    return {name: (secret, text.replace("{}", secret)) for name, secret, text in made}


def kinds(seed: int) -> dict[str, str]:
    """Return a fake secret by the name of the variable that holds it."""
    rng = random.Random(seed)
    return {name: filled(form, rng)[0] for name, form, _ in rows("kinds.tsv")}


def missed(context: str, seed: int = 1) -> list[str]:
    """Return the kinds that are left in some text of the context."""
    own = {name: text for name, _, text in rows("kinds.tsv")} if context == "shell" else {}
    left = []
    for name, value in kinds(seed).items():
        templates = [*CONTEXTS[context], *filter(None, [own.get(name)])]
        words = {"name": name, "lower": name.lower(), "value": value, "encoded": urllib.parse.quote(value, safe="")}
        texts = [template.format(**words) for template in templates]
        secret = value.split(":")[2].split("@")[0] if name == "DATABASE_URL" else value.rpartition("/")[2]
        secret = value if name in {"AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_KEY"} else secret
        if any(form in redact(text).text for text in texts for form in (secret, urllib.parse.quote(secret, safe=""))):
            left.append(name)
    return left


def table(seed: int = 1) -> str:
    """Return how many of the kinds are caught in each context, and which are not."""
    found = {context: missed(context, seed) for context in CONTEXTS}
    count = len(kinds(seed))
    lines = (f"{context:8} {count - len(left):2} of {count}  {', '.join(left)}" for context, left in found.items())
    return "\n".join(map(str.rstrip, lines))
