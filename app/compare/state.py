"""The state of the page Compare in a session: what is compared, uploads, chosen cases; and its session-state keys.

Runs are named in the address too, uploads never are.
"""

import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile

from app.compare.board import Comparison
from app.compare.uploads import Uploads
from app.jobs.runs import FIRST, MAX_SYSTEMS, RunKey
from app.kit import address, memory

PARAMETER = "run"
BASE = "base"  # in the address, and in the session, for links
BASE_CHOICE = "compare_base"  # the widget
UPLOAD_FIELD = "own-files"
GROUPS, GROUPS_OF, GROUPS_BY, GROUPS_MIX = (
    "compare-groups",
    "compare-groups-of",
    "compare-groups-by",
    "compare-groups-mix",
)
_CHOSEN, _UPLOADS, _NOTES, _BASE = "compare_chosen", "compare_uploads", "compare_notes", "compare_base_key"
_ORIGIN = "compare_case_origin"
_MADE, _GENERATIONS, _PROBLEMS = "compare_made", "compare_generations", "compare_upload_problems"


def chosen(runs: pd.DataFrame) -> list[str]:
    """The keys of the compared systems, in order: from the address, else the session, else `FIRST`.

    runs: from `run_index`. Those that cannot be compared are left out, with a note.
    """
    usable = set(runs["key"][runs["problem"] == ""])
    keys = st.session_state.get(_CHOSEN)
    if address.read(PARAMETER):
        own = [key for key in keys or [] if key in uploads().systems()]
        keys = _from_address() + own
    elif keys is None:
        return [key for key in FIRST if key in usable]
    usable |= uploads().systems().keys()
    lost = [key for key in keys if key not in usable]
    if lost:
        note(f"{len(lost)} of what was to be compared is not here any more or cannot be read, and was left out.")
    kept = [key for key in keys if key in usable]
    if len(kept) > MAX_SYSTEMS:
        note(f"At most {MAX_SYSTEMS} systems can be compared: these are the first {MAX_SYSTEMS} of the address.")
    if (named := address.read(BASE)) and named[-1] not in kept[:MAX_SYSTEMS]:
        note("The baseline is the first system, since the one that the address names is not compared.")
    choose(kept[:MAX_SYSTEMS])
    return kept[:MAX_SYSTEMS]


def _from_address() -> list[str]:
    texts = address.read(PARAMETER)
    named = [str(key) for text in texts if (key := RunKey.read(text))]
    if len(named) < len(texts):
        note("A part of the address names no run and was left out.")
    return list(dict.fromkeys(named))


def choose(keys: Sequence[str]) -> None:
    """Compare these systems from now on."""
    st.session_state[_CHOSEN] = list(keys)
    address.write(PARAMETER, [key for key in keys if RunKey.read(key)])


def add(keys: Sequence[str], current: Sequence[str]) -> None:
    """Compare these too, up to the limit; current: the systems that the page was drawn with."""
    current = _now(current)
    wanted = [*current, *(key for key in keys if key not in current)]
    if len(wanted) > MAX_SYSTEMS:
        note(f"At most {MAX_SYSTEMS} systems can be compared: remove one first.")
    choose(wanted[:MAX_SYSTEMS])


def remove(key: str, current: Sequence[str]) -> None:
    """Stop comparing a system; current: the systems that the page was drawn with."""
    current = _now(current)
    if address.read(BASE) == [key]:
        address.write(BASE, [])
    choose([one for one in current if one != key])


def _now(drawn: Sequence[str]) -> Sequence[str]:
    """The systems compared now: after two quick clicks the second button was drawn with older ones."""
    return st.session_state.get(_CHOSEN, drawn)


def base(current: Sequence[str]) -> str:
    """The base of the differences: from the address, else the session, else the first of `current`."""
    wanted = (address.read(BASE) or [st.session_state.get(_BASE)])[-1]
    key = str(wanted) if wanted in current else current[0]
    set_base(key, current)
    return key


def set_base(key: str, current: Sequence[str]) -> None:
    """Compare the others with this one; the address names it only if it is a run, and not the first."""
    wanted = key if RunKey.read(key) and key != current[0] else None
    st.session_state[_BASE], st.session_state[BASE] = key, wanted
    address.write(BASE, [] if wanted is None else [wanted])


