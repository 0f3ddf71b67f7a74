"""Secrets recognised by their context: key blocks, URLs, headers, command lines, values of telling names.

Formats (gitmem.redact.formats) need no context; here the value must look like a secret, too (gitmem.redact.names).
Patterns are bounded, so time is linear in the text.
"""

from __future__ import annotations

from functools import cache

from gitmem.redact.names import MAX_VALUE, Span, compiled, is_loose_secret, looks_random, stands_in, values_of_names

TYPE_CHECKING = False  # see gitmem.values
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator


MAX_BLOCK = 65_536
"""Characters a key block may have between its two lines (an OpenSSH RSA key of 16,384 bits has 13,000)."""


def find_in_context(text: str, lowered: str, words: str) -> Iterator[Span]:
    """Find all secrets that their context reveals; `lowered` is the text in lower case, of the same length.

    `words` has each word of it once, which is less to look through.
    Spans may overlap and are not sorted.
    """
    if "private" in words and "private key" in lowered:
        yield from _key_blocks(text)
    if ":/" in words:
        yield from _passwords(text, _URL)
    yield from _of_headers(text, words)
    for stem, rows in _places():
        if stem not in words:
            continue
        for longest, needed, pattern, is_secret in rows:
            if longest in words and all(part in lowered for part in needed):
                yield from _passwords(text, pattern, is_secret)
    yield from values_of_names(text, lowered, words)


_STEMS = ("pass", "auth", "user", "login", "sql", ".key", "snmp", "conn", "openssl", "credential", "identified", "")
"""Parts of many parts: where one of these is not in a text, no row with it need be looked at."""


@cache
def _places() -> list[tuple[str, list[tuple[str, tuple[str, ...], str, Callable[[str], bool]]]]]:
    """Return the rows by the first stem they need, each with its longest piece of a word and all its parts."""
    grouped: dict[str, list[tuple[str, tuple[str, ...], str, Callable[[str], bool]]]] = {stem: [] for stem in _STEMS}
    for table, is_secret in ((_PLACES, _is_no_stand_in), (_WEAK_PLACES, _is_password)):
        for needed, pattern in table:
            stem = next(stem for stem in _STEMS if any(stem in part for part in needed))
            longest = max(compiled(r"[a-z0-9_.:/+=~$-]+").findall(" ".join(needed)), key=len)
            grouped[stem].append((longest, needed, pattern, is_secret))
    return list(grouped.items())


# Key blocks -----------------------------------------------------------------------------------------------------

# RFC 7468 sections 2 and 10 (PEM), RFC 9580 section 6.2 (OpenPGP); OpenSSH's PROTOCOL.key has the same frame.
_FRAME = r"-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BASE64 = r"[A-Za-z0-9+/=]{16,}"
_BODY = r"(?:(?:\\{1,8}[nrt]|\s|[+>|#*-]|[0-9]{1,6}(?:→|\t|\\t)){0,24}[A-Za-z0-9+/=]{16,})+"
_LINE = r"\\{1,8}[nrt]|([A-Za-z0-9+/=]{8,})"


def _key_blocks(text: str) -> Iterator[Span]:
    """Find key blocks from BEGIN to END; of a truncated one, the lines of base64 after BEGIN."""
    frames = list(compiled(_FRAME).finditer(text))
    for place, begin in enumerate(frames):
        if begin[1] != "BEGIN":
            continue
        after = frames[place + 1] if place + 1 < len(frames) else None
        if after and after[1] == "END" and _is_key_material(text, begin.end(), after.start()):
            yield from _block(text, begin, after)
        elif body := compiled(_BODY).match(text, begin.end()):
            yield Span(begin.start(), body.end(), "private-key")


def _block(text: str, begin: re.Match[str], end: re.Match[str]) -> Iterator[Span]:
    """Find the block as one span, or each line if each is a string (a list in JSON, a sum in code)."""
    if not compiled(r'(?<!\\)"').search(text, begin.end(), end.start()):
        yield Span(begin.start(), end.end(), "private-key")
        return
    for line in compiled(_LINE).finditer(text, begin.end(), end.start()):
        if line[1]:
            yield Span(*line.span(1), "private-key")


