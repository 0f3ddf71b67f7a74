"""Sixty forms of secrets that are named by a header, a flag or a file's syntax, in six contexts; 120 harmless lines.

The forms are those that the programs' own documentation shows, written down before any rule was made for one of them.
Each secret is made at run time, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import json
import random
import secrets
import string

import pytest

from gitmem.redact.redact import redact

LEAST_CAUGHT = 57

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
    "letters": string.ascii_letters,
}

# In a line: `<word>` is a password that a person made, `<alphabet:length>` one that a program made, `<user>` base64 of
# `user:password`, `<pem>` base64 of a key in PEM.
FORMS = {
    # Headers of HTTP, as the providers document them
    "cloudflare global key": "X-Auth-Key: <hex:37>",
    "openstack keystone": "X-Auth-Token: <url:120>",
    "elasticsearch api key": "Authorization: ApiKey <b64:56>==",
    "django rest framework": "Authorization: Token <hex:40>",
    "opsgenie": "Authorization: GenieKey <uuid>",
    "gitlab old token": "PRIVATE-TOKEN: <url:20>",
    "azure api management": "Ocp-Apim-Subscription-Key: <hex:32>",
    "azure functions": "x-functions-key: <b64:54>==",
    "rapidapi": "X-RapidAPI-Key: <alnum:50>",
    "circleci": "Circle-Token: <hex:40>",
    "consul": "X-Consul-Token: <uuid>",
    "artifactory": "X-JFrog-Art-Api: <alnum:73>",
    "datadog application key": "DD-APPLICATION-KEY: <hex:40>",
    "proxy": "Proxy-Authorization: Basic <user>",
    "bearer without digits nearby": "authorization: bearer <url:43>",
    # Files
    "kubeconfig": "client-key-data: <pem>",
    "npmrc": "//registry.example.org/:_auth=<user>",
    "pgpass": "db.example.org:5432:orders:deploy:<word>",
    "htpasswd": "deploy:$apr1$<alnum:8>$<alnum:22>",
    "shadow": "root:$6$<alnum:16>$<alnum:86>:19675:0:99999:7:::",
    "rails master key": "config/master.key: <hex:32>",
    "laravel": "APP_KEY=base64:<b64:43>=",
    "redis.conf": "requirepass <word>",
    "redis.conf replica": "masterauth <word>",
    "wireguard": "PrivateKey = <b64:43>=",
    "wireguard preshared": "PresharedKey = <b64:43>=",
    "wpa_supplicant": 'psk="<word>"',
    "rabbitmq.conf": "default_pass = <word>",
    "openldap": "bindpw <word>",
    "ldap root": "olcRootPW: {SSHA}<b64:32>",
    "ansible inventory": "web1 ansible_host=10.0.0.5 ansible_ssh_pass=<word>",
    "gradle signing": "RELEASE_STORE_PASSWORD=<word>",
    "s3cfg": "secret_key = <b64:40>",
    "kaggle.json": '{"username":"someone","key":"<hex:32>"}',
    "docker config": '{"auths":{"registry.example.org":{"auth":"<user>"}}}',
    "jwk": '{"kty":"EC","crv":"P-256","d":"<url:43>"}',
    "flask": "app.secret_key = b'<word>'",
    "wordpress salt": "define('AUTH_KEY', '<alnum:64>');",
    "maven settings": "<password><word></password>",
    # Connection strings of drivers
    "go mysql": "deploy:<word>@tcp(db.example.org:3306)/orders?parseTime=true",
    "ado.net": "Server=db.example.org;Database=orders;User Id=sa;Pwd=<word>;Encrypt=True",
    "odbc": "DRIVER={ODBC Driver 18};SERVER=db;UID=sa;PWD=<word>",
    "libpq": "host=db.example.org user=deploy password=<word> dbname=orders",
    "jdbc query": "jdbc:mysql://db.example.org/orders?user=deploy&password=<word>",
    "oracle thin": "jdbc:oracle:thin:scott/<word>@//db.example.org:1521/orders",
    "service bus": "Endpoint=sb://bus.example.org/;SharedAccessKeyName=root;SharedAccessKey=<b64:43>=",
    # Commands
    "httpie": "http --auth deploy:<word> GET https://api.example.org/v1/items",
    "mysqldump": "mysqldump -u root -p<word> orders",
    "mongosh": "mongosh --host db.example.org -u admin -p <word> orders",
    "sqlcmd": "sqlcmd -S db.example.org -U sa -P <word> -Q 'select 1'",
    "ldapsearch": "ldapsearch -x -D cn=admin,dc=example,dc=org -w <word> -b dc=example",
    "smbclient": "smbclient //files/share -U deploy%<word>",
    "ngrok": "ngrok config add-authtoken <alnum:49>",
    "htpasswd command": "htpasswd -bc /etc/nginx/.htpasswd deploy <word>",
    "keytool": "keytool -list -keystore release.jks -storepass <word>",
    "az login": "az login --service-principal -u 0000 -p <word> --tenant example",
    "minio client": "mc alias set backup https://s3.example.org AKEXAMPLEUSER <b64:40>",
    "rabbitmqctl": "rabbitmqctl add_user deploy <word>",
    "zip": "zip -r -P <word> backup.zip data/",
    # Others
    "totp": "otpauth://totp/Example:me@example.org?secret=<b32:32>&issuer=Example",
}

# Forty more, written likewise later, and missed in part.
MORE_FORMS = {
    "vault legacy": "X-Vault-Token: s.<alnum:24>",
    "splunk hec": "Authorization: Splunk <uuid>",
    "pagerduty": "Authorization: Token token=<url:20>",
    "pinecone": "Api-Key: <uuid>",
    "algolia": "X-Algolia-API-Key: <hex:32>",
    "zendesk": "curl https://x.zendesk.com/api/v2/users.json -u me@example.org/token:<alnum:40>",
    "fcm": "Authorization: key=AAAA<url:7>:<url:140>",
    "trello": "https://api.trello.com/1/boards?key=<hex:32>&token=<hex:64>",
    "mysql pwd": "MYSQL_PWD=<word> mysqldump orders",
    "helm": "helm upgrade db bitnami/postgresql --set auth.rootPassword=<word>",
    "wget": "wget --http-user=deploy --http-password=<word> https://files.example.org/a.zip",
    "gpg": "gpg --batch --passphrase <word> -d backup.gpg",
    "plink": "plink -ssh deploy@host.example.org -pw <word>",
    "beeline": "beeline -u jdbc:hive2://h.example.org:10000 -n deploy -p <word>",
    "xfreerdp": "xfreerdp /u:admin /p:<word> /v:10.0.0.8",
    "ipmitool": "ipmitool -I lanplus -H 10.0.0.9 -U ADMIN -P <word> chassis status",
    "snmp": "snmpwalk -v3 -l authPriv -u monitor -a SHA -A <word> -x AES 10.0.0.9",
    "cifs": "mount -t cifs //files/share /mnt -o username=deploy,password=<word>",
    "cypher-shell": "cypher-shell -u neo4j -p <word>",
    "sudo -S": "echo <word> | sudo -S apt-get update",
    "docker stdin": "echo <word> | docker login -u deploy --password-stdin",
    "composer": '{"github-oauth": {"github.com": "<hex:40>"}}',
    "nuget": 'key="ClearTextPassword" value="<word>"',
    "twine": "twine upload -u deploy -p <word> dist/app.whl",
    "mutt": 'set imap_pass="<word>"',
    "postgres": "ALTER USER app WITH PASSWORD '<word>';",
    "oracle": "CREATE USER app IDENTIFIED BY <word>;",
    "redis acl": "ACL SETUSER app on ><word> ~* +@all",
    "net user": "net user deploy <word> /add",
    "requests": 'requests.get(url, auth=("deploy", "<word>"))',
    "go basic": 'req.SetBasicAuth("deploy", "<word>")',
    "hostapd": "wpa_passphrase=<word>",
    "snmp community": "snmp-server community <word> RO",
    "swarm": "docker swarm join --token SWMTKN-1-<lower:50>-<lower:25> 10.0.0.1:2377",
    "kubeadm": "kubeadm join 10.0.0.1:6443 --token <lower:6>.<lower:16>",
    "consul": "consul agent -encrypt=<b64:43>=",
    "etcdctl": "etcdctl --user root:<word> member list",
    "publish profile": 'userName="$app" userPWD="<alnum:60>" ',
    "sonar": "sonar-scanner -Dsonar.login=<hex:40>",
    "netlify": "netlify deploy --auth=<url:43> --prod",
}

CONTEXTS = {
    "own line": "{}",
    "tool output": "$ cat notes\n     1\tfirst\n     2\t{}\n     3\tlast",
    "English": "Use {} for staging, then run the tests again.",
    "Korean": "스테이징에는 {}를 쓰고 테스트를 다시 돌려줘.",
    "JSON": "",
    "diff": "@@ -1,2 +1,2 @@\n-old\n+{}\n context",
}


def _secret(rng: random.Random, form: str) -> str:
    def some(alphabet: str, length: int) -> str:
        text = "".join(rng.choices(alphabet, k=length))
        return text if any(map(str.isdigit, text)) or alphabet == string.ascii_letters else "7" + text[1:]

    if form == "word":
        return some(string.ascii_letters, 5) + some("!*+", 1) + some(string.digits, 3) + some(ALNUM, 4)
    if form == "uuid":
        return "-".join(some(ALPHABETS["hex"], length) for length in (8, 4, 4, 4, 12))
    if form == "user":
        return base64.b64encode(f"deploy:{some(ALNUM, 17)}".encode()).decode()
    if form == "pem":
        key = f"-----BEGIN EC {'PRIVATE'} KEY-----\n{some(ALPHABETS['b64'], 64)}\n-----END"
        return base64.b64encode(key.encode()).decode()
    alphabet, length = form.split(":")
    return some(ALPHABETS[alphabet], int(length))


def _planted(line: str, rng: random.Random) -> tuple[str, list[str]]:
    """Return the line with its secrets, and these."""
    secrets = []
    while (at := line.find("<")) >= 0 and (end := line.find(">", at)) >= 0:
        form = line[at + 1 : end]
        if form in {"password", "/password"}:  # the tag of a form, not a secret's place
            line = line.replace("<", "\0", 1).replace(">", "\1", 1)
            continue
        secrets.append(_secret(rng, form))
        line = line[:at] + secrets[-1] + line[end + 1 :]
    return line.replace("\0", "<").replace("\1", ">"), secrets


def _in_context(context: str, line: str) -> str:
    return json.dumps({"command": line}) if context == "JSON" else CONTEXTS[context].format(line)


def _is_caught(name: str, form: str, context: str, seed: int) -> bool:
    line, secrets = _planted(form, random.Random(f"{name} {seed}"))
    left = redact(_in_context(context, line)).text
    # Of several parts (a salt, a hash) the last one is the secret.
    return secrets[-1] not in left and json.dumps(secrets[-1])[1:-1] not in left


def missed(forms: dict[str, str], seed: int) -> dict[str, list[str]]:
    """Return the contexts in which each form's secret stays."""
    contexts = {name: [c for c in CONTEXTS if not _is_caught(name, form, c, seed)] for name, form in forms.items()}
    return {name: left for name, left in contexts.items() if left}


