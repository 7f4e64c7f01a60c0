"""A teacher's settings of the live lab in a link: hidden and locked controls, a question, results behind a click."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.sharing.links import short

# Groups of the lab's controls: name in a link -> title on the page.
GROUPS = {"data_set": "Data set", "expert": "Expert", "data": "Data", "head": "Head and losses", "seeds": "Seeds"}
HIDE, LOCK, QUESTION, VEIL = "hide", "lock", "ask", "veil"
KEYS = frozenset({HIDE, LOCK, QUESTION, VEIL})
MAX_QUESTION = 300
ON, OFF = ("1", "true"), ("0", "false")  # how VEIL is written


@dataclass(frozen=True)
class TeacherSettings:
    """hidden, locked: names of GROUPS; question: to the students, plain text; is_veiled: results wait for a click."""

    hidden: frozenset[str] = frozenset()
    locked: frozenset[str] = frozenset()
    question: str = ""
    is_veiled: bool = False

    def __bool__(self) -> bool:
        return self != TeacherSettings()


def read(given: Mapping[str, str]) -> TeacherSettings:
    """The teacher's settings in an address, without what is unknown there; a long question is cut."""
    return TeacherSettings(
        hidden=_groups(given.get(HIDE, "")),
        locked=_groups(given.get(LOCK, "")),
        question=" ".join(given.get(QUESTION, "").split())[:MAX_QUESTION],
        is_veiled=given.get(VEIL, "").lower() in ON,
    )


def notes(given: Mapping[str, str]) -> list[str]:
    """Notes on what in a teacher's settings in an address cannot be used."""
    found = []
    for key in (HIDE, LOCK):
        unknown = [name for name in given.get(key, "").split(",") if name not in GROUPS]
        if key in given and unknown:
            found.append(
                f"The link's {key} = {short(given[key])} cannot be used in full: it may name {', '.join(GROUPS)}, with "
                "commas between them."
            )
    if given.get(VEIL, OFF[0]).lower() not in ON + OFF:
        found.append(f"The link's {VEIL} = {short(given[VEIL])} cannot be used; results are shown at once.")
    if len(" ".join(given.get(QUESTION, "").split())) > MAX_QUESTION:
        found.append(f"The link's question is longer than {MAX_QUESTION} characters; the rest of it is left out.")
    return found


def write(settings: TeacherSettings) -> dict[str, str]:
    """The settings as `read` reads them, without those that are empty."""
    found = {
        HIDE: ",".join(name for name in GROUPS if name in settings.hidden),
        LOCK: ",".join(name for name in GROUPS if name in settings.locked),
        QUESTION: settings.question,
        VEIL: "1" if settings.is_veiled else "",
    }
    return {key: text for key, text in found.items() if text}


def _groups(text: str) -> frozenset[str]:
    return frozenset(name for name in text.split(",") if name in GROUPS)
