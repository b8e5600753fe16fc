"""Sharing the blocks of a file among processes, and taking what they found in order."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from .blocks import Block, Run, run_of

_WORTH_IT: Final = 128
"""Fewer blocks are looked at faster than a process begins."""

Found = tuple[int, int, Run | None]


def runs_of(blocks: Sequence[Block], wanted: Sequence[int], processes: int, strict: bool) -> Iterator[Found]:
    """Yields what each block is, in the order of the blocks."""
    if processes < 2 or len(blocks) < _WORTH_IT:
        yield from (run_of(block, wanted, strict=strict) for block in blocks)
        return
    import multiprocessing  # only here, since whoever writes a log needs none of it

    alone = threading.active_count() == 1
    method = "fork" if alone and "fork" in multiprocessing.get_all_start_methods() else "spawn"
    with multiprocessing.get_context(method).Pool(processes) as pool:
        yield from pool.imap(partial(run_of, wanted=wanted, strict=strict), blocks, chunksize=8)