@pytest.mark.parametrize("seed", range(5))
def test_secrets_of_sixty_forms_are_found_in_all_contexts(seed):
    assert len(FORMS) == 60
    left = missed(FORMS, seed)
    assert len(FORMS) - len(left) >= LEAST_CAUGHT, left


@pytest.mark.parametrize("seed", range(5))
def test_secrets_of_forty_more_forms_are_found_in_all_contexts(seed):
    assert len(missed(MORE_FORMS, seed)) <= 2


@pytest.mark.parametrize("name", [*FORMS, *MORE_FORMS])
def test_redacting_a_form_twice_changes_nothing_more(name):
    line, _ = _planted({**FORMS, **MORE_FORMS}[name], random.Random(1))
    for context in CONTEXTS:
        once = redact(_in_context(context, line)).text
        assert redact(once).text == once
        if context == "JSON":
            json.loads(once)


def _harmless() -> list[str]:
    rng = random.Random(3)

    def some(form: str) -> str:
        return _secret(rng, form)

    sri = f"sha512-{some('b64:86')}=="
    return [
        # Hashes, ids, versions
        *(f"commit {some('hex:40')}" for _ in range(4)),
        *(f"{some('hex:7')}..{some('hex:7')} main -> main" for _ in range(3)),
        *(f"sha256:{some('hex:64')}" for _ in range(4)),
        *(f"{some('hex:32')}  dist/app-1.2.{n}.tar.gz" for n in range(4)),
        *(f"request id {some('uuid')} took 31 ms" for _ in range(3)),
        *(f"{name}: {some('uuid')}" for name in ("id", "trace_id", "correlation-id", "build", "session", "key_id")),
        f'ETag: "{some("hex:32")}"',
        f'etag: W/"{some("hex:16")}"',
        f"Digest: {some('hex:64')}",
        f"image: registry.example.org/app@sha256:{some('hex:64')}",
        f"docker pull alpine@sha256:{some('hex:64')}",
        f"index {some('hex:7')}..{some('hex:7')} 100644",
        f"cache hit: deps-{some('hex:64')}",
        f"container {some('hex:12')} exited with 0",
        f"Merge: {some('hex:9')} {some('hex:9')}",
        # Lock files
        *(f'"integrity": "{sri}"' for _ in range(3)),
        f'<script src="app.js" integrity="{sri}" crossorigin="anonymous"></script>',
        f"github.com/pkg/errors v0.9.1 h1:{some('b64:43')}=",
        f"github.com/pkg/errors v0.9.1/go.mod h1:{some('b64:43')}=",
        f'checksum = "{some("hex:64")}"',
        f'{{ url = "https://files.example.org/{some("hex:60")}/a-1.0.whl", hash = "sha256:{some("hex:64")}" }}',
        f"    --hash=sha256:{some('hex:64')} \\",
        f"yarn-path: .yarn/releases/yarn-4.1.0.cjs # {some('hex:40')}",
        f'resolved "https://registry.example.org/a/-/a-1.0.tgz#{some("hex:40")}"',
        f'  "_resolved": "https://registry.example.org/b/-/b-2.0.tgz#{some("hex:40")}"',
        # Pictures, fonts, keys that are public
        f"background: url(data:image/png;base64,{some('b64:400')})",
        f"src: url(data:font/woff2;base64,{some('b64:400')}) format('woff2')",
        f"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{some('b64:330')} me@example.org",
        f"PublicKey = {some('b64:43')}=",
        f"client-certificate-data: {base64.b64encode(b'-----BEGIN CERTIFICATE-----' + rng.randbytes(60)).decode()}",
        f"certificate-authority-data: {base64.b64encode(b'-----BEGIN CERTIFICATE-----' + rng.randbytes(60)).decode()}",
        f'{{"kty":"EC","crv":"P-256","x":"{some("url:43")}","y":"{some("url:43")}"}}',
        f"SHA256:{some('b64:43')} deploy@example.org (ED25519)",
        # Minified and generated code, CSS
        "!function(e,t){var n=e.p=t,r=n.d||{};r.key=function(e){return e.k}}(a,b);",
        'var a={key:"id",auth:!0,pass:1,psk:null};a.key="name2";',
        "e.d=function(t){return t.d},e.key=r(17),e.p=2;",
        '.a1b2c3{color:#a1b2c3;background:#0f172a}.btn[data-key="x1y2z3"]{top:0}',
        "--color-primary-500: #3b82f6; --shadow-key: 0 1px 2px;",
        "@media(max-width:640px){.grid-cols-12{grid-template-columns:repeat(12,1fr)}}",
        'const d = {d: "M10 10h4v4h-4z", key: "icon1"};',
        '<path d="M12.5 3.2c-1.1 0-2 .9-2 2s.9 2 2 2 2-.9 2-2-.9-2-2-2z"/>',
        "sourceMappingURL=data:application/json;base64,eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=",
        # Code and settings around the words of the forms
        "X-Auth-Key: $CF_KEY",
        "X-Auth-Token: ${TOKEN}",
        "Authorization: ApiKey ${ES_API_KEY}",
        "Authorization: Token <your token>",
        'headers["X-Auth-Key"] = settings.cloudflare_key',
        'headers = {"Authorization": f"Token {token}"}',
        'req.headers.get("Ocp-Apim-Subscription-Key")',
        "client-key-data: DATA+OMITTED",
        "client-key: /home/me/.minikube/client.key",
        "the file config/master.key is missing",
        "add config/master.key to .gitignore",
        "_auth=${NPM_AUTH}",
        "const _auth = getAuth(app);",
        "from app import auth as _auth",
        "http --auth $USER:$PASS GET https://api.example.org",
        "gh auth login --web",
        "git push --auth none",
        "ngrok config add-authtoken $NGROK_TOKEN",
        "mvn sonar:sonar -Dsonar.login=$SONAR_TOKEN",
        "sonar.login=admin",
        "ngrok config add-authtoken <token>",
        "run ngrok config add-authtoken with your own token",
        "psql -h db.example.org -p 5432 -U deploy orders",
        "mysql -h db.example.org -P 3306 -u root -p orders",
        "mysql -u root -p < dump.sql",
        "mongosh --port 27017 -u admin -p",
        "mongosh -u admin -p $MONGO_PASSWORD orders",
        "sqlcmd -S db.example.org -U sa -P $SA_PASSWORD",
        "sqlcmd -E -S db.example.org -P",
        "ldapsearch -x -D cn=admin -W -b dc=example,dc=org",
        "ldapsearch -x -w $LDAP_PASSWORD",
        "mkdir -p src/components/Button2",
        "docker run -p 8080:80 -p 5432:5432 nginx",
        "cp -p a1.txt b2.txt && ssh -p 2222 host1",
        "pytest -p no:cacheprovider -w tests/unit2",
        "zip -r backup-2024.zip data/",
        "unzip -P",
        "htpasswd -c /etc/nginx/.htpasswd deploy",
        "keytool -list -keystore release.jks",
        "rabbitmqctl add_user deploy",
        "rabbitmqctl list_users",
        "mc alias list backup1",
        "requirepass is not set in redis.conf",
        "requirepass foobared",
        "# masterauth <master-password>",
        "bindpw is read from the environment",
        "psk=${WIFI_PSK}",
        "default_pass = ${RABBIT_PASS}",
        "the default_pass setting is read once at boot",
        "PrivateKey = <your private key>",
        "Key = value1",
        "key: 'user:42:profile:v2'",
        '{"key": "user_42_settings"}',
        '{"key":"Enter","code":"Enter","keyCode":13}',
        '{"key":"d","d":"2024-01-15","kty":null}',
        "user:pass@tcp(host:3306)/db",
        "root:x:0:0:root:/root:/bin/bash",
        "nobody:*:19675:0:99999:7:::",
        "localhost:5432:app:app:app",
        "a.b.c.d:1234:5678:9:10",
        "src/app.py:120:8:error:E501",
        "12:30:45:678:debug",
        "2001:db8:85a3:8d3:1319:8a2e:370:7348",
        "jdbc:oracle:thin:@//db.example.org:1521/orders",
        "jdbc:mysql://db.example.org:3306/orders?useSSL=true",
        "Server=db;Database=orders;Integrated Security=true",
        "otpauth://totp/Example?secret=$SECRET",
        "sudo -u deploy mkdir -p releases/v2",
        "docker run -u 1000:1000 -p 8080:80/tcp nginx",
        "docker run --user www-data:www-data alpine",
        "kubectl -n prod logs -p web-7d9f8b6c5-x2x1z",
        "sudo -u postgres psql -p 5433 orders",
        "journalctl -u nginx2 -p err",
        "msbuild app.sln /p:Configuration=Release2 /p:Platform=x64",
        'auth("user1", "read:items2")',
        'requests.get(url, auth=("deploy", password))',
        "echo done2 | tee log2.txt",
        "net user deploy /active:yes",
        "CREATE USER app IDENTIFIED BY VALUES",
        "kubeadm token create --print-join-command",
        "git config credential.helper store",
        "the <private key> stays in the vault",
        "const s = e.s.createElementNS(a1);",
        "smbclient -L //files -U deploy",
        "az login --use-device-code",
        "az webapp up -p plan1 -g group1",
        "define('WP_DEBUG', false);",
        "define('AUTH_KEY', 'put your unique phrase here');",
        "the auth header carries the api key of the tenant",
        "인증 키는 vault에서 읽는다",
        "비밀번호 정책은 8자 이상이다",
    ]


@pytest.mark.parametrize("context", CONTEXTS)
def test_nothing_harmless_is_redacted(context):
    harmless = _harmless()
    assert len(harmless) >= 120
    touched = [line for line in harmless if redact(_in_context(context, line)).findings]
    assert touched == []


@pytest.mark.parametrize("name", ["sonar.login", "sonar.token", "spring.datasource.password", "api.secret"])
def test_a_property_on_a_command_line_is_redacted(name):
    secret = secrets.token_hex(20)
    assert secret not in redact(f"mvn verify -D{name}={secret} -X").text
