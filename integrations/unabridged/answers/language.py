"""In which language an answer is, and whether it says something about what was not seen.

Both look at words only. What they find decides how caveats are worded and which of them stand in the text; it never
makes an answer acceptable.
"""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

from unabridged.contract import InvalidInput

Language = Literal["en", "de"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)

_WORD: Final = re.compile(r"[^\W\d_]+", re.UNICODE)
_GERMAN_WORDS: Final = """
    aber alle als am auch auf aus bei bis da dann das dass dem den der des dich dies diese dieser dieses doch dort
    du durch ein eine einem einen einer eines er es für gibt habe haben hat hier ich ihr ihre im ins ist jede jeder
    kann kein keine keinen keiner können konnte mehr mit nach nicht nichts noch nur oder ohne sein seine sich sie sind
    so und uns unter vom von vor waren weil weitere wenn werden wie wieder wir wird wurde wurden zu zum zur zwei
    vorhanden gefunden offen insgesamt
"""
_ENGLISH_WORDS: Final = """
    a about after all also an and any are as at be because been but by can could did do does each every exist exists
    found for from had has have he her here his how i if into is it its more my no none not nothing of on one only or
    other our out she so than that the their them then there these they this to total two up were we what when which
    who will with without would you your open
"""
_GERMAN: Final = frozenset(_GERMAN_WORDS.split())
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())
_UMLAUT: Final = re.compile(r"[äöüß]", re.IGNORECASE)
_SWEEPING: Final = re.compile(
    r"""\b(?:
        no|none|nothing|nobody|never|neither|nowhere|zero|without|all|every|everything|everyone|each|entire|entirely
      | complete|completely|only|total|altogether|empty|exhaustive|whole|both
      | (?:do|does|did|is|are|was|were|ca|could|has|have)n['\u2019]t
      | (?:do|does|did|can|could)\ not|cannot|not\ (?:a|any|one|found|exist|there|present|left)
      | kein(?:e|en|em|er|es)?|nichts|niemand|nie|niemals|nirgends|weder|null|alle[nmrs]?|alles|sämtliche\w*|jede[nmrs]?
      | nur|ausschließlich|insgesamt|leer|vollständig\w*|gesamt\w*|beide[nrs]?|nicht\ (?:vorhanden|gefunden|mehr|da|vor)
      | (?:existier\w+|gibt\ es|finde\w*|fand\w*)\ nicht
      | two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|twice
      | zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|dutzend|hundert|tausend|zweimal
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER: Final = re.compile(r"(?:\b([^\W\d_]+)\.?\s+)?(?<![\w.:/#-])\d+(?:[.,]\d+)*%?(?![\w/:-])")
_LABEL_WORDS: Final = """
    account case customer id invoice issue item line no number order page port record step ticket user version widget
    auftrag bestellung eintrag fall konto kunde nr nummer rechnung schritt seite vorgang zeile
"""
_LABELS: Final = frozenset(_LABEL_WORDS.split())
"""A number after one of these names a single thing and counts nothing."""


def language_of(text: str) -> Language:
    """Returns the language of a text; English where nothing speaks for German."""
    words = [word.lower() for word in _WORD.findall(text)]
    german = sum(word in _GERMAN for word in words) + len(_UMLAUT.findall(text))
    english = sum(word in _ENGLISH for word in words)
    return "de" if german > english else "en"


def language_or(given: str | None, text: str = "") -> Language:
    """Returns the language that was asked for, else that of the text.

    Raises:
        InvalidInput: there is no catalogue for the language.
    """
    if given is None:
        return language_of(text)
    for language in LANGUAGES:
        if given.lower().split("-")[0].split("_")[0] == language:
            return language
    raise InvalidInput(field="language", rule=f"must be one of {', '.join(LANGUAGES)}")


def is_sweeping(text: str) -> bool:
    """Tells whether a text speaks of absence, of totality, or of a number; rather once too often than too rarely."""
    if _SWEEPING.search(text):
        return True
    return any((before or "").lower() not in _LABELS for before in _NUMBER.findall(text))
