"""Which questions stand and which were answered: a decision that travelled is good for one of them.

A graph that pauses runs its step again when it goes on, and makes the card again. It must be the same card then, with
the moment at which it was to lapse, and no longer once it was answered. This process knows, also of a session that was
erased meanwhile, and so do the notes of the session: another worker may be the one that goes on.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from unabridged.evidence import Session

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

    def ask(self, question: str, *, until: datetime, number: int = 0) -> None:
        """Notes that a question is asked, unless it stands already.

        Args:
            question: the question.
            until: when it lapses.
            number: how often it had been answered.
        """
        with self._lock:
            answered, standing = self._kept.get(question, (0, None))
            if answered <= number:
                self._keep(question, number, (standing if answered == number else None) or until)

    def answer(self, question: str, *, number: int) -> bool:
        """Notes that a question was answered; tells whether it was this answer that did.

        Args:
            question: the question.
            number: how often it had been answered when it was asked.
        """
        with self._lock:
            answered, _ = self._kept.get(question, (0, None))
            if answered > number:
                return False
            self._keep(question, number + 1, None)
            return True

    def _keep(self, question: str, answered: int, until: datetime | None) -> None:
        self._kept[question] = (answered, until)
        self._kept.move_to_end(question)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


QUESTIONS: Final = Questions()


def standing(session: Session, question: str, *, kept: Questions = QUESTIONS) -> tuple[int, datetime | None]:
    """Returns how often a question was answered, and until when it stands where it was asked and not answered.

    Args:
        session: the session of the write.
        question: the question.
        kept: what this process knows.
    """
    answered, until = kept.look(question)
    note: Any = session.note_of(_name(question))
    if note is not None and note[0] >= answered:
        elsewhere = None if note[1] is None else datetime.fromtimestamp(note[1], UTC)
        return note[0], (until if note[0] == answered else None) or elsewhere
    return answered, until


def ask(session: Session, question: tuple[str, int], *, until: datetime) -> None:
    """Notes that a question is asked, unless it stands already.

    Args:
        session: the session of the write.
        question: the question, and how often it had been answered.
        until: when it lapses.

    Raises:
        LedgerUnavailable: it cannot be noted.
    """
    QUESTIONS.ask(question[0], number=question[1], until=until)
    session.keep_note(_name(question[0]), [question[1], until.timestamp()])


def answer(session: Session, question: tuple[str, int], *, kept: Questions = QUESTIONS) -> bool:
    """Notes that a question was answered; tells whether it was this answer that did, in whichever worker.

    Args:
        session: the session of the write.
        question: the question, and how often it had been answered.
        kept: what this process knows.

    Raises:
        LedgerUnavailable: it cannot be noted.
    """
    name, number = question
    is_first = kept.answer(name, number=number)
    is_first = session.first_time(f"{_name(name)}:{number}") and is_first
    session.keep_note(_name(name), [number + 1, None])
    return is_first


def _name(question: str) -> str:
    return f"question:{question}"
