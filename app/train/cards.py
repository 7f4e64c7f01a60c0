"""The trainings on the page: one card each for those that are watched, their curves, and the list of all."""

from collections.abc import Callable, Sequence

import streamlit as st

from app.jobs import ownership
from app.jobs.board import JobBoard, JobStatus
from app.jobs.folder import MAX_NAME, Link
from app.jobs.menu import DATASETS
from app.jobs.runs import HERE, RunKey
from app.jobs.states import STOPPING
from app.kit import section
from app.kit.looks import Look, looks_of
from app.kit.text import plain
from app.train import charts, form, state, words
from l2d_core.common.paths import offers_training

PER_PAGE = 10


def draw(board: JobBoard, links: Sequence[Link]) -> None:
    """Draw the cards and the curves of the trainings that are still there."""
    views = [view for link in links if (view := _look(board, link)) is not None]
    if notice := state.notice():
        st.error(plain(notice), icon=":material/error:")
    _draw_cards(board, views)
    if any(len(view.history) for view in views):
        _draw_curves(views)
    elif any(view.is_pending for view in views):
        st.caption("Curves appear after the first epoch.")


def _look(board: JobBoard, link: Link) -> JobStatus | None:
    try:
        return board.look(link.id)
    except LookupError as problem:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.warning(f"{str(problem).capitalize()}.", icon=":material/link_off:")
            st.button("Close", key=f"close-{link.id}", on_click=state.leave, args=(link.id,))
        return None


def _draw_cards(board: JobBoard, views: Sequence[JobStatus]) -> None:
    """Two side by side, where there is room."""
    with st.container(key="wide-charts-jobs"):
        places = st.columns(min(2, len(views))) if views else []
        for number, view in enumerate(views):
            with places[number % 2]:
                _draw_card(board, view)


def _draw_card(board: JobBoard, view: JobStatus) -> None:
    link = ownership.link_of(view.id)
    is_own = board.owns(link)
    with st.container(border=True, key=f"job-{view.id}"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"{words.name(view)} &nbsp; {words.badge(view)}", unsafe_allow_html=True, width="content")
            st.button(
                "Close",
                key=f"close-{view.id}",
                icon=":material/close:",
                type="tertiary",
                on_click=state.leave,
                args=(view.id,),
                help="Removes this card from the page. The training continues and stays in the list",
            )
        if view.is_pending:
            st.progress(words.share_done(view), words.how_far(view))
        st.caption(_about(view))
        if view.split_warning:
            st.warning(plain(view.split_warning), icon=":material/warning:")
        if view.message:
            st.error(plain(view.message), icon=":material/error:")
        with st.container(horizontal=True, vertical_alignment="center"):
            _draw_actions(board, view, link, is_own)
        _draw_log(board, view)


def _about(view: JobStatus) -> str:
    far = "" if view.is_pending or view.config is None else f"{words.how_far(view)}."
    split = f"Split: {plain(view.split)}." if view.split else ""
    return "  \n".join(filter(None, [f"{words.subject(view)}. {far}".strip(". "), words.result(view), split]))


def _draw_actions(board: JobBoard, view: JobStatus, link: Link, is_own: bool) -> None:
    """What the owner can do, and what everybody can."""
    if is_own and view.is_pending and view.state != STOPPING and not view.elsewhere:
        _action(
            "Stop",
            "stop",
            view,
            board.stop,
            link,
            help="Saves the best network so far. You can resume later",
        )
    if is_own and view.can_resume and offers_training():
        text = "Continues after the last epoch" if len(view.history) else "Starts again"
        _action("Resume", "play_arrow", view, lambda owner: board.resume(owner, state.session()), link, help=text)
    if view.has_scores:
        st.page_link(
            "compare/page.py",
            label="Compare",
            icon=":material/compare_arrows:",
            query_params={"run": str(RunKey(HERE, view.id))},
            help="Opens this system on the page Compare",
        )
    if view.config is not None and view.config.dataset in DATASETS:
        st.button(
            "Copy settings",
            key=f"copy-{view.id}",
            icon=":material/content_copy:",
            on_click=form.fill,
            args=(view.config, (view.config.surrogate,)),
            help="Copies the settings into the sidebar, to change them and train again",
        )
    if is_own:
        with st.popover("Rename", icon=":material/edit:"):
            st.text_input("Name", view.name, max_chars=MAX_NAME, key=state.name_key(view.id))
            _action("Save the name", "check", view, lambda at: board.rename(at, state.typed_name(at.id)), link)
    with st.popover("Link", icon=":material/link:"):
        _draw_links(link, is_own)
    if is_own and not view.is_pending:
        with st.popover("Delete", icon=":material/delete:"):
            st.markdown(f"Permanently delete **{plain(view.name)}** with its network, scores and curves?")
            _action("Yes, delete it", "delete", view, lambda owner: _delete(board, owner), link)
    if not is_own:
        st.caption("Only its owner can stop or change it.", width="content")


