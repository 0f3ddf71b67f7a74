"""Real git servers on loopback: sshd with git-shell or gitolite, nginx with git's http-backend, a stand-in of S3."""

import contextlib
import getpass
import http.server
import itertools
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

_OWN = os.path.dirname(sys.executable)  # where pip puts the stand-in of S3
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/share/gitolite3", _OWN))

NO_LIMIT = 1 << 40


def program(name: str) -> str:
    """Return the path of a server's program, or skip the test where it is missing."""
    found = shutil.which(name, path=_PATH)
    if found is None:
        pytest.skip(f"there is no {name} here")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(command: list[str], port: int, log: Path, env: dict[str, str] | None = None) -> Iterator[None]:
    """Run a server until the block ends; it listens when the block begins."""
    with log.open("wb") as file:
        process = subprocess.Popen(command, stderr=file, stdout=file, env=env)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


class _AsksAll(http.server.BaseHTTPRequestHandler):
    """Asks everybody for a password, and takes none."""

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="memory"')
        self.end_headers()


@contextlib.contextmanager
def password_server() -> Iterator[int]:
    """Give the port of a web server that lets nobody in."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _AsksAll)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


class Ssh(NamedTuple):
    """An sshd: the beginning of its URLs, and the command of a client that knows it."""

    address: str
    command: list[str]

    def url(self, path: Path | str) -> str:
        return f"{self.address}{path}".replace(" ", "%20")

    def enter(self, environ: dict[str, str]) -> None:
        environ["GIT_SSH_COMMAND"] = shlex.join(self.command)


@contextlib.contextmanager
def sshd(folder: Path, forced: str = "") -> Iterator[Ssh]:
    """Start an sshd that lets one key in; `forced` is the command that this key runs, whatever is asked."""
    daemon = program("sshd")
    for name in ("host", "user", "stranger"):
        subprocess.run([program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    quoted = forced.replace('"', '\\"')
    options = f'command="{quoted}" ' if forced else ""
    (folder / "authorized").write_text(options + (folder / "user.pub").read_text())
    port, settings = free_port(), folder / "sshd_config"
    settings.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        "PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "PermitRootLogin prohibit-password\n"
    )
    tried = subprocess.run([daemon, "-t", "-f", str(settings)], capture_output=True, text=True, check=False)
    if tried.returncode:  # its folder in /run is not there, for one
        pytest.skip(f"sshd does not start here: {tried.stderr.strip()}")
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    command = ["ssh", "-F", "none", "-i", f"{folder}/user", "-o", f"UserKnownHostsFile={folder}/known"]
    with running([daemon, "-D", "-e", "-f", str(settings)], port, folder / "sshd.log"):
        yield Ssh(f"ssh://{getpass.getuser()}@127.0.0.1:{port}", command)


@contextlib.contextmanager
def git_daemon(folder: Path) -> Iterator[int]:
    """Serve the repositories in a folder by `git daemon`; yield its port."""
    port = free_port()
    options = ["--reuseaddr", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1", f"--port={port}"]
    with running(["git", "daemon", *options, f"--base-path={folder}"], port, folder / "daemon.log"):
        yield port


class Relay:
    """Passes connections on to a port; `limits` says after how many bytes up or down each one breaks off."""

    def __init__(self, target: int) -> None:
        self.limits: Callable[[int], tuple[int, int]] = lambda _: (NO_LIMIT, NO_LIMIT)
        self.broken = self.sent = 0
        self._target, self._open = target, list[socket.socket]()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for number in itertools.count():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            upstream = socket.create_connection(("127.0.0.1", self._target))
            self._open += (client, upstream)
            up, down = self.limits(number)
            for pair in ((client, upstream, up), (upstream, client, down)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, left: int) -> None:
        counts = source.getsockname()[1] == self.port
        with contextlib.suppress(OSError):
            while left > 0 and (data := source.recv(min(65536, left))):
                sink.sendall(data)
                left -= len(data)
                self.sent += len(data) * counts
        self.broken += left <= 0
        for one in (source, sink) if left <= 0 else (sink,):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR if left <= 0 else socket.SHUT_WR)

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread
        for one in (self._server, *self._open):
            one.close()


_NGINX = """
{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{}}
http {{
  access_log off; client_body_temp_path {folder}/body; fastcgi_temp_path {folder}/fastcgi;
  proxy_temp_path {folder}/proxy; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port}{listen};
    location / {{
      {rules}
      fastcgi_pass unix:{folder}/socket;
      fastcgi_param SCRIPT_FILENAME {backend}; fastcgi_param GIT_HTTP_EXPORT_ALL 1;
      fastcgi_param GIT_PROJECT_ROOT "{root}"; fastcgi_param PATH_INFO $uri;
      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param QUERY_STRING $query_string;
      fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding;
    }}
  }}
}}
"""


_TLS = " ssl; ssl_certificate {0}/site.pem; ssl_certificate_key {0}/site.key"
_AUTH = "client_max_body_size 0; auth_basic memory; auth_basic_user_file {}/people;"
PASSWORD = "ada:s3cr3t"


def _certify(folder: Path) -> None:
    """Make an authority, and a certificate of it for this machine."""
    openssl, new = program("openssl"), ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name, subject, more in (
        ("ca", "/CN=The authority of a test", ()),
        ("site", "/CN=127.0.0.1", ("-addext", "subjectAltName=IP:127.0.0.1", "-CA", "ca.pem", "-CAkey", "ca.key")),
    ):
        words = ("req", "-x509", *new, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", subject)
        subprocess.run([openssl, *words, *more], cwd=folder, capture_output=True, check=True)


@contextlib.contextmanager
def https(folder: Path, root: Path, home: Path) -> Iterator[str]:
    """As `nginx`, over TLS and with a password; the configuration in `home` names the authority and a helper."""
    _certify(folder)
    name, password = PASSWORD.split(":")
    (folder / "people").write_text(f"{name}:{{PLAIN}}{password}\n")
    (folder / "people").chmod(0o644)
    with nginx(folder, root, _AUTH.format(folder), _TLS.format(folder)) as address:
        (folder / "passwords").write_text(address.replace("://", f"://{PASSWORD}@").rstrip("/") + "\n")
        (home / ".gitconfig").write_text(
            f"[http]\n\tsslCAInfo = {folder}/ca.pem\n[credential]\n\thelper = store --file={folder}/passwords\n"
        )
        yield address


@contextlib.contextmanager
def nginx(folder: Path, root: Path, rules: str = "", tls: str = "") -> Iterator[str]:
    """Serve the repositories in a folder by nginx and git's http-backend; yield the beginning of their URLs."""
    daemon, port = program("nginx"), free_port()
    execs = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    backend = program(os.path.join(execs, "git-http-backend"))
    settings, user = folder / "nginx.conf", "user root;" if os.geteuid() == 0 else ""
    values = {"folder": folder, "port": port, "root": root, "backend": backend, "rules": rules, "user": user}
    settings.write_text(_NGINX.format(**values, listen=tls))
    with (folder / "fcgi.log").open("wb") as log:
        relay = subprocess.Popen([program("fcgiwrap"), "-s", f"unix:{folder}/socket"], stderr=log, stdout=log)
    try:
        for _ in range(200):
            if (folder / "socket").exists():
                (folder / "socket").chmod(0o777)
                break
            time.sleep(0.05)
        with running([daemon, "-c", str(settings), "-e", f"{folder}/nginx.log"], port, folder / "nginx.out"):
            yield f"http{'s' * bool(tls)}://127.0.0.1:{port}/"
    finally:
        relay.terminate()
        relay.wait()


