"""Every sentence that an answer may carry, in English and German. The one place for them.

Nothing here is made of a value: resources are named by their authors, filters by their fields.
"""

from __future__ import annotations

from typing import Final

from .language import Language

Texts = dict[Language, str]

CAVEATS: Final[dict[str, Texts]] = {
    "unavailable": {
        "en": "{what}: the check could not be finished. {why}",
        "de": "{what}: Die Prüfung konnte nicht abgeschlossen werden. {why}",
    },
    "partial": {
        "en": "{what}: these findings are partial and the overall conclusion is open. {why}",
        "de": "{what}: Die Befunde sind unvollständig und der Gesamtschluss bleibt offen. {why}",
    },
    "unknown": {
        "en": "{what}: it is not known whether this is all, so the overall conclusion is open. {why}",
        "de": "{what}: Es ist nicht bekannt, ob das alles ist; der Gesamtschluss bleibt offen. {why}",
    },
    "sample": {
        "en": "{what}: only a sample was looked at{selection}; it says nothing about the rest.",
        "de": "{what}: Nur eine Stichprobe wurde angesehen{selection}; über den Rest sagt sie nichts.",
    },
    "approximate": {
        "en": "{what}: the search cannot be exhaustive; it says nothing about what it did not return.",
        "de": "{what}: Die Suche kann nicht erschöpfend sein; über das, was sie nicht lieferte, sagt sie nichts.",
    },
    "pending": {
        "en": "{what}: the read has not finished, so its result is not part of this answer.",
        "de": "{what}: Das Lesen ist noch nicht beendet; sein Ergebnis ist nicht Teil dieser Antwort.",
    },
    "shown": {
        "en": "{what}: more records were read than were shown, so what is listed here is partial.",
        "de": "{what}: Es wurden mehr Einträge gelesen als gezeigt; die Aufzählung hier ist unvollständig.",
    },
}
"""By what a read is; `{what}` names the resource and the fields of its filters."""

WHY: Final[dict[str, Texts]] = {
    "MORE_PAGES_AVAILABLE": {
        "en": "The source has more pages.",
        "de": "Die Quelle hat weitere Seiten.",
    },
    "RESULT_LIMIT_REACHED": {
        "en": "The source stopped at a limit of its own.",
        "de": "Die Quelle hat an einer eigenen Grenze aufgehört.",
    },
    "CLIENT_LIMIT_REACHED": {
        "en": "A limit of ours stopped the read.",
        "de": "Eine eigene Grenze hat das Lesen beendet.",
    },
    "TIME_BUDGET_EXCEEDED": {
        "en": "The time for the read ran out.",
        "de": "Die Zeit für das Lesen war abgelaufen.",
    },
    "SOURCE_UNAVAILABLE": {
        "en": "The source did not answer.",
        "de": "Die Quelle hat nicht geantwortet.",
    },
    "VISIBILITY_RESTRICTED": {
        "en": "Part of the records is hidden from this caller.",
        "de": "Ein Teil der Einträge ist für diesen Aufrufer verborgen.",
    },
    "RATE_LIMITED": {
        "en": "A quota of the source ended the read.",
        "de": "Ein Kontingent der Quelle hat das Lesen beendet.",
    },
    "CONTINUATION_EXPIRED": {
        "en": "The place to go on from has expired.",
        "de": "Die Stelle, an der es weiterging, ist abgelaufen.",
    },
    "CONSISTENCY_LOST": {
        "en": "The pages come from different states of the source.",
        "de": "Die Seiten stammen aus verschiedenen Ständen der Quelle.",
    },
    "PROTOCOL_ANOMALY": {
        "en": "The source contradicts itself or its pages loop.",
        "de": "Die Quelle widerspricht sich, oder ihre Seiten wiederholen sich.",
    },
    "TRANSPORT_TRUNCATED": {
        "en": "The response was cut on its way.",
        "de": "Die Antwort wurde unterwegs abgeschnitten.",
    },
    "ITEM_TRUNCATED": {
        "en": "Some of the records are cut inside.",
        "de": "Einige Einträge sind in sich gekürzt.",
    },
    "PARTIAL_FAILURE": {
        "en": "Some of the requested records failed.",
        "de": "Einige der angefragten Einträge schlugen fehl.",
    },
    "SCOPE_NARROWED": {
        "en": "A smaller domain was searched than was asked for.",
        "de": "Es wurde ein kleinerer Bereich durchsucht als gefragt.",
    },
    "APPROXIMATE_METHOD": {
        "en": "The method of the search cannot be exhaustive.",
        "de": "Das Suchverfahren kann nicht erschöpfend sein.",
    },
    "JOB_NOT_FINISHED": {
        "en": "The job behind the answer has not finished.",
        "de": "Der Auftrag hinter der Antwort ist nicht abgeschlossen.",
    },
    "PRESENTATION_LIMIT": {
        "en": "More records were read than were shown.",
        "de": "Es wurden mehr Einträge gelesen als gezeigt.",
    },
    "SAMPLE_REQUESTED": {
        "en": "Only a sample was asked for.",
        "de": "Es wurde nur eine Stichprobe verlangt.",
    },
    "COVERAGE_UNKNOWN": {
        "en": "The source does not say whether this is all.",
        "de": "Die Quelle sagt nicht, ob das alles ist.",
    },
}
"""By reason code."""
WHY_DETAIL: Final[dict[str, Texts]] = {
    "SOURCE_UNAVAILABLE:named": {
        "en": "No answer came from {names}.",
        "de": "Keine Antwort kam von {names}.",
    },
    "SOURCE_UNAVAILABLE:history": {
        "en": "An earlier result in the conversation was not recorded, so its coverage is not known.",
        "de": "Ein früheres Ergebnis im Gespräch wurde nicht aufgezeichnet; seine Abdeckung ist nicht bekannt.",
    },
    "SOURCE_UNAVAILABLE:judge_failed": {
        "en": "The coverage of what the source answered could not be judged.",
        "de": "Die Abdeckung dessen, was die Quelle geantwortet hat, konnte nicht beurteilt werden.",
    },
    "SOURCE_UNAVAILABLE:tool_failed": {
        "en": "The tool that reads it failed.",
        "de": "Das Werkzeug, das sie liest, ist fehlgeschlagen.",
    },
    "SOURCE_UNAVAILABLE:cancelled": {
        "en": "The read was cancelled before it finished.",
        "de": "Das Lesen wurde abgebrochen, bevor es beendet war.",
    },
    "SOURCE_UNAVAILABLE:deadline": {
        "en": "The read did not finish by its deadline.",
        "de": "Das Lesen wurde bis zu seiner Frist nicht fertig.",
    },
}
"""By reason code and detail, where more can be said."""
UNKNOWN_CODE: Final[Texts] = {
    "en": "It is incomplete for a reason that this version does not know.",
    "de": "Es ist aus einem Grund unvollständig, den diese Version nicht kennt.",
}

