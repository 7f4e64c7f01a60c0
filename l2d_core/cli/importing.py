"""The command `import`: a table of another program becomes a file of scores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from l2d_core.common.checks import require_known
from l2d_core.common.names import printable
from l2d_core.comparison.mapped_tables import Columns, import_table, read_predictions
from l2d_core.comparison.systems import confidence_note
from l2d_core.data import Scores
from l2d_core.surrogates import SURROGATES


def import_file(file: Path, out: Path, columns: Columns, options: Mapping[str, Any]) -> None:
    """Write the scores in a table to an .npz file, and print what it holds and what to note.

    options: those of `import_table`; without an expert, the surrogate may be None. ValueError on what does not do.
    """
    if out.resolve() == file.resolve():
        raise ValueError(f"--out must not be the table itself, got {out} twice")
    surrogate = options["surrogate"]
    if columns.answers and surrogate is None:
        require_known("--surrogate", "", SURROGATES)
    _refuse_own_file(file)
    made = import_table(read_predictions(file), columns, **{**options, "surrogate": surrogate or "softmax"})
    notes = [*filter(None, (*made.notes, confidence_note(made.scores)))]  # raises where the loss has no such experts
    made.scores.save(out)
    size = f"{len(made.scores):,} cases, {made.scores.num_classes} classes, {made.scores.num_experts} experts"
    print(printable(f"{out}: {size}"))
    for note in notes:
        print(printable(f"note: {note}"))


def _refuse_own_file(file: Path) -> None:
    """Say so where the file already holds scores of this program."""
    if not file.is_file() or file.open("rb").read(2) != b"PK":
        return
    try:
        scores = Scores.load(file)
    except ValueError:
        return  # another kind of zip, which `read_predictions` names
    raise ValueError(f"{file} already holds scores ({len(scores):,} cases): Compare opens it, and so does Scores.load")
