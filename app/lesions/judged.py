"""What is known of a session's pictures: readings, verdicts by the page's rule, and what the expert network says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.lesions import verdicts
from app.lesions.patients import unknown_of
from app.lesions.scoring import expert_answers, scores_of
from app.lesions.state import Entry, LesionSession
from app.lesions.verdicts import Verdict
from l2d_core.datasets import LAB_DATASETS
from l2d_core.evaluation.similar_cases import Reading, read_cases
from l2d_core.lesions.system import ExpertSystems, LesionSystem

WORDS = {"age": "age", "sex": "sex", "localization": "site"}


@dataclass(frozen=True)
class Results:
    """What is known of a session's pictures. readings, verdicts: by digest; deferred: by surrogate and digest.

    leader: the surrogate whose system decides; answers: entry's id -> what the expert network itself says.
    """

    session: LesionSession
    leader: str
    readings: Mapping[str, Reading]
    verdicts: Mapping[str, Verdict]
    deferred: Mapping[str, Mapping[str, bool]]
    answers: Mapping[str, int] | None
    class_names: Sequence[str]

    @property
    def titles(self) -> list[str]:
        """Of the classes."""
        return [LAB_DATASETS["ham10000"].class_titles.get(name, name) for name in self.class_names]


@dataclass(frozen=True)
class Rule:
    """Who decides and how. leader: the surrogate of the system; name: in `verdicts.RULES`, with its value."""

    leader: str
    name: str
    value: float


@dataclass(frozen=True)
class Deciding:
    """The networks, the systems for an expert, which expert (in EXPERTS), the rule, and the weight of rare classes."""

    system: LesionSystem
    systems: ExpertSystems
    expert: str
    rule: Rule
    tau: float = 0.0


def judge(session: LesionSession, by: Deciding) -> Results:
    """Read all pictures of the session, and decide."""
    readings = _read(session, by.systems, session.first_entries())
    # What is not like the training images uses up no budget.
    like = {digest: reading for digest, reading in readings.items() if not session.cases[digest].unlike}
    deferred = verdicts.decisions(like, by.rule.name, by.rule.value)
    return Results(
        session,
        by.rule.leader,
        readings,
        verdicts.judge(readings, deferred, by.rule.leader),
        deferred,
        expert_answers(session, by.system) if by.expert == "mixer" else None,
        by.system.class_names,
    )


def _read(session: LesionSession, chosen: ExpertSystems, entries: Sequence[Entry]) -> dict[str, Reading]:
    """Digest -> reading, each picture once."""
    if not entries:
        return {}
    scores = scores_of([session.cases[entry.digest] for entry in entries])
    readings = read_cases(chosen.reference, chosen.logits(scores))
    return dict(zip((entry.digest for entry in entries), readings, strict=True))


def about_the_limit(system: LesionSystem) -> str:
    """What the detector of unlike pictures was measured to do, in one sentence."""
    shares = [f"{one.unlike / one.n:.0%} of {one.n:,} {one.kind}" for one in system.catches.itertuples()]
    return f"Beyond its limit were {', '.join(shares)}.".replace("%", " %")


def same_as(results: Results, place: int) -> list[str]:
    """Of a copy: which file it is a copy of."""
    entries = results.session.entries
    first = next(at for at, one in enumerate(entries) if one.digest == entries[place].digest)
    return [] if first == place else [f"The same picture as {first + 1} ({entries[first].name})"]


def expert_says(results: Results, entry: Entry) -> list[str]:
    """Sentences: the expert network's own answer or why there is none, and what is odd in the table's row."""
    if results.answers is None:
        return []
    patients = results.session.patients
    patient = patients.of(entry.name) if patients else None
    notes = patients.notes_of(entry.name) if patients else []
    odd = [f"{note[0].upper()}{note[1:]}." for note in notes]
    if entry.id in results.answers and patient is not None:
        person = f"{patient['age']} years, {patient['sex']}, {patient['localization']}"
        return [f"Given {person}, the MLP-Mixer itself answers: {results.titles[results.answers[entry.id]]}.", *odd]
    unknown = unknown_of(patient)
    lacking = " and ".join(", ".join(WORDS[name] for name in unknown).rsplit(", ", 1))
    is_given = any(f" {name} " in note for name in unknown for note in notes)
    why = "which the table gives in no way that it knows" if is_given else "which the table does not give"
    return [f"The MLP-Mixer's own answer needs {lacking}, {why}: none is invented.", *odd]
