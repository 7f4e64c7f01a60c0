"""Scrolling in the browser, by a constant script: Streamlit itself leaves a page where it was scrolled to."""

import streamlit as st

TOP = "document.querySelector('[data-testid=stMain]').scrollTo({top: 0})"


def to_top(token: str) -> None:
    """Scroll to the top of the page whenever the token, one of the program's own, is another than in the last run."""
    _run(TOP, token)


def to(key: str, token: str) -> None:
    """Scroll to the container with this key whenever the token is another than in the last run."""
    _run(f"document.querySelector('.st-key-{key}')?.scrollIntoView({{behavior: 'smooth'}})", token)


def _run(script: str, token: str) -> None:
    with st.container(key="hidden-scroll"):
        st.html(f"<script>{script}; /* {token} */</script>", unsafe_allow_javascript=True)