def draw_base_with(current: Sequence[str]) -> None:
    """Give the choice of the base its value, before it is drawn."""
    st.session_state[BASE_CHOICE] = base(current)


def take_base(current: Sequence[str]) -> None:
    """Make the system that was just chosen the base."""
    set_base(st.session_state[BASE_CHOICE], current)


def comparison(version: Hashable, make: Callable[[], Comparison]) -> Comparison:
    """The comparison that `make` returns; it is made once for as long as the version stays the same."""
    made = st.session_state.get(_MADE)
    if made is None or made[0] != version:
        made = st.session_state[_MADE] = (version, make())
    return made[1]


def class_names() -> tuple[str, ...]:
    """The classes of the last comparison; empty where there was none, or it has no labels."""
    made = st.session_state.get(_MADE)
    return made[1].class_names if made else ()


def renewable_key(name: str) -> str:
    """The key of a table, chart or upload field; another one after `renew`, so that it starts empty."""
    return f"{name}-{st.session_state.get(_GENERATIONS, {}).get(name, 0)}"


def renew(name: str) -> None:
    """Have a table, chart or upload field start empty when it is drawn next."""
    generations = st.session_state.setdefault(_GENERATIONS, {})
    generations[name] = generations.get(name, 0) + 1


def selected(key: str) -> Mapping[str, Any]:
    """What is selected in a table or chart, by kind of selection; empty where it was not drawn."""
    return (st.session_state.get(key) or {}).get("selection", {})


def case_key(name: str) -> str:
    """The key of a control of the chosen cases: system, label, estimates, coverage, right or asked."""
    return f"case_{name}"


def case_setting(name: str, default: Any = None) -> Any:
    """The value of a control of the chosen cases."""
    return st.session_state.get(case_key(name), default)


def set_cases(**values: Any) -> None:
    """Set controls of the chosen cases; where they are drawn already, in a callback only."""
    for name, value in values.items():
        st.session_state[case_key(name)] = value


def case_origin() -> str:
    """The section in whose chart cases were last chosen, or ""."""
    return st.session_state.get(_ORIGIN, "")


def set_case_origin(section: str) -> None:
    """Keep the section in whose chart cases are chosen."""
    st.session_state[_ORIGIN] = section


def uploads() -> Uploads:
    """This session's uploads."""
    if _UPLOADS not in st.session_state:
        st.session_state[_UPLOADS] = made = Uploads()
        weakref.finalize(made, memory.give_back).atexit = False  # when the tab is closed
    return st.session_state[_UPLOADS]


def uploaded_files() -> list[UploadedFile]:
    """What the upload field holds."""
    return [file for file in st.session_state[renewable_key(UPLOAD_FIELD)] if not isinstance(file, DeletedFile)]


def form_key(upload: str, name: str) -> str:
    """The key of a field of the form that explains an upload."""
    return f"{upload}-{name}"


def form_value(upload: str, name: str, default: Any = None) -> Any:
    """What was entered into that form."""
    return st.session_state.get(form_key(upload, name), default)


def set_form_value(upload: str, name: str, value: str) -> None:
    """Set a field of that form, or its "problem"; where it is drawn already, in a callback only."""
    st.session_state[form_key(upload, name)] = value


def set_upload_problems(texts: Sequence[str]) -> None:
    """Have the page say once why files were refused."""
    st.session_state[_PROBLEMS] = list(texts)


def upload_problems() -> list[str]:
    """Why files were refused, once."""
    return st.session_state.pop(_PROBLEMS, [])


def note(text: str) -> None:
    """Show a note the next time the page is drawn."""
    notes = st.session_state.setdefault(_NOTES, [])
    if text not in notes:
        notes.append(text)


def notes() -> list[str]:
    """The notes to show, each once."""
    return st.session_state.pop(_NOTES, [])


def start_again() -> None:
    """Compare what a new session starts with."""
    st.session_state.pop(_CHOSEN, None)
    address.write(PARAMETER, [])
