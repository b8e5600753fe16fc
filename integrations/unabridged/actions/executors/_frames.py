"""Messages between a process and its executor's: a length of four bytes, then JSON."""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, Final, Literal

HEAD: Final = struct.Struct(">I")
MAX_COMMAND_BYTES: Final = 4 * 1024 * 1024
Lost = Literal["timeout", "closed", "broken", "malformed"]
"""Why no message came: too late, the other side is gone, the connection failed, or it was none."""


def packed(message: Any, *, most: int) -> bytes | None:
    """Returns a message as bytes; nothing where it is no JSON, or too long."""
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return HEAD.pack(len(text)) + text if len(text) <= most else None


def send(channel: socket.socket, data: bytes, *, until: float | None) -> Lost | None:
    """Sends bytes; returns why it could not.

    Args:
        channel: where to.
        data: what `packed` gave.
        until: when it must have left, in seconds of the monotonic clock.
    """
    try:
        channel.settimeout(_left(until))
        channel.sendall(data)
    except TimeoutError:
        return "timeout"
    except (OSError, ValueError):
        return "broken"
    return None


def receive(channel: socket.socket, *, most: int, until: float | None) -> dict[str, Any] | Lost:
    """Returns the next message, an object; or why there is none. No more than `most` bytes are taken in."""
    head = _exactly(channel, HEAD.size, until)
    if isinstance(head, str):
        return head
    (length,) = HEAD.unpack(head)
    if length > most:
        return "malformed"
    text = _exactly(channel, length, until)
    if isinstance(text, str):
        return "malformed" if text == "closed" else text
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return "malformed"
    return message if isinstance(message, dict) else "malformed"


def _exactly(channel: socket.socket, count: int, until: float | None) -> bytes | Lost:
    pieces = bytearray()
    while len(pieces) < count:
        try:
            channel.settimeout(_left(until))
            piece = channel.recv(min(65_536, count - len(pieces)))
        except TimeoutError:
            return "timeout"
        except (OSError, ValueError):
            return "broken"
        if not piece:
            return "closed"
        pieces += piece
    return bytes(pieces)


def _left(until: float | None) -> float | None:
    return None if until is None else max(0.001, until - time.monotonic())