@contextlib.contextmanager
def gitolite(folder: Path, rights: str = "R") -> Iterator[Ssh]:
    """Start an sshd in front of gitolite, whose repository `memory` the user may read and, by default, not write."""
    command, shell = program("gitolite"), program("gitolite-shell")
    home = folder / "gitolite"
    home.mkdir()
    with sshd(folder, f"env HOME={home} {shlex.quote(f'PATH={_PATH}')} {shell} ada") as server:
        env = {**os.environ, "HOME": str(home), "PATH": _PATH, "USER": getpass.getuser()}
        shutil.copyfile(folder / "stranger.pub", folder / "admin.pub")
        setup = [command, "setup", "-pk", str(folder / "admin.pub")]
        tried = subprocess.run(setup, env=env, capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"gitolite does not start here: {tried.stderr.strip()[-200:]}")
        configuration = home / ".gitolite" / "conf" / "gitolite.conf"
        configuration.write_text(f"repo memory\n    RW+ = admin\n    {rights} = ada\n")
        for step in ("compile", "trigger"):
            words = [command, step, *["POST_COMPILE"] * (step == "trigger")]
            subprocess.run(words, env=env, capture_output=True, check=True)
        yield server


@contextlib.contextmanager
def s3(folder: Path, home: Path, environ: dict[str, str]) -> Iterator[str]:
    """Start a stand-in of S3 (moto) with a bucket; the user's configuration allows its addresses, git-remote-s3."""
    server, port = program("moto_server"), free_port()
    program("git-remote-s3")
    bucket = f"http://127.0.0.1:{port}/bucket"
    with running([server, "-H", "127.0.0.1", "-p", str(port)], port, folder / "s3.log"):
        urllib.request.urlopen(urllib.request.Request(bucket, method="PUT")).close()
        environ |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
        environ |= {"AWS_ENDPOINT_URL": bucket.removesuffix("/bucket")}
        environ["PATH"] += os.pathsep + _OWN
        (home / ".gitconfig").write_text('[protocol "s3"]\n\tallow = always\n')
        yield "s3://bucket/memory"


KINDS = ("path", "ssh", "https", "gitolite", "s3")


@contextlib.contextmanager
def serve(kind: str, folder: Path, remote: Path, home: Path, environ: dict[str, str]) -> Iterator[str]:
    """Serve an empty repository as one of `KINDS`; yield its address, which `environ` and the home let one reach."""
    if kind == "path":
        yield str(remote)
    elif kind == "ssh":
        with sshd(folder, f'{program("git-shell")} -c "$SSH_ORIGINAL_COMMAND"') as server:
            server.enter(environ)
            yield server.url(remote)
    elif kind == "https":
        subprocess.run(["git", "-C", str(remote), "config", "http.receivepack", "true"], check=True)
        with https(folder, remote.parent, home) as address:
            yield address + remote.name.replace(" ", "%20")
    elif kind == "gitolite":
        with gitolite(folder, "RW+") as server:
            server.enter(environ)
            yield server.url("/memory")
    else:
        with s3(folder, home, environ) as address:
            yield address