def _is_key_material(text: str, start: int, end: int) -> bool:
    """Return whether most of the text between the two lines is base64, unlike prose that mentions both.

    Line numbers, quotes and escapes may be among the lines of a key.
    """
    if end - start > MAX_BLOCK:
        return False
    return 2 * sum(map(len, compiled(_BASE64).findall(text, start, end))) > end - start


# URLs, headers, command lines -----------------------------------------------------------------------------------

# RFC 3986 section 3.2.1: user information is `user:password`. JSON may escape a slash (RFC 8259 section 7).
_URL = r":\\?/\\?/[^\s/?#:@\"'<>\\`]{0,128}:([^\s/?#@\"'<>\\`]{1,256})@"

# RFC 6750 section 2.1. Other schemes: Elasticsearch (`ApiKey`), Django REST framework (`Token`), Opsgenie (`GenieKey`).
_CREDENTIALS = r"([A-Za-z0-9._~+/-]{16,}=*)"
_AUTHORIZATION = r"authorization\\{0,8}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,8}[\"']?"
_SCHEMES = (
    ("--auth", rf"--auth[ =]{_CREDENTIALS}"),
    ("bearer", rf"(?i:bearer)(?:[ \t]|%20|\\t){{1,4}}{_CREDENTIALS}"),
    ("authorization", rf"(?i:{_AUTHORIZATION}[a-z]{{2,20}}) {{1,4}}{_CREDENTIALS}"),
)

# RFC 6265 sections 4.1 and 4.2: a header of cookies, and a cookie that is named as one of a session.
_COOKIES = r"(?i:cookie)\\{0,8}[\"']?[ \t]{0,4}[:=][^\n]{1,4096}"
_COOKIE = (
    r"(?<![A-Za-z0-9_.-])(?=[A-Za-z0-9_.-]{0,60}(?i:sess|sid|auth|token|jwt|remember))"
    r"[A-Za-z0-9_.-]{1,60}=([A-Za-z0-9._~%+/-]{16,}=*)"
)

# A word without which the pattern cannot match, and the pattern. RFC 7617 section 2; Docker, "docker login", credential
# stores (config.json); npm, ".npmrc", auth related configuration.
_BASE64_VALUE = r"([A-Za-z0-9+/]{8,}={0,2})"
_BASIC = (
    ("authorization", rf"(?i:{_AUTHORIZATION}basic) {{1,4}}{_BASE64_VALUE}"),
    ("auth", rf"\"auth\\{{0,8}}\"\s{{0,4}}:\s{{0,4}}\\{{0,8}}\"{_BASE64_VALUE}"),
    ("_auth", rf"_auth[ \t]{{0,4}}=[ \t]{{0,4}}\\?\"?{_BASE64_VALUE}"),
)

