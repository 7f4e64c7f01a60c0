"""The foot of every page: a link to what it shows, as text and as a QR code, and how to cite."""

import streamlit as st

from app.sharing import links, teacher, teaching
from app.sharing.carried import Carried, shorten
from l2d_core import __version__

PRIVATE = teaching.KEYS | {"job", links.VERSION_KEY}  # never copied from the address into a link
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


def _draw_link(page: Carried) -> None:
    address = links.address(st.context.url or "http://localhost:8501", _settings(page))
    st.markdown("**A link to this page as it stands**: every setting, the seed, and the link's version.")
    st.code(address, language=None, wrap_lines=True)
    code = qr_code(address)
    if code:
        st.image(code, width=220, caption="The same link for a camera")
    else:
        st.caption(f"No QR code: it would have to hold {len(address):,} characters, which is more than one can.")
    if "//localhost" in address or "//127.0.0.1" in address:
        st.caption(
            "This address works on this computer only. For a class, open the app under the address that the others use."
        )


def _settings(page: Carried) -> list[tuple[str, str]]:
    """What the link carries, with lasting names in place of titles."""
    settings = [
        (key, text)
        for key in st.query_params
        for text in st.query_params.get_all(key)
        if key in page.repeated or (page.in_address and key not in PRIVATE)
    ]
    if not page.in_address:
        settings += links.settings_of(st.session_state, page.settings() or {}).items()
    if page.for_a_class:
        settings += teaching.write(teacher.draw_form()).items()
    return shorten(settings, page.titles())


@st.cache_data(max_entries=64, show_spinner=False)
def qr_code(address: str) -> str:
    """A QR code of an address as SVG, dark on white in either theme; "" where the address is too long for one."""
    import segno

    try:
        code = segno.make(address, error="l", micro=False)
    except segno.DataOverflowError:
        return ""
    return code.svg_inline(scale=4, border=4, dark="#000", light="#fff")
