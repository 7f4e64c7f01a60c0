"""The foot of every page: a link to what it shows, as text and as a QR code, and how to cite."""

from collections.abc import Hashable

import streamlit as st

from app.sharing import links, teaching
from app.sharing.carried import Carried, lengthen, shorten
from app.sharing.teaching import GROUPS, Teaching
from l2d_core import __version__

ARRIVAL, WAITING = "share_arrival", "share_waiting"
TEACHING, REVEALED = "share_teaching", "share_revealed"
RESERVED = teaching.KEYS | {"job", "run", "base"}
PRIVATE = teaching.KEYS | {"job", links.VERSION_KEY}  # a job's link holds its owner's secret
CITATION = """@inproceedings{verma2022calibrated,
  title     = {Calibrated Learning to Defer with One-vs-All Classifiers},
  author    = {Verma, Rajeev and Nalisnick, Eric},
  booktitle = {Proceedings of the 39th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {162},
  year      = {2022},
  url       = {https://proceedings.mlr.press/v162/verma22c.html}
}

@software{l2d_core,
  title   = {l2d_core: a dashboard and a library for learning to defer},
  version = {%s},
  year    = {2026},
  license = {MIT}
}
"""


def arrive(page: Carried) -> None:
    """Remember what the address held when the session began, before the page's widgets take their part of it."""
    _read_names(page)
    if ARRIVAL not in st.session_state:
        given = st.query_params.to_dict()
        st.session_state[ARRIVAL] = given
        st.session_state[TEACHING] = teaching.read(given)
        # Streamlit's widgets stumble over these, where they drop other junk; what is no widget's is read elsewhere.
        unusable = [key for key in links.unusable(given) if key not in RESERVED]
        for key in unusable:
            del st.query_params[key]
        if unusable:
            st.rerun()  # for the same reason


def _read_names(page: Carried) -> None:
    """Put titles in the place of lasting names in the address, and begin anew where there was one."""
    if not st.query_params:
        return
    given = {key: st.query_params.get_all(key) for key in st.query_params}
    changed = lengthen(given, page.titles())
    if changed:
        st.query_params.update(changed)
        st.rerun()  # a widget takes its first value from the address that the run began with


def note_junk(page: Carried) -> None:
    """Say, under the page that the session began with, what of the address did not work.

    A setting that is not drawn yet, as those of the lesson's other steps, is looked at when it is.
    """
    given, keys = st.session_state[ARRIVAL], page.settings()
    st.session_state[ARRIVAL] = {}
    found = teaching.notes(given)
    if keys is not None:
        given |= {key: text for key, text in st.session_state.get(WAITING, {}).items() if key in keys}
        found += links.notes(given, st.session_state, keys, RESERVED)
    st.session_state[WAITING] = {
        key: text
        for key, text in given.items()
        if key in (keys or ()) and key not in RESERVED and st.session_state.get(key) is None
    }
    for note in found:
        st.info(note, icon=":material/link_off:")


def current_teaching() -> Teaching:
    """What the teacher whose link began the session asked for."""
    return st.session_state.get(TEACHING, Teaching())


def draw(page: Carried) -> None:
    """The foot: share, and cite."""
    st.divider()
    with st.container(horizontal=True, key="foot"):
        # Drawn when opened: it would take a part of each slider's move.
        share = st.popover("Share this page", icon=":material/share:", on_change="rerun", key="share")
        if share.open:
            with share:
                _draw_link(page)
        cite = st.popover("Cite", icon=":material/format_quote:", on_change="rerun", key="cite")
        if cite.open:
            with cite:
                draw_citation()


def draw_citation() -> None:
    """How to cite the paper and this software."""
    st.markdown("The paper, and this software, in BibTeX:")
    st.code(CITATION % __version__, language=None)


def draw_teaching() -> None:
    """The teacher's question, and a way out of the teacher's settings."""
    asked = current_teaching()
    if not asked:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="teacher"):
        # As code: what comes from an address is text, and never Markdown or HTML.
        if asked.question:
            st.text(asked.question)
        else:
            st.caption("A teacher's link has set this page up.", width="stretch")
        st.button("All controls", icon=":material/lock_open:", on_click=_leave, help="Leave the teacher's settings")


def is_revealed(asked: Teaching, settings: Hashable) -> bool:
    """Whether results of these settings may be shown; where the teacher wants a click first, its button is drawn."""
    if not asked.is_veiled or st.session_state.get(REVEALED) == settings:
        return True
    st.info("What do you expect? Decide, and then look.", icon=":material/visibility_off:")
    st.button("Show the results", type="primary", on_click=_reveal, args=(settings,))
    return False


def _reveal(settings: Hashable) -> None:
    st.session_state[REVEALED] = settings


def _leave() -> None:
    st.session_state[TEACHING] = Teaching()


def _draw_link(page: Carried) -> None:
    settings = [
        (key, text)
        for key in st.query_params
        for text in st.query_params.get_all(key)
        if key in page.repeated or (page.in_address and key not in PRIVATE)
    ]
    if not page.in_address:
        settings += links.settings_of(st.session_state, page.settings() or {}).items()
    if page.for_a_class:
        settings += teaching.write(_draw_wishes()).items()
    settings = shorten(settings, page.titles())
    address = links.address(st.context.url or "http://localhost:8501", settings)
    st.markdown("**A link to this page as it stands**: every setting, the seed, and the link's version.")
    st.code(address, language=None, wrap_lines=True)
    st.image(qr_code(address), width=220, caption="The same link for a camera")
    if "//localhost" in address or "//127.0.0.1" in address:
        st.caption(
            "This address works on this computer only. For a class, open the app under the address that the others use."
        )


def _draw_wishes() -> Teaching:
    with st.expander("For a class", icon=":material/school:"):
        question = st.text_area("A question to the students", max_chars=teaching.MAX_QUESTION, key="share_question")
        hidden = st.multiselect("Hide", list(GROUPS), format_func=GROUPS.get, key="share_hide")
        locked = st.multiselect("Lock", list(GROUPS), format_func=GROUPS.get, key="share_lock")
        is_veiled = st.toggle("Results only after a click", key="share_veil", help="So that students guess first.")
    return Teaching(frozenset(hidden), frozenset(locked), " ".join(question.split()), is_veiled)


@st.cache_data(max_entries=64, show_spinner=False)
def qr_code(address: str) -> str:
    """A QR code of an address as SVG, dark on white in either theme."""
    import segno

    return segno.make(address, error="l", micro=False).svg_inline(scale=4, border=4, dark="#000", light="#fff")