FILTERED: Final[Texts] = {"en": "filtered by {fields}", "de": "gefiltert nach {fields}"}
UNFILTERED: Final[Texts] = {"en": "unfiltered", "de": "ungefiltert"}
WINDOW: Final[Texts] = {"en": "within {window}", "de": "innerhalb von {window}"}
WITHOUT: Final[Texts] = {"en": "without {excluded}", "de": "ohne {excluded}"}
UNDECLARED: Final[Texts] = {
    "en": "the result of the undeclared tool {resource}",
    "de": "das Ergebnis des nicht deklarierten Werkzeugs {resource}",
}
AND_MORE: Final[Texts] = {"en": "{count} more", "de": "{count} weitere"}

CHECKED: Final[Texts] = {"en": "Checked: {what}; {when}; {state}.", "de": "Geprüft: {what}; {when}; {state}."}
BETWEEN: Final[Texts] = {"en": "between {start} and {end} UTC", "de": "zwischen {start} und {end} UTC"}
AT: Final[Texts] = {"en": "at {start} UTC", "de": "um {start} UTC"}
ONE_SNAPSHOT: Final[Texts] = {"en": "in one snapshot", "de": "in einem Schnappschuss"}
SNAPSHOTS: Final[Texts] = {"en": "each in a snapshot of its own", "de": "jedes in einem eigenen Schnappschuss"}
INTERVAL: Final[Texts] = {
    "en": "over an interval, not in one snapshot",
    "de": "über einen Zeitraum, nicht in einem Schnappschuss",
}

CLAIMED: Final[dict[str, Texts]] = {
    "absence": {"en": "that there are no {what}", "de": "dass es keine gibt: {what}"},
    "all": {"en": "that these are all of {what}", "de": "dass dies alle sind: {what}"},
    "count": {"en": "how many there are of {what}", "de": "wie viele es gibt: {what}"},
    "found": {
        "en": "what was stated about single records of {what}",
        "de": "das über einzelne Einträge Gesagte: {what}",
    },
}
"""What a claim says, by its kind."""
WHY_NOT: Final[dict[str, Texts]] = {
    "never_read": {"en": "it was never read", "de": "es wurde nie gelesen"},
    "not_complete": {"en": "the read of it is not complete", "de": "das Lesen davon ist nicht vollständig"},
    "not_covered": {"en": "no read covers this scope", "de": "kein Lesen deckt diesen Umfang ab"},
    "field_not_held": {
        "en": "the records do not all hold the field that it speaks of",
        "de": "nicht alle Einträge enthalten das Feld, von dem die Rede ist",
    },
    "field_cut": {
        "en": "the field that it speaks of is cut in the records",
        "de": "das Feld, von dem die Rede ist, ist in den Einträgen gekürzt",
    },
    "records_gone": {
        "en": "the records are not kept any more",
        "de": "die Einträge sind nicht mehr gespeichert",
    },
    "contradicted": {"en": "the records say otherwise", "de": "die Einträge sagen etwas anderes"},
    "not_in_evidence": {
        "en": "a record that it names was not among those read",
        "de": "ein genannter Eintrag war nicht unter den gelesenen",
    },
    "no_value": {"en": "it states no number", "de": "es nennt keine Zahl"},
    "no_identity": {"en": "the records have no ids", "de": "die Einträge haben keine Kennungen"},
}
"""Why a claim is unsupported."""
REPLACEMENT: Final[Texts] = {
    "en": "The following could not be established:",
    "de": "Folgendes konnte nicht festgestellt werden:",
}

CORRECTION_HEAD: Final = "The answer was not accepted: {count} of its claims are not supported by what was read."
CORRECTION_ADVICE: Final[dict[str, str]] = {
    "never_read": "read it, or leave the claim out",
    "not_complete": "go on with the read from its continuation, or state only what was found and that the rest is open",
    "not_covered": "read this scope, or limit the statement to the scope that was read",
    "field_not_held": "read with this filter, or leave the claim out",
    "field_cut": "fetch the whole field, or leave the claim out",
    "records_gone": "read again, or leave the claim out",
    "contradicted": "look at the records again and state what they say",
    "not_in_evidence": "name only records that were read",
    "no_value": "give the number as the value of the claim",
    "no_identity": "leave the ids out of the claim",
}
"""What the model can do, by why a claim is unsupported. The model reads English."""
CORRECTION_TAIL: Final = "A disclaimer does not support a claim. Correct the claims and answer again."
