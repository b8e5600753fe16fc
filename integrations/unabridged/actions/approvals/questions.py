"""Which questions stand and which were answered, in this process: a decision that travelled is good for one of them.

A graph that pauses runs its step again when it goes on, and makes the card again. It must be the same card then, with
the moment at which it was to lapse, and no longer once it was answered.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import datetime
from typing import Final

_MOST: Final = 10_000


class Questions:
    """Keeps how often each question was answered and until when it stands; the oldest are forgotten first.

    Questions are known by keyed digests, so that nothing of what was asked is kept.
    """

    def __init__(self, *, most: int = _MOST) -> None:
        self._most = most
        self._kept: OrderedDict[str, tuple[int, datetime | None]] = OrderedDict()
        self._lock = threading.Lock()

    def look(self, question: str) -> tuple[int, datetime | None]:
        """Returns how often a question was answered, and until when it stands where it was asked and not answered."""
        return self._kept.get(question, (0, None))

    def ask(self, question: str, *, until: datetime) -> None:
        """Notes that a question is asked, unless it stands already."""
        with self._lock:
            answered, standing = self._kept.get(question, (0, None))
            self._keep(question, answered, standing or until)

    def answer(self, question: str, *, number: int) -> bool:
        """Notes that a question was answered; tells whether it was this answer that did.

        Args:
            question: the question.
            number: how often it had been answered when it was asked.
        """
        with self._lock:
            answered, _ = self._kept.get(question, (0, None))
            if answered != number:
                return False
            self._keep(question, answered + 1, None)
            return True

    def _keep(self, question: str, answered: int, until: datetime | None) -> None:
        self._kept[question] = (answered, until)
        self._kept.move_to_end(question)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


QUESTIONS: Final = Questions()
