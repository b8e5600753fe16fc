"""Servers that take down every byte they are sent, commands to give, and a look at everything that shows a value."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import socket
import ssl
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from unabridged.actions.executing import Command
from unabridged.contract import UnabridgedError

Answer = Callable[["Heard"], bytes]


@dataclass
class Heard:
    """One request as it came."""

    head: str
    body: bytes
    number: int

    @property
    def line(self) -> str:
        return self.head.split("\r\n", 1)[0]

    @property
    def target(self) -> str:
        return self.line.split(" ")[1]

    def header(self, name: str) -> list[str]:
        pairs = (line.partition(":") for line in self.head.split("\r\n")[1:])
        return [value.strip() for key, _, value in pairs if key.lower() == name.lower()]


class Wire:
    """A server of one answer per connection, which says what it was sent."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.heard: list[Heard] = []
        self._answer = answer
        self._lock = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = int(self._server.getsockname()[1])
        self.origin = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection:
            try:
                if self._tls is None:
                    self._exchange(connection)
                else:
                    with self._tls.wrap_socket(connection, server_side=True) as wrapped:
                        self._exchange(wrapped)
            except OSError:
                return

    def _exchange(self, connection: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65_536)
            if not piece:
                return
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        with self._lock:
            heard = Heard(head.decode("latin-1"), body, len(self.heard))
            self.heard.append(heard)
        length = int((heard.header("content-length") or ["0"])[0])
        while len(heard.body) < length:
            heard.body += connection.recv(65_536)
        connection.sendall(self._answer(heard))

    def stop(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)  # else the thread in `accept` keeps it open
        self._server.close()


def said(status: int, document: Any = None, **headers: str) -> bytes:
    """A whole response."""
    body = b"" if document is None else json.dumps(document).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(body)}", "connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@contextmanager
def wire(answer: Answer | bytes = b"", *, tls: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """Serves one answer to everything until the block ends; by default an empty success."""
    given = answer or said(200, {})
    server = Wire(given if callable(given) else lambda _: given, tls)
    try:
        yield server
    finally:
        server.stop()


def command(action: str = "archive", target: Any = "a-1", **fields: Any) -> Command:
    """A command for one target."""
    return Command(action=action, fields=fields, target=target, targets=(target,), idempotency_key="ab" * 32)


def shown(thing: Any) -> str:
    """Everything that shows a thing to a person, a log, a file or an error tracker."""
    parts = [repr(thing), str(thing), f"{thing}", f"{thing!r:>40}", f"{thing!a}"]
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps, lambda t: json.dumps(t, default=str), vars):
        try:
            parts.append(repr(attempt(thing)))
        except (TypeError, UnabridgedError, AttributeError) as error:
            parts.append(tracked(error))
    parts += [repr(getattr(thing, name, None)) for name in dir(thing) if name != "__doc__"]
    record = logging.LogRecord("x", 10, "x", 1, "%s %r", (thing, thing), None)
    return "\n".join([*parts, record.getMessage()])


def opened(error: BaseException, depth: int = 5) -> str:
    """What a tracker keeps that opens objects: the variables of all frames but the tests', and their parts."""
    parts: list[str] = []
    seen: set[int] = set()

    def open_up(value: Any, left: int) -> None:
        if id(value) in seen or left == 0:
            return
        seen.add(id(value))
        parts.append(repr(value))
        inner = [*value.items()] if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else []
        for part in [*inner, getattr(value, "__dict__", None)]:
            open_up(part, left - 1)

    for frame, _ in traceback.walk_tb(error.__traceback__):
        if "tests/" not in frame.f_code.co_filename:
            for value in frame.f_locals.values():
                open_up(value, depth)
    return "\n".join(parts)


def tracked(error: BaseException) -> str:
    """What an error tracker keeps of an error: its texts, its chain, and the variables of every frame."""
    parts: list[str] = []
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        parts += [repr(one), str(one), repr(one.args), repr(vars(one))]
        parts += traceback.format_exception(one)
        for frame, _ in traceback.walk_tb(one.__traceback__):
            if "tests/" not in frame.f_code.co_filename:
                parts += [f"{name}={value!r}" for name, value in frame.f_locals.items()]
        todo += [one.__cause__, one.__context__]
    return "\n".join(parts)
