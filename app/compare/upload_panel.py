"""The panel for own predictions: upload field, forms of waiting files, list of files."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from app.compare import mapping, state
from app.compare.uploads import (
    FLAGS,
    MAX_FILE_BYTES,
    PROBABILITIES,
    Uploads,
    list_server_files,
    read_server_files,
)
from app.kit import memory
from app.kit.text import plain
from l2d_core.common.paths import served_data_root

FORMATS = (
    f"An .npz of this program; CSV or Parquet; or the two JSON files of the authors' logs, *{PROBABILITIES}.json and "
    f"*{FLAGS}.json, together. At most {MAX_FILE_BYTES // 2**20} MB per file. Files stay in memory, for this browser "
    "tab only."
)
LABEL = "Own predictions"


def draw(chosen: Sequence[str]) -> None:
    """The panel; it stays open while a file waits to be explained."""
    uploads = state.uploads()
    brought = len(uploads.ready) + len(uploads.waiting)
    panel = st.expander(
        f"{LABEL} ({brought})" if brought else LABEL,
        icon=":material/upload_file:",
        on_change="rerun",
        key="own-predictions",
        expanded=bool(uploads.waiting),
    )
    if not (panel.open or uploads.waiting):
        return
    with panel:
        _draw_field(uploads, chosen)
        _draw_server_files(uploads, chosen)
        for text in state.upload_problems():
            st.error(plain(text), icon=":material/error:")
        for name in list(uploads.parts):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.caption(f":material/hourglass_empty: {plain(name)}.json needs the other of the two files.")
                st.button("Forget", key=f"part-{name}", icon=":material/delete:", on_click=uploads.remove, args=(name,))
        for key in list(uploads.waiting):
            mapping.draw(uploads, key, chosen)
        for key in list(uploads.ready):
            _draw_ready(uploads, key, chosen)


def _draw_field(uploads: Uploads, chosen: Sequence[str]) -> None:
    st.file_uploader(
        "Files of predictions",
        accept_multiple_files=True,
        key=state.renewable_key(state.UPLOAD_FIELD),
        on_change=_take_uploads,
        args=(uploads, chosen),
        max_upload_size=MAX_FILE_BYTES // 2**20,
        help="One row per test case: its id, the true class, the expert's answer, and the K+1 scores.",
    )
    st.caption(FORMATS)


def _take_uploads(uploads: Uploads, chosen: Sequence[str]) -> None:
    """Read the files and free their bytes; the next upload field is empty."""
    files = state.uploaded_files()
    if not files:  # a browser that is slow to see the new field reports once more what was taken
        return
    with st.spinner("Reading ..."):
        _take(uploads, [(file.getvalue(), file.name) for file in files], chosen)
    memory.forget_uploads(file.file_id for file in files)
    memory.give_back()
    state.renew(state.UPLOAD_FIELD)


def _take(uploads: Uploads, files: Sequence[tuple[bytes, str]], chosen: Sequence[str]) -> None:
    keys, problems = [], []
    for data, name in files:
        try:
            keys.append(uploads.add(data, name))
        except (ValueError, OSError, MemoryError) as problem:
            problems.append(str(problem) or f"{name} does not fit into memory")
    state.set_upload_problems(problems)
    state.add([key for key in keys if key in uploads.ready], chosen)


def _draw_server_files(uploads: Uploads, chosen: Sequence[str]) -> None:
    top = served_data_root()
    files = _files(str(top)) if top is not None else []
    if not files:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.selectbox(
            "Or a file in the data folder of this server",
            files,
            index=None,
            placeholder=f"One of {len(files)} files",
            key="server_file",
            width=420,
        )
        args = (uploads, name, chosen)
        st.button("Add", icon=":material/playlist_add:", disabled=name is None, on_click=_take_file, args=args)


@st.cache_data(ttl=60, show_spinner=False)
def _files(top: str) -> list[str]:
    return list_server_files(Path(top))


def _take_file(uploads: Uploads, name: str, chosen: Sequence[str]) -> None:
    top = served_data_root()
    if top is None:
        return
    try:
        _take(uploads, read_server_files(top, name), chosen)
    except (ValueError, OSError) as problem:
        text = str(problem) if isinstance(problem, ValueError) else f"{name} cannot be read: {problem.strerror}"
        state.set_upload_problems([text])


def _draw_ready(uploads: Uploads, key: str, chosen: Sequence[str]) -> None:
    system = uploads.ready[key]
    used = key in chosen
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(
            f"**{plain(system.name)}**  \n{len(system.test.logits):,} cases, {system.test.surrogate}", width=260
        )
        others = [one for one in uploads.ready if one != key and one not in uploads.validation_of]
        if key not in uploads.validation_of.values() and others:
            held_out = {one: f"validation predictions of {uploads.ready[one].name}" for one in others}
            st.selectbox(
                "These are",
                ["", *others],
                format_func=({"": "test predictions"} | held_out).get,
                key=state.form_key(key, "role"),
                on_change=_set_role,
                args=(uploads, key, chosen),
                width=320,
            )
        if key not in uploads.validation_of and not used:
            st.button("Compare", key=f"use-{key}", icon=":material/add:", on_click=state.add, args=([key], chosen))
        st.button(
            "Forget", key=f"forget-{key}", icon=":material/delete:", on_click=_forget, args=(uploads, key, chosen)
        )


def _set_role(uploads: Uploads, key: str, chosen: Sequence[str]) -> None:
    try:
        uploads.set_validation(key, state.form_value(key, "role", ""))
    except ValueError as problem:
        state.set_upload_problems([str(problem)])
        state.set_form_value(key, "role", "")
    if key in uploads.validation_of:
        state.remove(key, chosen)


def _forget(uploads: Uploads, key: str, chosen: Sequence[str]) -> None:
    if key in chosen and key in uploads.ready:
        state.note(f"{uploads.ready[key].name} was removed from the comparison.")
    uploads.remove(key)
    state.remove(key, chosen)
    memory.give_back()
