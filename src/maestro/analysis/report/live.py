"""The report from this machine to this machine's browser, and to nobody else; no file is served by name."""

import io
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from html.parser import HTMLParser
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any
from urllib.parse import parse_qs, urlsplit

from maestro.analysis.report.follow import Snapshot

HOST = "127.0.0.1"
TIMEOUT = 5.0  # seconds that a request may take to arrive, and as many for its answer to be taken
HEAD = 16_384  # bytes of a request, at most
ROOM = 16  # requests at once
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
STRICT = "default-src 'none'; base-uri 'none'; form-action 'none'"  # where an answer is no page
REFUSED = "refused: open the address that maestro has printed"


class Server(ThreadingMixIn, TCPServer):
    """Answers those who know the token, a bounded number at once."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, port: int, newest: Callable[[], Snapshot]) -> None:
        self.newest, self.token = newest, secrets.token_urlsafe(24)
        self.room = threading.BoundedSemaphore(ROOM)
        super().__init__((HOST, port), Handler)

    @property
    def host(self) -> str:
        """What a browser must call it."""
        return f"{HOST}:{self.server_address[1]}"

    @property
    def address(self) -> str:
        """What a person opens."""
        return f"http://{self.host}/?token={self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, once there is room: whoever is inside has left after two timeouts."""
        self.room.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent where whoever asked is slow or has gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One request and its answer."""

    server: Server
    timeout = TIMEOUT

    def setup(self) -> None:
        """Take the whole head at once, so that no line of it can be waited for."""
        super().setup()
        self.rfile = io.BytesIO(head(self.request))
        self.request.settimeout(TIMEOUT)

    def do_GET(self) -> None:
        """The page or its data, for who may have them."""
        if not self.is_welcome():
            return self.answer(HTTPStatus.FORBIDDEN, REFUSED)
        path = urlsplit(self.path).path
        if path == "/":
            page = self.server.newest().page
            return self.answer(HTTPStatus.OK, page, "text/html", f"{policy(page)}; frame-ancestors 'none'")
        if path == "/data.json":
            return self.answer(HTTPStatus.OK, self.server.newest().json, "application/json")
        self.answer(HTTPStatus.NOT_FOUND, "there is nothing here")

    do_HEAD = do_GET

    def is_welcome(self) -> bool:
        """Whether the page itself or a person asks, under this very name, and knows the token."""
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        sites = self.headers.get_all("Sec-Fetch-Site", [])
        own = hosts == [self.server.host] and set(origins) <= {f"http://{self.server.host}"}
        try:
            tokens = parse_qs(urlsplit(self.path).query, max_num_fields=4).get("token", [])
        except ValueError:
            return False
        known = [secrets.compare_digest(token.encode(), self.server.token.encode()) for token in tokens]
        return own and set(sites) <= {"same-origin", "none"} and known == [True]

    def answer(
        self, status: HTTPStatus, content: str | bytes, kind: str = "text/plain", allowed: str = STRICT
    ) -> None:
        """Send it with all that keeps others out."""
        body = content if isinstance(content, bytes) else content.encode()
        own = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        self.send_response_only(status)
        for name, value in {**own, **HEADERS, "Content-Security-Policy": allowed}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the parser of requests refuses, methods other than two among it; nothing is echoed."""
        wrong_method = code == HTTPStatus.NOT_IMPLEMENTED
        status = HTTPStatus.METHOD_NOT_ALLOWED if wrong_method else HTTPStatus(code)
        self.answer(status, "only GET and HEAD" if wrong_method else status.phrase)

    def log_message(self, format: str, *args: Any) -> None:
        """The token stays out of all logs."""


def head(connection: socket.socket) -> bytes:
    """All up to the empty line; an `OSError` where it comes too late or is too long."""
    end, content = time.monotonic() + TIMEOUT, b""
    while b"\r\n\r\n" not in content:
        if len(content) > HEAD:
            raise ConnectionAbortedError(f"more than {HEAD} bytes")
        connection.settimeout(max(0.001, end - time.monotonic()))
        part = connection.recv(4096)
        if not part:
            break
        content += part
    return content


class Policy(HTMLParser):
    """Finds the content security policy in the head of a page."""

    found = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "meta" and told.get("http-equiv") == "Content-Security-Policy":
            self.found = self.found or str(told["content"])


def policy(page: str) -> str:
    """What a page allows itself, for the header; nothing where it does not say."""
    parser = Policy()
    parser.feed(page[:HEAD])
    return parser.found or STRICT
