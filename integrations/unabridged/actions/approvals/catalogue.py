"""Every sentence that an approval card may carry, in English and German. The one place for them.

Nothing here is made of a value. Why a read is not complete is said in the words of the answers' catalogue.
"""

from __future__ import annotations

from typing import Final

from unabridged.answers import Language

Texts = dict[Language, str]

HEADINGS: Final[dict[str, Texts]] = {
    "purpose": {"en": "Purpose", "de": "Zweck"},
    "parameters": {"en": "Parameters", "de": "Parameter"},
    "targets": {"en": "Would touch", "de": "Würde berühren"},
    "scope": {"en": "Rests on", "de": "Stützt sich auf"},
    "known": {"en": "Was read", "de": "Gelesen wurde"},
    "unread": {"en": "Was not read", "de": "Nicht gelesen wurde"},
    "freshness": {"en": "How fresh", "de": "Wie frisch"},
    "codes": {"en": "Speaks against it", "de": "Dagegen spricht"},
    "options": {"en": "Can be decided", "de": "Entschieden werden kann"},
    "expires_at": {"en": "Lapses", "de": "Verfällt"},
}
QUESTION: Final[Texts] = {"en": "May {action} run?", "de": "Darf {action} laufen?"}
TARGETS: Final[Texts] = {"en": "records that it names: {count}", "de": "genannte Einträge: {count}"}
NO_TARGETS: Final[Texts] = {
    "en": "whatever it finds: it names no records",
    "de": "was es vorfindet: Es nennt keine Einträge",
}
KNOWN: Final[Texts] = {"en": "records: {count}, all there are", "de": "Einträge: {count}, alle, die es gibt"}
KNOWN_SO_FAR: Final[Texts] = {
    "en": "records: {count} so far; how many there are is not known",
    "de": "Einträge: bisher {count}; wie viele es gibt, ist nicht bekannt",
}
NOTHING_KNOWN: Final[Texts] = {"en": "nothing", "de": "nichts"}
NO_EVIDENCE: Final[Texts] = {"en": "no read", "de": "kein Lesen"}
UNREAD: Final[dict[str, Texts]] = {
    "partial": {"en": "the read is partial", "de": "das Lesen ist unvollständig"},
    "unknown": {"en": "it is not known whether this is all", "de": "es ist nicht bekannt, ob das alles ist"},
    "unavailable": {"en": "the read came to nothing", "de": "das Lesen brachte nichts"},
    "pending": {"en": "the read has not finished", "de": "das Lesen ist noch nicht beendet"},
}
FILTERED: Final[Texts] = {"en": "filtered by {fields}", "de": "gefiltert nach {fields}"}
FRESHNESS: Final[Texts] = {
    "en": "the oldest read began {age} s before this was asked, at {start}; {consistency}",
    "de": "das älteste Lesen begann {age} s vor dieser Frage, um {start}; {consistency}",
}
CONSISTENCY: Final[dict[str, Texts]] = {
    "snapshot": {"en": "each read is one snapshot", "de": "jedes Lesen ist ein Schnappschuss"},
    "interval": {
        "en": "the pages were read over an interval, not in one snapshot",
        "de": "die Seiten wurden über einen Zeitraum gelesen, nicht in einem Schnappschuss",
    },
    "not_established": {
        "en": "it is not established that the pages fit together",
        "de": "ob die Seiten zusammenpassen, steht nicht fest",
    },
}
AGAINST: Final[dict[str, Texts]] = {
    "EVIDENCE_INCOMPLETE": {
        "en": "A read that it relies on is not complete.",
        "de": "Ein Lesen, auf das es sich stützt, ist nicht vollständig.",
    },
    "EVIDENCE_MISSING": {
        "en": "A resource that it relies on was never read.",
        "de": "Eine Quelle, auf die es sich stützt, wurde nie gelesen.",
    },
    "EVIDENCE_STALE": {
        "en": "A read that it relies on is older than it may be.",
        "de": "Ein Lesen, auf das es sich stützt, ist älter als erlaubt.",
    },
    "EVIDENCE_WEAK": {
        "en": "The evidence is weaker than it demands.",
        "de": "Die Belege sind schwächer als verlangt.",
    },
    "TARGET_NOT_IN_EVIDENCE": {
        "en": "A record that it names is not among those read.",
        "de": "Ein genannter Eintrag ist nicht unter den gelesenen.",
    },
}
"""By the codes that a person may decide about."""
AGAINST_OTHER: Final[Texts] = {"en": "The guard is against it.", "de": "Die Prüfung spricht dagegen."}
OPTIONS: Final[dict[str, Texts]] = {
    "approve": {"en": "It runs as it is.", "de": "Es läuft, wie es ist."},
    "retry_with_deadline": {
        "en": "It does not run; the read is tried again with more time.",
        "de": "Es läuft nicht; das Lesen wird mit mehr Zeit wiederholt.",
    },
    "restrict_to_returned": {
        "en": "It runs for those records only that were read.",
        "de": "Es läuft nur für die Einträge, die gelesen wurden.",
    },
    "go_ahead_for": {
        "en": "It runs for the ids that you name, whatever was not read.",
        "de": "Es läuft für die Kennungen, die Sie nennen, gleich, was nicht gelesen wurde.",
    },
    "abandon": {"en": "It does not run.", "de": "Es läuft nicht."},
}
"""By the option of the card."""
PARAMETER: Final[Texts] = {"en": "{name}: {shown} ({kind})", "de": "{name}: {shown} ({kind})"}
HIDDEN: Final[Texts] = {"en": "{name}: not shown ({kind})", "de": "{name}: nicht gezeigt ({kind})"}
KINDS: Final[dict[str, Texts]] = {
    "true or false": {"en": "true or false", "de": "wahr oder falsch"},
    "number": {"en": "number", "de": "Zahl"},
    "text": {"en": "text", "de": "Text"},
    "nothing": {"en": "nothing", "de": "nichts"},
    "object": {"en": "object", "de": "Struktur"},
    "list": {"en": "list of {count}", "de": "Liste mit {count}"},
}
"""What sort of value a parameter has."""
