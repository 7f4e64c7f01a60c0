"""The ways in for pictures: uploads, a drawn example, a folder of the server; and the button that clears them."""

from functools import partial

import streamlit as st

from app.kit.text import plain
from app.lesions import folders, state
from app.lesions.intake import DRAWING, Source
from app.lesions.patients import Patients
from app.lesions.state import LesionSession
from l2d_core.common.paths import served_data_root
from l2d_core.datasets.delimited_text import MAX_BYTES as MAX_TABLE_BYTES
from l2d_core.images.archives import MAX_ARCHIVE_BYTES, MAX_MEMBERS
from l2d_core.images.opening import MAX_FILE_BYTES, safe_name

MAX_FROM_FOLDER, FIRST_COUNT = 2_000, 24
LIMITS = (
    f"JPEG, PNG, WebP, BMP or TIFF, whatever the name says: at most {MAX_FILE_BYTES // 2**20} MB an image, "
    f"{MAX_ARCHIVE_BYTES // 2**20} MB and {MAX_MEMBERS:,} files a zip. Kept in memory only, for this browser tab only, "
    "until you press Clear or close the tab. A file that shows an error has not arrived: remove it, and drop it again."
)


# The fields stay the same elements, so that they keep their files.
_COMPACT = """
<style>
[data-testid="stMainBlockContainer"] {padding-left: 2.5rem; padding-right: 2.5rem;}
.st-key-lesion-drop [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
.st-key-lesion-drop [data-testid="stColumn"] {min-width: 180px;}
.st-key-lesion-drop [data-testid="stFileUploader"] section {min-height: 0; max-height: 60px; overflow-y: auto;
  padding: .35rem .6rem; flex-direction: row; align-items: flex-start;}
.st-key-lesion-drop [data-testid="stFileUploader"] section div:has([data-testid="stFileChips"]),
.st-key-lesion-drop [data-testid="stFileChips"] {max-height: none; overflow: visible;}
.st-key-lesion-limits {display: none;}
</style>
"""


def draw(session: LesionSession) -> None:
    """Draw all ways in; files are added to the session's intake, and tables to the session."""
    with st.container(key="lesion-drop"):
        images, more, buttons = st.columns([8, 6, 7], gap="small")
    with images:
        _draw_upload(session)
    with more:
        _draw_table(session)
    with buttons:
        st.space(23)  # the fields' labels
        with st.container(horizontal=True):
            st.button(
                "Try a drawn example",
                icon=":material/draw:",
                on_click=session.add,
                args=(DRAWING,),
                disabled=DRAWING.key in session.taken,
                help="A lesion drawn by this page: no photograph, and no patient's",
            )
            st.button(
                "Clear",
                icon=":material/delete:",
                on_click=state.clear,
                disabled=not (session.taken or session.patients),
                help="Forget all images, results and the table of this tab",
            )
        _draw_folders(session)


def make_room() -> None:
    """Make the ways in small, since there are results to show."""
    st.html(_COMPACT)


def _draw_upload(session: LesionSession) -> None:
    files = st.file_uploader(
        "Images, or a zip of images",
        accept_multiple_files=True,
        key=state.images_key(session),
        on_change=_drop_removed,
        args=(session,),
        max_upload_size=MAX_ARCHIVE_BYTES // 2**20,
        help=LIMITS,
    )
    session.in_widget = {file.file_id for file in files}
    session.uploads |= session.in_widget
    for file in files:
        session.add(Source(file.file_id, file.name, file.getvalue))
    with st.container(key="lesion-limits"):
        st.caption(LIMITS)


def _drop_removed(session: LesionSession) -> None:
    """Forget the files removed from the upload field, which after a visit to another page is empty anyway."""
    session.drop(session.in_widget - {file.file_id for file in state.uploaded_images(session)})


def _draw_table(session: LesionSession) -> None:
    st.file_uploader(
        "Optional: a table of age, sex and site",
        key=state.table_key(session),
        on_change=_read_table,
        args=(session,),
        max_upload_size=MAX_TABLE_BYTES // 2**20,
        help="A text table such as HAM10000_metadata.csv, with columns image_id, age, sex and localization; commas, "
        "semicolons or tabs. Rows are matched to images by name, never by position. Only the MLP-Mixer's own answer "
        "uses it.",
    )
    if session.problem:
        st.error(plain(session.problem), icon=":material/table:")
    if session.patients is not None:
        st.caption(plain(_matched(session, session.patients)))


def _read_table(session: LesionSession) -> None:
    file = state.uploaded_table(session)
    session.uploaded, session.problem = None, ""
    if file is None:
        return
    session.uploads.add(file.file_id)
    try:
        session.uploaded = Patients.read(file.getvalue(), safe_name(file.name))
    except ValueError as problem:
        session.problem = str(problem)


def _matched(session: LesionSession, patients: Patients) -> str:
    names = {entry.name: patients.key_of(entry.name) for entry in session.entries if entry.digest}
    without = sorted(name for name, key in names.items() if key is None)
    beside = "" if session.uploaded else ", found beside the images"
    text = (
        f"{patients.name}{beside}: {len(patients.rows):,} rows; {len(names) - len(without):,} of {len(names):,} images "
        f"by name are in it, {len(patients.rows.keys() - names.values()):,} rows have no image here."
    )
    if without:
        text += f" Without a row: {', '.join(without[:3])}{', ...' if len(without) > 3 else ''}."
    return text


def _draw_folders(session: LesionSession) -> None:
    top = served_data_root()
    if top is None:
        return
    panel = st.expander("A folder of this server", icon=":material/folder_open:", on_change="rerun")
    if not panel.open:
        return
    with panel:
        counts = {folder.name: folder.count for folder in _folders(str(top))}
        if not counts:
            st.caption("There are no images below the folder that L2D_DATA_ROOT names.")
            return
        name = st.selectbox(
            "Folder", list(counts), format_func=lambda name: f"{name} ({counts[name]:,} images)", key=state.FOLDER
        )
        if "ham10000" in name.lower():
            st.caption("On images that the networks were trained on they do better than on new ones.")
        st.caption("A table of age, sex and site that lies with the images, or in the folder above, is read too.")
        most = min(counts[name], MAX_FROM_FOLDER)
        st.number_input("How many, the first by name", 1, most, min(FIRST_COUNT, most), key=state.count_key(name))
        st.button("Take these images", icon=":material/playlist_add:", on_click=_add_folder, args=(session,))


@st.cache_data(ttl=60, show_spinner=False)
def _folders(top: str) -> list[folders.Folder]:
    return folders.list_folders(folders.Path(top))


def _add_folder(session: LesionSession) -> None:
    # The present values of the fields: those when the button was drawn may be a moment old.
    (name, count), top = state.chosen_folder(FIRST_COUNT), served_data_root()
    if top is None:
        return
    paths = folders.list_images(top, name)[:count]
    found = folders.find_patients(top, name, paths)
    if found is not None:
        session.beside = found.joined(session.beside)
    for path in paths:
        session.add(Source(f"folder:{name}/{path.name}", safe_name(path.name), partial(folders.read_file, path)))