def _draw_links(link: Link, is_own: bool) -> None:
    base = (st.context.url or "").partition("?")[0]
    st.markdown("**To watch only**, for others:")
    st.code(f"{base}?job={link.id}", language=None, wrap_lines=True)
    if not is_own:
        return
    st.markdown("You own this training in this browser tab, also after a reload, but not elsewhere.")
    if st.toggle("Show the owner's link", key=f"owner-{link.id}", help="To control it later or from elsewhere"):
        st.warning(
            "Whoever has this link can stop, resume, rename and delete the training. Keep it to yourself.",
            icon=":material/key:",
        )
        st.code(f"{base}?job={link}", language=None, wrap_lines=True)


def _draw_log(board: JobBoard, view: JobStatus) -> None:
    log = st.expander("Log", icon=":material/notes:", on_change="rerun", key=f"log-{view.id}")
    if log.open:
        with log:
            newest_first = "\n".join(reversed(board.log(view.id).splitlines()))
            st.code(newest_first or "The log is still empty.", language=None, height=220, wrap_lines=True)


def _action(
    label: str, icon: str, view: JobStatus, act: Callable[[Link], None], link: Link, help: str | None = None
) -> None:
    key = f"{label}-{view.id}"
    st.button(label, key=key, icon=f":material/{icon}:", on_click=_try, args=(act, link), help=help)


def _try(act: Callable[[Link], None], link: Link) -> None:
    """Do it, or keep the reason why not, for the page to show."""
    try:
        act(link)
    except (OSError, LookupError, ValueError) as problem:
        state.note(problem)


def _delete(board: JobBoard, link: Link) -> None:
    board.delete(link)
    state.leave(link.id)


def _draw_curves(views: Sequence[JobStatus]) -> None:
    looks = dict(zip([view.id for view in views], _looks(views), strict=True))
    with st.container(key="wide-charts-train"):
        places = st.columns(2)
        for number, (measure, title, shown) in enumerate(charts.panels(views)):
            spec = charts.curves(shown, measure, title, [looks[view.id] for view in shown])
            with places[number % 2]:
                section.chart(spec, f"train-{number}-{measure}", title, charts.spoken(shown, measure, title))
    st.caption(
        "After each epoch, on the validation cases. Thin lines: the loss on the training cases during the epoch. "
        "ECE: 15 bins of equal width, for the estimate of P(the expert is right) that each system decides by."
    )


def _looks(views: Sequence[JobStatus]) -> list[Look]:
    """A look for each training, titled with its name, and with its id too where two have the same name."""
    names = [view.name for view in views]
    titles = [view.name if names.count(view.name) == 1 else f"{view.name} ({view.id[:4]})" for view in views]
    return looks_of([view.config.surrogate if view.config else "" for view in views], titles)


def draw_list(views: Sequence[JobStatus]) -> None:
    """Draw a page of the list of all trainings, the newest first."""
    pages = max(1, -(-len(views) // PER_PAGE))
    page = min(state.list_page(), pages - 1)
    for view in views[page * PER_PAGE : (page + 1) * PER_PAGE]:
        _draw_row(view)
    if pages > 1:
        with st.container(horizontal=True, vertical_alignment="center"):
            _turn("Newer", page - 1, pages)
            st.caption(f"Page {page + 1} of {pages}, {len(views):,} trainings", width="content")
            _turn("Older", page + 1, pages)


def _draw_row(view: JobStatus) -> None:
    is_own = bool(ownership.link_of(view.id).token)
    own = " :gray-badge[yours]" if is_own else ""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        with st.container(gap=None, width="stretch"):
            st.markdown(f"{words.name(view)} &nbsp; {words.badge(view)}{own}", unsafe_allow_html=True)
            st.caption(" · ".join(filter(None, [words.subject(view), words.how_far(view)])))
        st.button("Open", key=f"open-{view.id}", on_click=state.watch, args=([ownership.link_of(view.id)],))


def _turn(label: str, to: int, pages: int) -> None:
    st.button(
        label, key=f"list-{label}", on_click=state.turn_to, args=(to,), disabled=not 0 <= to < pages, type="tertiary"
    )
