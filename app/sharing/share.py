"""Sharing, in the header of every page: a link to what the page shows, as text and as a QR code, and how to cite."""

import streamlit as st

from app.sharing import links, teacher, teaching
from app.sharing.carried import Carried, shorten, without_defaults
from l2d_core import __version__

PRIVATE = teaching.KEYS | {"job", links.VERSION_KEY}  # never copied from the address into a link
OPEN = "share"  # the button's key
SMALL, LARGE = "max-height: 62vh", "height: 72vh"  # of the QR code, in the window's height
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


def draw(page: Carried) -> None:
    """The button in the header, which the style sheet puts there, and what it opens; after the page's own widgets."""
    with st.container(key="share-bar", width="content"):
        if st.button("Share", icon=":material/qr_code_2:", key=OPEN, help="A link and a QR code to this page"):
            _open(page)


@st.dialog("Share this page", width="large", icon=":material/share:")
def _open(page: Carried) -> None:
    fills = st.toggle("Fill the screen with the QR code", key="share_full")
    code, rest = (st.container(), st.container()) if fills else st.columns([3, 2], gap="medium")
    with rest:
        settings = _settings(page)
        address = links.address(st.context.url or "http://localhost:8501", settings)
        st.markdown("**The link holds every setting that differs from its default.**")
        st.code(address, language=None, wrap_lines=True)
        if "//localhost" in address or "//127.0.0.1" in address:
            st.caption(
                "This address works on this computer only. For a class, open the app at the address that the students "
                "can reach."
            )
        with st.expander("How to cite", icon=":material/format_quote:"):
            draw_citation()
    with code:
        _draw_code(address, fills=fills)


def _draw_code(address: str, *, fills: bool) -> None:
    code = qr_code(address)
    if not code:
        st.caption(f"The link has {len(address):,} characters, too many for a QR code.")
        return
    with st.container(key="qr", horizontal_alignment="center"):
        st.html(f"<style>.st-key-qr img {{{LARGE if fills else SMALL}; object-fit: contain;}}</style>")
        st.image(code, width="stretch", alt="QR code of the link")


def draw_citation() -> None:
    """How to cite the paper and this software."""
    st.markdown("The paper and this software, in BibTeX:")
    st.code(CITATION % __version__, language=None)


def _settings(page: Carried) -> list[tuple[str, str]]:
    """What the link carries, with lasting names in place of titles, and a form for what a teacher adds."""
    settings = [
        (key, text)
        for key in st.query_params
        for text in st.query_params.get_all(key)
        if key in page.repeated or (page.in_address and key not in PRIVATE)
    ]
    if not page.in_address:
        settings += links.settings_of(st.session_state, page.settings() or {}).items()
    settings = without_defaults(shorten(settings, page.titles()), page.defaults())
    if page.for_a_class:
        settings += teaching.write(teacher.draw_form()).items()
    return settings


@st.cache_data(max_entries=64, show_spinner=False)
def qr_code(address: str) -> str:
    """A QR code of an address as SVG, black on white in either theme; "" where the address is too long for one."""
    import segno

    try:
        code = segno.make(address, error="l", micro=False)
    except segno.DataOverflowError:
        return ""
    return code.svg_inline(scale=8, border=4, dark="#000", light="#fff")
