"""What one session of the page holds, small views and numbers but no files; and the page's session-state keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from app.kit import memory
from app.lesions.intake import Intake, Source
from app.lesions.patients import Patients
from l2d_core.lesions.system import LesionScores

# Keys of widgets, those in links first.
EXPERT, RULE, THRESHOLD, BUDGET = "lesion_expert", "lesion_rule", "lesion_threshold", "lesion_budget"
SYSTEM, ORDER, VIEW = "lesion_system", "lesion_order", "lesion_view"
TAU, GROUPS_BY, GROUPS_MIX = "lesion_tau", "lesion_groups", "lesion_mix"
MAP, MAP_COLOUR = "lesion-map", "lesion_colour"
FOLDER, WORKLIST = "lesion-folder", "lesion-worklist"
_SESSION = "lesion-session"


@dataclass(frozen=True)
class Case:
    """A picture that was scored. view: what the model sees, as JPEG, and its size; thumbnail: the same, smaller.

    unlike: whether it is not like the training images; scores: of this picture alone.
    """

    view: bytes
    size: tuple[int, int]
    thumbnail: bytes
    warnings: tuple[str, ...]
    unlike: bool
    scores: LesionScores


@dataclass(frozen=True)
class Entry:
    """The picture in a file. id: its own; key: that of the file, which a zip's pictures share.

    digest: of its content, or "" where it could not be read; reason: why it could not be read; notes: what was
    converted; drawing: whether this program drew it.
    """

    id: str
    key: str
    name: str
    digest: str
    reason: str
    notes: tuple[str, ...]
    drawing: bool


@dataclass
class LesionSession:
    """The pictures of one session, which alone changes them. entries: in the order of upload; cases: by digest.

    taken: the keys of all files received; in_widget: of those that the upload field held last; uploads: Streamlit's
    ids of all uploads; uploaded: the uploaded table, problem: why it could not be read; beside: tables found beside
    images of the server; pixels: of all pictures opened; left_out: how many pictures exceeded the limits of
    `scoring`; received: how many pictures there were in all; opened: the id of the one that was chosen to be open;
    generation: how often the session was cleared.
    """

    generation: int = 0
    entries: list[Entry] = field(default_factory=list)
    cases: dict[str, Case] = field(default_factory=dict)
    intake: Intake = field(default_factory=Intake)
    taken: set[str] = field(default_factory=set)
    in_widget: set[str] = field(default_factory=set)
    uploads: set[str] = field(default_factory=set)
    uploaded: Patients | None = None
    problem: str = ""
    beside: Patients | None = None
    pixels: int = 0
    left_out: int = 0
    received: int = 0
    opened: str = ""

    @property
    def patients(self) -> Patients | None:
        """The table in use: the uploaded one if there is one, else those beside images of the server."""
        return self.uploaded or self.beside

    def add(self, source: Source) -> None:
        """Queue a file to be scored, once."""
        if source.key not in self.taken:
            self.taken.add(source.key)
            self.intake.add(source)

    def drop(self, keys: set[str]) -> None:
        """Forget these files, and the pictures that no other file holds."""
        self.intake.drop(keys)
        self.taken -= keys
        self.entries = [entry for entry in self.entries if entry.key not in keys]
        kept = {entry.digest for entry in self.entries}
        self.cases = {digest: case for digest, case in self.cases.items() if digest in kept}

    def first_entries(self) -> list[Entry]:
        """The entries that were scored, each picture once."""
        firsts: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.digest:
                firsts.setdefault(entry.digest, entry)
        return list(firsts.values())


def current() -> LesionSession:
    """This session's pictures."""
    return st.session_state.setdefault(_SESSION, LesionSession())


def clear() -> None:
    """Start anew, with empty upload fields, whose keys change."""
    session = current()
    memory.forget_uploads(session.uploads)
    memory.give_back()
    st.session_state[_SESSION] = LesionSession(generation=session.generation + 1)


def images_key(session: LesionSession) -> str:
    """The key of the upload field for images."""
    return f"lesion-files-{session.generation}"


def uploaded_images(session: LesionSession) -> Sequence[UploadedFile]:
    """What the upload field for images holds."""
    return st.session_state[images_key(session)]


def table_key(session: LesionSession) -> str:
    """The key of the upload field for a table."""
    return f"lesion-table-{session.generation}"


def uploaded_table(session: LesionSession) -> UploadedFile | None:
    """What the upload field for a table holds."""
    return st.session_state[table_key(session)]


def page_key(session: LesionSession) -> str:
    """The key of the choice of a page of the list."""
    return f"lesion-page-{session.generation}"


def take_opened() -> None:
    """Open the file that was chosen in the list."""
    chosen = st.session_state[WORKLIST].get("opened")
    if isinstance(chosen, str):
        open_file(chosen)


def open_file(entry_id: str) -> None:
    """Open the file whose entry has this id."""
    current().opened = entry_id


def explain_key(entry_id: str) -> str:
    """The key of the button that explains a file's scores."""
    return f"lesion-explain-{entry_id}"


def count_key(folder: str) -> str:
    """The key of the number of images to take from a folder."""
    return f"lesion-count-{folder}"


def chosen_folder(otherwise: int) -> tuple[str, int]:
    """The folder that is chosen now, and how many of its images; otherwise: how many if no number is set."""
    folder = st.session_state[FOLDER]
    return folder, st.session_state.get(count_key(folder), otherwise)
