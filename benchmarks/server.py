"""A local HTTP server for the readers to be measured against, in a process of its own.

It sends pages that were made before, over kept-alive connections, with as little work as that takes: what is measured
is the reader's CPU time, and the server's is not part of it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
_END: Final = b"\r\n\r\n"


def record(number: int) -> dict[str, Any]:
    """Returns one record of the collection."""
    return {
        "id": f"svc-{number:08d}",
        "owner": None if number % 7 == 0 else f"team-{number % 13}",
        "created_at": "2026-01-01T00:00:00Z",
        "enabled": True,
        "description": "a service account of the demo",
        "rank": number,
    }


def small_record(number: int) -> dict[str, Any]:
    """Returns a record that is little more than its id, for the benchmarks of memory."""
    return {"id": f"svc-{number:08d}"}


@contextmanager
def served(*, per_page: int, pages: int, small: bool = False) -> Iterator[str]:
    """Runs the server for a block and yields the address of its collection.

    Args:
        per_page: records a page.
        pages: how many pages there are.
        small: whether records are little more than their ids.
    """
    command = [sys.executable, "-m", "benchmarks.server", str(per_page), str(pages), str(int(small))]
    process = subprocess.Popen(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)
    if process.stdout is None:
        raise RuntimeError("the server has no output")
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/accounts"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@lru_cache(maxsize=1_024)
def _page(number: int, per_page: int, pages: int, small: bool) -> bytes:
    make = small_record if small else record
    body: dict[str, Any] = {"items": [make(number * per_page + n) for n in range(per_page)], "total": per_page * pages}
    if number + 1 < pages:
        body["next"] = str(number + 1)
    payload = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(payload)}\r\n\r\n"
    return head.encode() + payload


def _serve(connection: socket.socket, per_page: int, pages: int, small: bool) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = b""
    with connection:
        while True:
            while _END not in waiting:
                piece = connection.recv(65_536)
                if not piece:
                    return
                waiting += piece
            head, _, waiting = waiting.partition(_END)
            place = head.split(b" ", 2)[1].partition(b"cursor=")[2].partition(b"&")[0]
            connection.sendall(_page(int(place or 0), per_page, pages, small))


def main(per_page: int, pages: int, small: bool) -> None:
    """Serves until it is stopped; the first line of its output is its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    for number in range(min(pages, 1_024)):
        _page(number, per_page, pages, small)
    print(listening.getsockname()[1], flush=True)
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_serve, args=(connection, per_page, pages, small), daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "1")
