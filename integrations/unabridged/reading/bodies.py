"""Bodies that grow to a limit and no further: a decompression bomb is met with its first piece."""

from __future__ import annotations

import zlib
from typing import Any

from .transport import Fault


class Stopped(Exception):
    """Reading was stopped by us, or the body cannot be decoded."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


class Body:
    """A body that grows to a limit and no further, decoded piece by piece."""

    def __init__(self, coding: str | None, most: int | None) -> None:
        self._most = most
        self._size = 0
        self._chunks: list[bytes] = []
        self._decoder: Any = None
        self._coding = coding
        self._is_begun = False
        if coding is not None:
            self._decoder = self._new_decoder(coding)

    def _new_decoder(self, coding: str) -> Any:
        if coding in ("gzip", "x-gzip"):
            return zlib.decompressobj(16 + zlib.MAX_WBITS)
        if coding == "deflate":
            return zlib.decompressobj()
        raise Stopped(Fault("undecodable"))

    @property
    def is_whole(self) -> bool:
        """Whether a coded body reached its own end."""
        return self._decoder is None or not self._is_begun or bool(self._decoder.eof)

    def feed(self, chunk: bytes) -> None:
        """Takes in a piece as it came over the wire.

        Raises:
            Stopped: the body is longer than the limit, or cannot be decoded.
        """
        if self._decoder is None:
            self._add(chunk)
            return
        while chunk:
            chunk = self._decode(chunk)

    def _decode(self, chunk: bytes) -> bytes:
        """Decodes at most one byte more than the limit allows, so that a bomb is met with its first piece."""
        if self._decoder.eof:
            self._decoder = self._new_decoder(self._coding or "")
        room = 0 if self._most is None else self._most - self._size + 1
        try:
            out = self._decoder.decompress(chunk, room)
        except zlib.error:
            if self._coding != "deflate" or self._is_begun:
                raise Stopped(Fault("undecodable")) from None
            self._decoder = zlib.decompressobj(-zlib.MAX_WBITS)
            self._is_begun = True
            return chunk
        self._is_begun = True
        self._add(out)
        return bytes(self._decoder.unconsumed_tail or self._decoder.unused_data)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._most is not None and self._size > self._most:
            raise Stopped(Fault("too_large"))
        self._chunks.append(piece)

    def content(self) -> bytes:
        """Returns the whole body."""
        return self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
