"""The address that a session began with: read once; what in it cannot be used is reported."""

import streamlit as st

from app.sharing import links, state, teaching
from app.sharing.carried import Carried, lengthen

RESERVED = teaching.KEYS | {"job", "run", "base"}


def arrive(page: Carried) -> None:
    """Keep the address that the session began with, before the page's widgets read their part of it."""
    _read_names(page)
    if state.has_arrived():
        return
    given = st.query_params.to_dict()
    state.set_arrival(given)
    state.set_teacher(teaching.read(given))
    # Streamlit's widgets fail on these values, while they drop other junk; RESERVED keys belong to no widget.
    unusable = [key for key in links.unusable(given) if key not in RESERVED]
    for key in unusable:
        del st.query_params[key]
    if unusable:
        st.rerun()  # a widget takes its first value from the address that the run began with


def note_junk(page: Carried) -> None:
    """Report, below the page that the session began with, what in the address could not be used.

    A setting whose widget has not been drawn yet, as in the lesson's other steps, is checked once it has.
    """
    given, keys = state.take_arrival(), page.settings()
    found = teaching.notes(given)
    if keys is not None:
        given |= {key: text for key, text in state.waiting().items() if key in keys}
        found += links.notes(given, st.session_state, keys, RESERVED)
    known = {key: text for key, text in given.items() if key in (keys or ()) and key not in RESERVED}
    state.set_waiting({key: text for key, text in known.items() if st.session_state.get(key) is None})
    for note in found:
        st.info(note, icon=":material/link_off:")


def _read_names(page: Carried) -> None:
    """Replace lasting names in the address by titles, and rerun where there was one."""
    if not st.query_params:
        return
    given = {key: st.query_params.get_all(key) for key in st.query_params}
    changed = lengthen(given, page.titles())
    if changed:
        st.query_params.update(changed)
        st.rerun()  # a widget takes its first value from the address that the run began with