# The words without which the pattern cannot match, and the pattern; the value counts unless it stands in for one.
_QUOTE = r"\\{0,8}[\"']"
_ARGUMENT = rf"(?:{_QUOTE})?([^\s\"'\\]{{1,256}})"
_OPTIONS = r"[^\n|;]{0,200}?(?<= )"
_STRING = rf"{_QUOTE}[^\"'\\\n]{{1,200}}{_QUOTE}"
_SAMPLE = rf"{_QUOTE}([^\"'\\\n]{{4,256}})"
_CRYPT = r"\$(?:apr1|[1567y]|2[abxy]?|gy|argon2id?)\$[A-Za-z0-9./$,=+]{20,200}"
_CONSTANT = r"[A-Z_]{0,40}(?:PASSWORD|PASS|SECRET|TOKEN|KEY|SALT)"
_KAGGLE = rf"username{_QUOTE}\s{{0,4}}:\s{{0,4}}{_STRING},\s{{0,8}}{_QUOTE}key{_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}"
_LOGIN = rf"\(\s{{0,4}}{_STRING},\s{{0,4}}{_STRING},\s{{0,4}}{_SAMPLE}"  # an address, a name, a password
_GAP = r"(?:\\{1,4}[nrt]|[\s0-9→:=\"'`]){1,16}"  # between a file's name and its only line, as `cat -n` prints it
_PLACES = (
    # The manuals of netrc, sshpass, curl, "docker login", mysql, redis-cli, openssl's pass phrases
    (("login", "password"), rf"login[ \t]{{1,4}}\S{{1,128}}[ \t]{{1,4}}password[ \t]{{1,4}}{_ARGUMENT}"),
    (("sshpass", "-p"), rf"sshpass -p ?{_ARGUMENT}"),
    (("curl", "-u"), rf"curl {_OPTIONS}-u[ =]?(?:{_QUOTE})?[^\s:\"'\\]{{1,128}}:{_ARGUMENT}"),
    (("--user", "curl"), rf"curl {_OPTIONS}--user[ =](?:{_QUOTE})?[^\s:\"'\\]{{1,128}}:{_ARGUMENT}"),
    (("login", "-p"), rf"docker login {_OPTIONS}-p[ =]{_ARGUMENT}"),
    (("mysql", "-p"), rf"mysql[a-z]{{0,10}} {_OPTIONS}-p(?![0-9:]+\b){_ARGUMENT}"),
    (("redis-cli", "-a"), rf"redis-cli {_OPTIONS}-a {_ARGUMENT}"),
    (("pass:",), rf"-pass(?:in|out)? pass:{_ARGUMENT}"),
    # HTTPie and Jenkins's CLI, smbclient, keytool and jarsigner, PowerShell, chpasswd, ipsec.secrets
    (("-auth",), rf"--?auth[ =](?:{_QUOTE})?[^\s:\"'\\]{{1,128}}:{_ARGUMENT}"),
    (("-u",), rf" -U ?(?:{_QUOTE})?[^\s%\"'\\]{{1,64}}%{_ARGUMENT}"),
    (("storepass",), rf"-(?:src|dest)?storepass {_ARGUMENT}"),
    (("keypass",), rf"-(?:src|dest)?keypass {_ARGUMENT}"),
    (("asplaintext",), rf"ConvertTo-SecureString (?:-String )?{_ARGUMENT}"),
    (("chpasswd",), rf"echo (?:{_QUOTE})?[a-z_][a-z0-9_-]{{0,31}}:{_ARGUMENT}(?:{_QUOTE})? \| chpasswd"),
    (("psk", ": psk"), rf": PSK (?={_QUOTE}){_ARGUMENT}"),
    # The manuals of htpasswd and of MinIO's client
    (("htpasswd -",), rf"htpasswd -[A-Za-z]{{0,6}}b[A-Za-z]{{0,6}} [^\s-]\S{{0,200}} \S{{1,64}} {_ARGUMENT}"),
    (("alias", "mc alias set"), rf"\bmc alias set \S{{1,64}} \S{{1,256}} \S{{1,128}} {_ARGUMENT}"),
    # MySQL's CREATE USER; WordPress's wp-config.php; PHP's PDO and mysqli, Perl's DBI, Java's DriverManager
    (("identified by",), rf"(?i:user [^\n;]{{1,120}}? identified by) (?={_QUOTE}){_ARGUMENT}"),
    (("define(",), rf"define\(\s{{0,4}}{_QUOTE}{_CONSTANT}{_QUOTE},\s{{0,4}}{_SAMPLE}"),
    (("pdo(",), rf"PDO{_LOGIN}"),
    (("mysqli(",), rf"mysqli{_LOGIN}"),
    (("mysqli_connect",), rf"mysqli_connect{_LOGIN}"),
    (("connect", "dbi-"), rf"DBI->connect{_LOGIN}"),
    (("getconnection",), rf"DriverManager\.getConnection{_LOGIN}"),
    # Go's MySQL driver, Oracle's thin and OCI drivers, SQL*Plus
    (("@tcp(",), r"[A-Za-z0-9_.-]{1,64}:([^\s@:\"'\\]{1,256})@tcp\("),
    (("@unix(",), r"[A-Za-z0-9_.-]{1,64}:([^\s@:\"'\\]{1,256})@unix\("),
    (("oracle:",), r"oracle:(?:thin|oci8?):[^\s/@\"']{1,64}/([^\s@\"']{1,256})@"),
    (("sqlplus",), r"sqlplus (?:-\w+ ){0,3}[^\s/@\"']{1,64}/([^\s@\"']{1,256})@"),
    # The manual of crypt, after a name as in htpasswd and shadow; RFC 2307
    ((":$",), rf"(?<=[A-Za-z0-9_.-]):({_CRYPT})"),
    (("ssha",), r"\{SSHA(?:256|384|512)?\}([A-Za-z0-9+/]{16,}={0,2})"),
    # Rails's config/master.key; RFC 7518 section 6 (private parts of a JWK); Kaggle's kaggle.json
    *(
        ((f"{name}.key",), rf"{name}\.key{_GAP}([0-9a-f]{{32,128}})(?![0-9A-Za-z])")
        for name in ("master", "secret", "production", "staging")
    ),
    (("kty",), rf"{_QUOTE}(?:d|p|q|dp|dq|qi|k){_QUOTE}\s{{0,4}}:\s{{0,4}}{_QUOTE}([A-Za-z0-9_-]{{22,1400}})"),
    (("username", "key"), rf"{_KAGGLE}([0-9a-f]{{32}})(?![0-9a-f])"),
    # Kubernetes's bootstrap tokens; Consul's gossip key
    (("--token",), r"--token[ =]([a-z0-9]{6}\.[a-z0-9]{16})(?![A-Za-z0-9.])"),
    (("encrypt",), rf"encrypt(?:{_QUOTE})?[ \t]{{0,4}}[:= ][ \t]{{0,4}}(?:{_QUOTE})?([A-Za-z0-9+/]{{43}}=)"),
)

