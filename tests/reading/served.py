"""A real HTTP server on the loopback interface, whose answers a test writes as plain functions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


class Call:
    """One request that the server received, and the means to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, number: int) -> None:
        parts = urlsplit(handler.path)
        self.path = parts.path
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.method = handler.command
        self.number = number
        length = int(self.headers.get("content-length", "0"))
        self.body = handler.rfile.read(length) if length else b""
        self._handler = handler

    def answer(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """Sends a whole response."""
        self.head(status, {"content-length": str(len(body)), **{k.replace("_", "-"): v for k, v in headers.items()}})
        self.write(body)

    def page(self, document: Any, **headers: str) -> None:
        """Sends a JSON page."""
        self.answer(200, json.dumps(document).encode(), **{"content_type": "application/json", **headers})

    def head(self, status: int, headers: dict[str, str]) -> None:
        """Sends the head of a response only."""
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def write(self, data: bytes) -> None:
        """Sends a piece of a body."""
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def hang_up(self) -> None:
        """Closes the connection."""
        self._handler.close_connection = True


class Server:
    """What the server saw, and where it is."""

    def __init__(self, respond: Callable[[Call], None]) -> None:
        self.calls: list[Call] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                call = Call(self, len(outer.calls))
                outer.calls.append(call)
                try:
                    respond(call)
                except OSError:
                    self.close_connection = True

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                return

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64  # several requests in flight connect at once

            def handle_error(self, request: Any, client_address: Any) -> None:
                return

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/things"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(respond: Callable[[Call], None]) -> Iterator[Server]:
    """Serves on a free port of the loopback interface until the block ends."""
    server = Server(respond)
    server.start()
    try:
        yield server
    finally:
        server.stop()
