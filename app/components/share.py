"""The foot of every page: a link to what it shows, as text and as a QR code, and how to cite."""

from collections.abc import Hashable, Mapping

import streamlit as st

import l2d_core
import link_titles
import links
import teaching
from teaching import GROUPS, Teaching

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


def arrive(page: str) -> None:
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


def _read_names(page: str) -> None:
    """Put titles in the place of lasting names in the address, and begin anew where there was one."""
    if not st.query_params:
        return
    given = {key: st.query_params.get_all(key) for key in st.query_params}
    changed = link_titles.lengthen(given, link_titles.titles_of(page))
    if changed:
        st.query_params.update(changed)
        st.rerun()  # a widget takes its first value from the address that the run began with


def note_junk(page: str) -> None:
    """Say, under the page that the session began with, what of the address did not work.

    A setting that is not drawn yet, as those of the lesson's other steps, is looked at when it is.
    """
    given, keys = st.session_state[ARRIVAL], page_settings(page) or _settings_by_title(page)
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


def page_settings(page: str) -> Mapping[str, links.Shown | None] | None:
    """The settings of a page by key, how each is written in an address; None where the address alone knows them."""
    if page == "lab":
        from components import settings_panel  # brings torch, which other pages need not wait for

        return settings_panel.settings_keys(st.session_state.get("data"))
    if page == "learn":
        from components import learn_frame

        return {"step": None} | {learn_frame.key_of(name): None for name in learn_frame.SETTINGS}
    if page == "compare":
        from components import compare_controls

        return compare_controls.settings_keys()
    return None


def _settings_by_title(page: str) -> Mapping[str, links.Shown | None] | None:
    """As `page_settings`, of the pages whose settings the address alone knows; None of pages without any."""
    known: dict[str, links.Shown | None] = {
        key: choices.__getitem__ for key, choices in link_titles.titles_of(page).items()
    }
    if page == "lesions":
        from components import expert_panel
        from l2d_core.datasets import LAB_DATASETS

        known |= expert_panel.settings_keys("ham10000", LAB_DATASETS["ham10000"].class_names)
        known |= {"lesion_threshold": None, "lesion_budget": None}
    return known or None


def draw(page: str) -> None:
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
    st.code(CITATION % l2d_core.__version__, language=None)


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


def _draw_link(page: str) -> None:
    keys = page_settings(page)
    if keys is None:
        settings = [
            (key, text) for key in st.query_params for text in st.query_params.get_all(key) if key not in PRIVATE
        ]
    else:
        settings = [("run", text) for text in st.query_params.get_all("run")] if page == "compare" else []
        settings += links.settings_of(st.session_state, keys).items()
    if page == "lab":
        settings += teaching.write(_draw_wishes()).items()
    settings = link_titles.shorten(settings, link_titles.titles_of(page))
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