# The same where the value could be the next word of a sentence: it must look like a password.
_WORD = rf"(?:{_QUOTE})?([!#-&(-\[\]-~]{{1,256}})"
_FLAGS = r"(?:--?[\w-]{1,40}(?:[ =][^\s-]\S{0,120})? ){0,4}"
_NO_PORT = "(?![0-9.]{1,15}[:/])"
_WEAK_PLACES = (
    # Programs that take `-u NAME -p PASSWORD`, `/u:NAME /p:PASSWORD`, `--user NAME:PASSWORD`, or a password from `echo`
    (
        (" -u", " -p"),
        rf" -[uU][ =]?[^\s-]\S{{0,120}} {_FLAGS}-[pP][ =]?{_NO_PORT}{_WORD}",
    ),
    ((" /u", " /p"), rf" /u(?:ser)?:\S{{1,64}} {_OPTIONS}/p(?:ass(?:word)?)?:{_WORD}"),
    (("--user",), rf"--user[ =](?:{_QUOTE})?[A-Za-z][^\s:\"'\\]{{0,64}}:{_WORD}"),
    (
        ("echo",),
        rf"echo (?:-n )?{_WORD} \| (?:[^\n|]{{0,80}} --?(?:password-|passphrase-)?(?:stdin|fd)|sudo -S)(?![A-Za-z0-9])",
    ),
    # Two strings in brackets: `auth=` of requests, Go's SetBasicAuth, .NET's NetworkCredential
    *(
        ((f"{name}(",), rf"(?i:{name})\(\s{{0,4}}{_STRING},\s{{0,4}}{_SAMPLE}")
        for name in ("auth=", "auth = ", "basicauth", "basic_auth")
    ),
    (("credential", "("), rf"(?i:credentials?)\(\s{{0,4}}{_STRING},\s{{0,4}}{_SAMPLE}"),
    # Composer's auth.json; Oracle's CREATE USER; Redis's ACL; "net user"; Cisco's and net-snmp's settings
    (("-oauth",), rf"-oauth{_QUOTE}\s{{0,4}}:\s{{0,4}}\{{\s{{0,8}}{_STRING}\s{{0,4}}:\s{{0,4}}{_SAMPLE}"),
    (("identified by",), rf"(?i:identified by) {_WORD}"),
    (("setuser ",), rf"(?i:setuser) {_OPTIONS}>{_WORD}"),
    (("net user ",), rf"(?i:net user) \S{{1,64}} {_WORD}"),
    (("snmp-server",), rf"snmp-server community {_WORD}"),
    (("snmp", "-a"), rf"snmp[a-z]{{2,12}} {_OPTIONS}-A {_WORD}"),
    (("snmp", "-x"), rf"snmp[a-z]{{2,12}} {_OPTIONS}-X {_WORD}"),
    # The manuals of cqlsh, OpenLDAP's clients, zip, 7-Zip, openssl, lftp, erl, nmcli, "net use", rabbitmqctl; IMAP's
    # LOGIN (RFC 9051 section 6.2.3)
    (("cqlsh", "-p"), rf"cqlsh {_OPTIONS}-p[ =]{_WORD}"),
    (("ldap", "-w"), rf"ldap[a-z]{{3,8}} {_OPTIONS}-w {_WORD}"),
    (("zip", "-p"), rf"zip {_OPTIONS}-P {_WORD}"),
    (("7z", "-p"), rf"\b7z[az]? {_OPTIONS}-p{_WORD}"),
    (("openssl", "-k"), rf"openssl {_OPTIONS}-k {_WORD}"),
    (("lftp", "-u"), rf"lftp {_OPTIONS}-u [^\s,]{{1,64}},{_WORD}"),
    (("-setcookie",), rf"-setcookie {_WORD}"),
    (("password", "nmcli"), rf"nmcli {_OPTIONS}password {_WORD}"),
    (("/user:",), rf"net use [^\n|;]{{0,200}}?/user:\S{{1,64}} {_WORD}"),
    (("rabbitmqctl",), rf"rabbitmqctl (?:add_user|change_password|authenticate_user) \S{{1,64}} {_WORD}"),
    (("login", " login "), rf"(?<=[A-Za-z0-9]) LOGIN \S{{1,128}} {_WORD}"),
    # redis.conf, ldap.conf, slapd.conf, ngrok, settings of mail and of rclone, libpq's .pgpass
    (("masterauth",), rf"masterauth[ \t]{{1,4}}{_WORD}"),
    (("auth-pass",), rf"auth-pass \S{{1,64}} {_WORD}"),
    (("requirepass",), rf"requirepass[ \t]{{1,4}}{_WORD}"),
    (("bindpw",), rf"bindpw[ \t]{{1,8}}{_WORD}"),
    (("rootpw",), rf"rootpw[ \t]{{1,8}}{_WORD}"),
    # SonarScanner's `sonar.login` holds a token; a login of another kind is shorter
    (("login",), r"(?:-D[\w.]{0,60}|sonar\.)login ?= ?([A-Za-z0-9_-]{20,256})"),
    (("authtoken",), r"authtoken[ ]{1,4}([A-Za-z0-9_-]{20,256})"),
    (("pass =",), rf"(?<![A-Za-z0-9])pass = {_WORD}"),
    (("pass=",), rf"(?<![A-Za-z0-9])pass={_WORD}"),
    ((":543",), r":543[0-9]:(?:\*|[A-Za-z][^\s:]{0,62}):[A-Za-z*][^\s:]{0,62}:([^\s:\"'\\]{6,256})"),
)


