"""One's own predictions: the way in, what a file's columns are, and what was brought so far."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from app.compare import files as compare_files
from app.compare import mapping, state
from app.compare.uploads import FLAGS, MAX_FILE_BYTES, PROBABILITIES, Shelf
from app.kit import memory
from app.kit.text import plain
from l2d_core.common.paths import served_data_root

FORMATS = (
    f"Our .npz; CSV or Parquet; or the two JSON files of the authors' logs, *{PROBABILITIES}.json and *{FLAGS}.json, "
    f"together. At most {MAX_FILE_BYTES // 2**20} MB a file. Kept in memory only, for this browser tab only."
)
LABEL = "Own predictions"
_PROBLEMS = "compare_upload_problems"


def draw(chosen: Sequence[str]) -> None:
    """The panel; open for as long as something waits to be explained."""
    shelf = state.shelf()
    brought = len(shelf.ready) + len(shelf.waiting)
    panel = st.expander(
        f"{LABEL} ({brought})" if brought else LABEL,
        icon=":material/upload_file:",
        on_change="rerun",
        key="own-predictions",
        expanded=bool(shelf.waiting),
    )
    if not (panel.open or shelf.waiting):
        return
    memory.keep_off_disk()
    with panel:
        _draw_field(shelf, chosen)
        _draw_server_files(shelf, chosen)
        for text in st.session_state.pop(_PROBLEMS, []):
            st.error(plain(text), icon=":material/error:")
        for name in list(shelf.parts):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f":material/hourglass_empty: {plain(name)}.json waits for the other of the two files.")
                st.button("Forget", key=f"part-{name}", icon=":material/delete:", on_click=shelf.remove, args=(name,))
        for key in list(shelf.waiting):
            mapping.draw(shelf, key, chosen)
        for key in list(shelf.ready):
            _draw_ready(shelf, key, chosen)


def _draw_field(shelf: Shelf, chosen: Sequence[str]) -> None:
    key = f"own-files-{shelf.generation}"
    st.file_uploader(
        "Files of predictions",
        accept_multiple_files=True,
        key=key,
        on_change=_take_uploads,
        args=(shelf, key, chosen),
        max_upload_size=MAX_FILE_BYTES // 2**20,
        help="Each row is a test case: an id, the true class, what the expert said, and the K+1 scores.",
    )
    st.caption(FORMATS)


def _take_uploads(shelf: Shelf, key: str, chosen: Sequence[str]) -> None:
    """Read what came, and let go of its bytes; the next upload field is a new one, and empty."""
    files = [file for file in st.session_state[key] if not isinstance(file, DeletedFile)]
    if not files:  # a browser that is slow to see the new field tells a second time of what was taken
        return
    with st.spinner("Reading ..."):
        _take(shelf, [(file.getvalue(), file.name) for file in files], chosen)
    memory.forget_uploads(file.file_id for file in files)
    memory.give_back()
    shelf.generation += 1


def _take(shelf: Shelf, files: Sequence[tuple[bytes, str]], chosen: Sequence[str]) -> None:
    keys, problems = [], []
    for data, name in files:
        try:
            keys.append(shelf.add(data, name))
        except (ValueError, OSError, MemoryError) as problem:
            problems.append(str(problem) or f"{name} does not fit into memory")
    st.session_state[_PROBLEMS] = problems
    state.add([key for key in keys if key in shelf.ready], chosen)


def _draw_server_files(shelf: Shelf, chosen: Sequence[str]) -> None:
    top = served_data_root()
    if top is None:
        return
    files = _files(str(top))
    if not files:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Or a file on this server, in its folder of data",
            files,
            index=None,
            placeholder=f"One of {len(files)} files",
            key="server_file",
            width=420,
        )
        st.button(
            "Take it",
            icon=":material/playlist_add:",
            disabled=name is None,
            on_click=_take_file,
            args=(shelf, name, chosen),
        )


@st.cache_data(ttl=60, show_spinner=False)
def _files(top: str) -> list[str]:
    return compare_files.list_files(Path(top))


def _take_file(shelf: Shelf, name: str, chosen: Sequence[str]) -> None:
    top = served_data_root()
    if top is None:
        return
    try:
        _take(shelf, compare_files.read_files(top, name), chosen)
    except (ValueError, OSError) as problem:
        text = str(problem) if isinstance(problem, ValueError) else f"{name} cannot be read: {problem.strerror}"
        st.session_state[_PROBLEMS] = [text]


def _draw_ready(shelf: Shelf, key: str, chosen: Sequence[str]) -> None:
    system = shelf.ready[key]
    used = key in chosen
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(
            f"**{plain(system.name)}**  \n{len(system.test.logits):,} cases, {system.test.surrogate}", width=260
        )
        others = [one for one in shelf.ready if one != key and one not in shelf.validation_of]
        if key not in shelf.validation_of.values() and others:
            st.selectbox(
                "These are",
                ["", *others],
                format_func=lambda of: (
                    f"validation predictions of {shelf.ready[of].name}" if of else "test predictions"
                ),
                key=f"role-{key}",
                on_change=_set_role,
                args=(shelf, key, chosen),
                width=320,
            )
        if key not in shelf.validation_of and not used:
            st.button("Compare", key=f"use-{key}", icon=":material/add:", on_click=state.add, args=([key], chosen))
        st.button("Forget", key=f"forget-{key}", icon=":material/delete:", on_click=_forget, args=(shelf, key, chosen))


def _set_role(shelf: Shelf, key: str, chosen: Sequence[str]) -> None:
    try:
        shelf.set_validation(key, st.session_state.get(f"role-{key}", ""))
    except ValueError as problem:
        st.session_state[_PROBLEMS] = [str(problem)]
        st.session_state[f"role-{key}"] = ""
    if key in shelf.validation_of:
        state.remove(key, chosen)


def _forget(shelf: Shelf, key: str, chosen: Sequence[str]) -> None:
    if key in chosen and key in shelf.ready:
        state.note(f"{shelf.ready[key].name} was forgotten: the page goes on without it.")
    shelf.remove(key)
    state.remove(key, chosen)
    memory.give_back()
