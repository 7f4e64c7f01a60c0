"""A teacher's settings of the live lab in a link: hidden and locked controls, a question, a prediction to ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.sharing.links import short

# Groups of the lab's controls: name in a link -> title on the page.
GROUPS = {"data_set": "Data set", "expert": "Expert", "data": "Data", "head": "Head and losses", "seeds": "Seeds"}
HIDE, LOCK, QUESTION, VEIL, PREDICT = "hide", "lock", "ask", "veil", "predict"
KEYS = frozenset({HIDE, LOCK, QUESTION, VEIL, PREDICT})
MAX_QUESTION = 300
NUMBER, BETWEEN = "number", "|"  # how PREDICT is written: this word, or answers with this mark between them
MIN_ANSWERS, MAX_ANSWERS, MAX_ANSWER = 2, 6, 60
ON, OFF = ("1", "true"), ("0", "false")  # how VEIL is written


@dataclass(frozen=True)
class TeacherSettings:
    """hidden, locked: names of GROUPS; question: to the students, plain text; is_veiled: results wait for a click.

    prediction: what students enter before they see results: (NUMBER,) for a number, answers to choose from, or nothing.
    """

    hidden: frozenset[str] = frozenset()
    locked: frozenset[str] = frozenset()
    question: str = ""
    is_veiled: bool = False
    prediction: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != TeacherSettings()


def read(given: Mapping[str, str]) -> TeacherSettings:
    """The teacher's settings in an address, without what is unknown there; a long question is cut."""
    return TeacherSettings(
        hidden=_groups(given.get(HIDE, "")),
        locked=_groups(given.get(LOCK, "")),
        question=one_line(given.get(QUESTION, ""))[:MAX_QUESTION],
        is_veiled=given.get(VEIL, "").lower() in ON,
        prediction=predicted(given.get(PREDICT, "").split(BETWEEN)),
    )


def predicted(answers: list[str]) -> tuple[str, ...]:
    """A prediction from its parts, each on one line and once; () where they are too few, too many or too long."""
    parts = tuple(dict.fromkeys(filter(None, map(one_line, answers))))
    is_choice = MIN_ANSWERS <= len(parts) <= MAX_ANSWERS and all(len(part) <= MAX_ANSWER for part in parts)
    return parts if is_choice or parts == (NUMBER,) else ()


def one_line(text: str) -> str:
    """The text without line breaks and double spaces."""
    return " ".join(text.split())


def notes(given: Mapping[str, str]) -> list[str]:
    """Notes on what in a teacher's settings in an address cannot be used."""
    found = []
    for key in (HIDE, LOCK):
        unknown = [name for name in given.get(key, "").split(",") if name not in GROUPS]
        if key in given and unknown:
            found.append(
                f"The link's {key} = {short(given[key])} cannot be used in full: it may name {', '.join(GROUPS)}, "
                "separated by commas."
            )
    if given.get(VEIL, OFF[0]).lower() not in ON + OFF:
        found.append(f"The link's {VEIL} = {short(given[VEIL])} cannot be used; results are shown at once.")
    if PREDICT in given and not read(given).prediction:
        found.append(
            f"The link's {PREDICT} = {short(given[PREDICT])} cannot be used: it must be {NUMBER}, or {MIN_ANSWERS} to "
            f"{MAX_ANSWERS} answers of at most {MAX_ANSWER} characters, separated by a vertical bar."
        )
    if len(one_line(given.get(QUESTION, ""))) > MAX_QUESTION:
        found.append(f"The link's question is longer than {MAX_QUESTION} characters; the rest is left out.")
    return found


def write(settings: TeacherSettings) -> dict[str, str]:
    """The settings as `read` reads them, without those that are empty."""
    found = {
        HIDE: ",".join(name for name in GROUPS if name in settings.hidden),
        LOCK: ",".join(name for name in GROUPS if name in settings.locked),
        QUESTION: settings.question,
        VEIL: "1" if settings.is_veiled else "",
        PREDICT: BETWEEN.join(settings.prediction),
    }
    return {key: text for key, text in found.items() if text}


def _groups(text: str) -> frozenset[str]:
    return frozenset(name for name in text.split(",") if name in GROUPS)
