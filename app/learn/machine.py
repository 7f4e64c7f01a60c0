"""The warm-up of the lesson: the reader decides on ten photographs whether to answer or to ask the expert."""

import json
from dataclasses import dataclass
from functools import cache

import numpy as np
import streamlit as st
from PIL import Image

from app.kit.looks import SYSTEMS
from app.learn import numbers, state
from l2d_core.common.paths import PRETRAINED
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.runs.folder import open_run

SPRITE, IDS = PRETRAINED / "photographs.png", PRETRAINED / "photographs.json"
SIDE, SHOWN = 32, 112  # pixels of a photograph, and of its picture on the page
ASK = "Ask the expert"
FOLDERS = {"one_vs_all": numbers.PHOTOS, "softmax": numbers.PHOTOS_SOFTMAX}


@dataclass(frozen=True)
class Photograph:
    """picture: as shown; label, expert: the true class and the expert's answer; systems: surrogate -> answer or ASK."""

    picture: Image.Image
    label: str
    expert: str
    systems: dict[str, str]

    def is_right(self, answer: str) -> bool:
        """Whether an answer, the expert's where that is ASK, is the true class."""
        return (self.expert if answer == ASK else answer) == self.label


@cache
def photographs() -> list[Photograph]:
    """The ten photographs, in their order. OSError or ValueError where they or the networks cannot be read."""
    runs = {name: open_run(folder).test for name, folder in FOLDERS.items()}
    test, sprite = runs["one_vs_all"], Image.open(SPRITE).convert("RGB")
    rows = [int(np.flatnonzero(test.ids == name)[0]) for name in json.loads(IDS.read_text(encoding="utf-8"))["ids"]]
    names = test.class_names
    said = {
        name: np.where(defer_by_argmax(run.logits), ASK, np.array(names)[run.logits[:, : len(names)].argmax(1)])
        for name, run in runs.items()
    }
    return [
        Photograph(
            sprite.crop((SIDE * place, 0, SIDE * (place + 1), SIDE)).resize((SHOWN, SHOWN), Image.Resampling.BICUBIC),
            names[test.labels[row]],
            names[test.answers[row, 0]],
            {name: str(answers[row]) for name, answers in said.items()},
        )
        for place, row in enumerate(rows)
    ]


def draw() -> None:
    """The photographs with a choice each; once all are answered, the solutions and the scores."""
    st.markdown(
        "Name what each photograph shows, or ask the expert. The expert is right in 75 % of "
        "the cases for airplanes, automobiles, birds, cats and deer, and in 20 % for dogs, frogs, horses, ships and "
        "trucks. You score a point for every right answer, yours or the expert's."
    )
    answers = state.machine_answers()
    with st.form("machine", border=False):
        for first in range(0, 10, 5):
            for place, column in zip(range(first, first + 5), st.columns(5), strict=True):
                with column:
                    _draw_photograph(place, answers)
        if not answers:
            st.form_submit_button("Check my answers", type="primary", on_click=state.answer_machine)
        else:
            st.form_submit_button("Try again", icon=":material/restart_alt:", on_click=state.forget_machine)
    if answers:
        _draw_scores(answers)
    elif state.is_machine_incomplete():
        st.caption(":material/info: Choose an answer for every photograph first.")


def _draw_photograph(place: int, answers: tuple[str, ...]) -> None:
    photograph = photographs()[place]
    st.image(photograph.picture, width=SHOWN, alt=f"Photograph {place + 1}")
    classes = sorted({one.label for one in photographs()})
    st.selectbox(
        f"Photograph {place + 1}",
        [*classes, ASK],
        index=None,
        key=state.photograph_key(place),
        placeholder="It shows ...",
        label_visibility="collapsed",
        disabled=bool(answers),
        width=180,
    )
    if answers:
        right = photograph.is_right(answers[place])
        asked = f"; the expert says {photograph.expert}" if answers[place] == ASK else ""
        icon = ":material/check_circle:" if right else ":material/cancel:"
        st.caption(f"{icon} **{photograph.label}**{asked}")


def _draw_scores(answers: tuple[str, ...]) -> None:
    """The reader's score beside those of the two systems on the same photographs."""
    rows = {"You": answers}
    rows |= {SYSTEMS[name].title: tuple(one.systems[name] for one in photographs()) for name in FOLDERS}
    shown = [
        {"": who, "right": f"{score(said)} of 10", "asked": sum(one == ASK for one in said)}
        for who, said in rows.items()
    ]
    st.table(shown, hide_index=True)
    st.caption(
        "The two systems are the shipped networks, and the expert is theirs: a simulated one, whose answers were drawn "
        "once. Ten photographs are far too few to say which system is better."
    )


def score(answers: tuple[str, ...]) -> int:
    """How many of the ten are right."""
    return sum(one.is_right(said) for one, said in zip(photographs(), answers, strict=True))
