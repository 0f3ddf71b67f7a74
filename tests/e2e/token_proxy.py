"""A proxy that adds the bearer token to each request, for a client that cannot send one.

    python token_proxy.py PORT TOKEN      prints the port it listens on, on the loopback address

All else goes through as it came, `Host` and `Origin` too, but for the proxy's port, which becomes the server's; the
answer goes through as it comes.
"""

import http.client
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_HOP = {"connection", "keep-alive", "transfer-encoding", "date"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    port: int
    token: str

    def log_message(self, *_: object) -> None:
        pass

    def forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        server = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _HOP:
                server.putheader(name, value.replace(f":{self.server.server_port}", f":{self.port}"))
        server.putheader("authorization", f"Bearer {self.token}")
        server.endheaders(body)
        answer = server.getresponse()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP:
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        while piece := answer.read1():
            self.wfile.write(piece)
            self.wfile.flush()

    do_GET = do_POST = do_DELETE = forward  # noqa: N815


def main() -> None:
    Handler.port, Handler.token = int(sys.argv[1]), sys.argv[2]
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()


if __name__ == "__main__":
    main()
