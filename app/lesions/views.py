"""What the page can show: the worklist, who is served worse, what a miss costs, and the map."""

import streamlit as st

from app.kit import groups
from app.lesions import cost_panel, drop, groups_panel, results, state
from app.lesions.judged import Deciding
from app.lesions.state import LesionSession

VIEWS = {
    "list": "Your images",
    "groups": groups.TITLE,
    "cost": "What a miss costs",
    "map": "Map of test cases",
}


def draw_choice() -> str:
    """Draw the choice of what to look at; returns a key of VIEWS."""
    return st.segmented_control(
        "View",
        list(VIEWS),
        default="list",
        required=True,
        format_func=VIEWS.get,
        key=state.VIEW,
        label_visibility="collapsed",
        bind="query-params",
        persist_state="session",
    )


def draw(view: str, by: Deciding, session: LesionSession) -> None:
    """Draw one of VIEWS."""
    if session.entries:
        drop.make_room()
    if view == "groups":
        groups_panel.draw(by)
    elif view == "cost":
        cost_panel.draw(by)
    elif view == "map":
        from app.lesions import map_panel  # brings Plotly, which takes a while

        map_panel.draw(by, session)
    elif session.entries:
        results.draw(session, by, busy=len(session.intake) > 0)
