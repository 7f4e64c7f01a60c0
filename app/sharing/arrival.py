"""The address that a session began with: read once; what in it cannot be used is reported."""

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import get_session_state

from app.sharing import links, state, teaching
from app.sharing.carried import Carried, lengthen, shorten

RESERVED = teaching.KEYS | {"job", "run", "base"}


def arrive(page: Carried) -> None:
    """Prepare the address for the page's widgets, and keep what the session began with."""
    given = {key: st.query_params.get_all(key) for key in st.query_params}
    if not state.has_arrived():
        texts = {key: values[-1] for key, values in given.items()}
        state.set_arrival(texts)
        state.set_teacher(teaching.read(texts))
    is_back = _is_back_from_another_page()
    if (given or is_back) and not page.reads_itself:
        kept = _kept(page) if is_back else {}
        _replace(given, kept | _readable(given, page))


def note_junk(page: Carried) -> None:
    """Report, below the page that the session began with, what in the address could not be used.

    A setting whose widget has not been drawn yet, as in the lesson's other steps, is checked once it has.
    """
    given, keys = state.take_arrival(), page.settings()
    if page.reads_itself:
        given = dict(shorten(given.items(), page.titles()))
    found = teaching.notes(given)
    if keys is not None:
        given |= {key: text for key, text in state.waiting().items() if key in keys}
        found += links.notes(given, st.session_state, keys, RESERVED)
    known = {key: text for key, text in given.items() if key in (keys or ()) and key not in RESERVED}
    state.set_waiting({key: text for key, text in known.items() if st.session_state.get(key) is None})
    for note in found:
        st.info(note, icon=":material/link_off:")


def _is_back_from_another_page() -> bool:
    """Whether the browser's Back or Forward has led to this page from another one."""
    context = get_script_run_ctx()
    path = context.page_script_hash if context else ""
    return state.is_another_page(path) and context is not None and context.is_history_navigation


def _kept(page: Carried) -> dict[str, list[str]]:
    """The settings that the session has of a page, as its address writes them.

    Streamlit takes them out of the address, by an entry in the history of its own, when one leaves the page; Back leads
    to that entry, where widgets would fall back to their defaults.
    """
    keys = page.settings() or {}
    values = {key: st.session_state[key] for key in keys if st.session_state.get(key) is not None}
    return {
        key: [links.write(one, keys[key]) for one in (value if isinstance(value, list) else [value])]
        for key, value in values.items()
    }


def _readable(given: Mapping[str, list[str]], page: Carried) -> dict[str, list[str]]:
    """The address as Streamlit's widgets read it: titles for names, and no empty text, no nan and no default.

    Widgets fail on the first two, and each of them takes its default out of the address by an entry in the browser's
    history.
    """
    titles, defaults = page.titles(), page.defaults()
    dropped = {key for key, values in given.items() if links.unusable({key: values[-1]}) and key not in RESERVED}
    dropped |= {
        key
        for key, text in defaults.items()
        if shorten([(key, one) for one in given.get(key, [])], titles) == [(key, text)]
    }
    return {key: values for key, values in (given | lengthen(given, titles)).items() if key not in dropped}


def _replace(given: Mapping[str, list[str]], readable: Mapping[str, list[str]]) -> None:
    """Have this run's widgets read another address than the browser shows, which is left as it is.

    `st.query_params` would change the browser's too, with an entry in its history, and refuses settings that a widget
    is bound to, as they are after Back.
    """
    if readable == given:
        return
    with get_session_state().query_params() as address:
        for key in given:
            address.discard_param_no_forward_msg(key)
        for key, values in readable.items():
            address.set_with_no_forward_msg(key, values[0] if len(values) == 1 else values)
        address.set_initial_query_params_from_current()