def _of_headers(text: str, words: str) -> Iterator[Span]:
    for word, pattern in _SCHEMES:
        if word in words:
            yield from _credentials(text, pattern)
    if "cookie" in words:
        for header in compiled(_COOKIES).finditer(text):
            yield from _credentials(text, _COOKIE, *header.span())
    for word, pattern in _BASIC:
        if word in words:
            yield from _basic_credentials(text, pattern)


def _is_no_stand_in(value: str) -> bool:
    return not stands_in(value)


def _is_password(value: str) -> bool:
    return is_loose_secret(value, "password")


def _passwords(text: str, pattern: str, is_secret: Callable[[str], bool] = _is_no_stand_in) -> Iterator[Span]:
    for match in compiled(pattern).finditer(text):
        if is_secret(match[1]):
            yield Span(*match.span(1), "password")


def _credentials(text: str, pattern: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    for match in compiled(pattern).finditer(text, start, len(text) if end is None else end):
        if looks_random(match[1][:MAX_VALUE]):
            yield Span(*match.span(1), "bearer-token")


def _basic_credentials(text: str, pattern: str) -> Iterator[Span]:
    """Find the base64 of `user:password`."""
    for match in compiled(pattern).finditer(text):
        if _has_colon(match[1]):
            yield Span(*match.span(1), "basic-auth")


def _has_colon(encoded: str) -> bool:
    from binascii import a2b_base64

    try:
        return b":" in a2b_base64(encoded)
    except ValueError:
        return False
