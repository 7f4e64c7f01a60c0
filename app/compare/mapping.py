"""The form in which a visitor says what the columns of a file hold, and what its numbers mean."""

import re
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from app.compare import state
from app.compare.uploads import Uploads, Waiting, split_names
from app.kit import memory
from app.kit.text import plain
from l2d_core.comparison.column_values import texts_of
from l2d_core.comparison.mapped_tables import ANSWERS_ARE, DOMAINS, Columns
from l2d_core.comparison.table_columns import GUESSED_ROWS
from l2d_core.comparison.table_files import LEFT_OUT
from l2d_core.surrogates import SURROGATES

DOMAIN_WORDS = {
    "logits": "Logits: raw scores, of any size",
    "probabilities": "Probabilities: 0 to 1, not in percent",
}
UNSAID = "Choose the loss, and whether the scores are logits or probabilities: the program does not guess these."
NO_GUESS = "The column names do not tell what the columns hold: please choose."
MAX_SLIDERS = 12
PREVIEW_ROWS, PREVIEW_LETTERS, SHOWN_NAMES = 5, 200, 20


def draw(uploads: Uploads, key: str, chosen: Sequence[str]) -> None:
    """The form of a waiting file; the guess it starts with is used only when confirmed."""
    waiting = uploads.waiting[key]
    with st.container(border=True, key=f"map-{key.replace('/', '-')}"):
        st.markdown(f"**{plain(waiting.name)}**")
        if waiting.table is None:
            _draw_pair(key)
        else:
            _draw_columns(waiting, key)
        if problem := state.form_value(key, "problem"):
            st.error(plain(problem), icon=":material/error:")
        with st.container(horizontal=True):
            text = "Use these columns" if waiting.table is not None else "Use it"
            args = (uploads, key, chosen)
            st.button(text, key=f"{key}-use", type="primary", icon=":material/check:", on_click=_confirm, args=args)
            st.button("Forget", key=f"{key}-forget", icon=":material/delete:", on_click=_forget, args=(uploads, key))


def _draw_pair(key: str) -> None:
    st.caption("The authors' logs: K+1 probabilities per case, and whether the expert was right. There are no labels.")
    _draw_surrogate(key)


def _draw_surrogate(key: str) -> None:
    st.selectbox(
        "Trained with",
        list(SURROGATES),
        index=None,
        format_func=lambda name: SURROGATES[name].title,
        placeholder="Which loss?",
        key=state.form_key(key, "surrogate"),
        width=300,
        help="It determines how scores become estimates: softmax uses one softmax over all scores, asymmetric softmax "
        "one over the classes and a separate probability of the expert, one-vs-all a sigmoid per score.",
    )


def _draw_columns(waiting: Waiting, key: str) -> None:
    table, guess = waiting.table, waiting.guess
    assert table is not None
    names = [str(name) for name in table.columns]
    st.caption(f"{len(table):,} rows. " + ("A guess from the column names: is it right?" if guess else NO_GUESS))
    if left_out := table.attrs.get(LEFT_OUT):
        named = ", ".join(f"{name} ({kind})" for name, kind in list(left_out.items())[:SHOWN_NAMES])
        st.caption(f"Columns that are not numbers, text or booleans were left out: {plain(named)}.")
    preview = table.head(PREVIEW_ROWS)
    st.dataframe(preview.map(_cut), hide_index=True, alt="The first rows of the file")
    own_key = partial(state.form_key, key)
    with st.container(horizontal=True, vertical_alignment="top"):
        _draw_surrogate(key)
        st.radio("The scores are", DOMAINS, index=None, format_func=DOMAIN_WORDS.get, key=own_key("domain"))
    with st.container(horizontal=True, vertical_alignment="top"):
        _column("Case id", names, guess.id if guess else "", own_key("id"), "None: number the cases by row")
        _column("True class", names, guess.label if guess else "", own_key("label"), "Which column?")
    _columns("Answers, one column per expert", names, guess.answers if guess else (), own_key("answers"))
    _columns("Class scores, in order", names, guess.scores if guess else (), own_key("scores"))
    _columns("Deferral scores, one column per expert", names, guess.defer if guess else (), own_key("defer"))
    if waiting.guess is not None and not waiting.guess.answers:
        _draw_simulated_expert(waiting.guess, own_key)
    else:
        st.radio(
            "The answers say",
            list(ANSWERS_ARE),
            format_func=ANSWERS_ARE.get,
            key=own_key("answers_are"),
            horizontal=True,
        )
    st.text_input(
        "Class names, in the order of their scores",
        _guessed_names(waiting),
        placeholder="The names of these columns",
        key=own_key("names"),
        help="Separated by commas. Labels and answers use these names, or numbers from 0. Only systems with the same "
        "class names can be compared.",
    )


def _draw_simulated_expert(guess: Columns, own_key: Callable[[str], str]) -> None:
    """Sliders for an expert, since the table has none."""
    st.info(
        "This looks like a plain classifier: the table has no column with an expert's answers. If there are none, a "
        "simulated expert answers, right as often as you set here, and cases are deferred where the expert is more "
        "likely to be right than the classifier's most probable class.",
        icon=":material/person_add:",
    )
    labels = guess.scores if len(guess.scores) <= MAX_SLIDERS else ("every class",)
    with st.container(horizontal=True):
        for place, name in enumerate(labels):
            label = f"Expert right: {plain(name)}"
            st.slider(label, 0, 100, 75, format="%d %%", key=own_key(f"accuracy-{place}"), width=200)


def _cut(value: object) -> object:
    return value[:PREVIEW_LETTERS] if isinstance(value, str) else value


def _guessed_names(waiting: Waiting) -> str:
    """The compared systems' class names if the file can have the same; else the ends of its columns' names, as "cat" in
    "logit_cat", if its labels use them.
    """
    names, guess = state.class_names(), waiting.guess
    if guess is None or waiting.table is None:
        return ""
    labels = set(filter(None, texts_of(waiting.table[guess.label].head(GUESSED_ROWS))))
    is_known = labels <= set(names) or all(map(str.isdecimal, labels))
    if len(names) != len(guess.scores) or not is_known:
        names = _behind(guess.scores)
        is_known = labels <= set(names)
    return ", ".join(names) if is_known and not any("," in name for name in names) else ""


def _behind(columns: Sequence[str]) -> tuple[str, ...]:
    """The parts of the names behind the first separator; empty if the parts before it differ."""
    parts = [re.split(r"[_ .-]", name, maxsplit=1) for name in columns]
    is_one = len({part[0] for part in parts}) == 1 and all(len(part) == 2 for part in parts)
    return tuple(part[1] for part in parts) if is_one else ()


def _column(label: str, names: list[str], guess: str, key: str, nothing: str) -> None:
    index = names.index(guess) if guess in names else None
    st.selectbox(label, names, index=index, placeholder=nothing, key=key, width=300)


def _columns(label: str, names: list[str], guess: Sequence[str], key: str) -> None:
    st.multiselect(label, names, [name for name in guess if name in names], key=key)


def _confirm(uploads: Uploads, key: str, chosen: Sequence[str]) -> None:
    """Use what was entered; a problem is shown below the form."""
    if key not in uploads.waiting:  # a second click
        return
    try:
        _explain(uploads, key)
    except ValueError as problem:
        state.set_form_value(key, "problem", str(problem))
        return
    state.set_form_value(key, "problem", "")
    state.add([key], chosen)


def _forget(uploads: Uploads, key: str) -> None:
    uploads.remove(key)
    memory.give_back()


def _explain(uploads: Uploads, key: str) -> None:
    surrogate = state.form_value(key, "surrogate")
    if uploads.waiting[key].table is None:
        if surrogate is None:
            raise ValueError("Choose the loss that the probabilities come from: the program does not guess it.")
        uploads.explain_pair(key, surrogate)
        return
    domain = state.form_value(key, "domain")
    columns_of = {name: tuple(state.form_value(key, name)) for name in ("answers", "scores", "defer")}
    accuracy = [state.form_value(key, f"accuracy-{place}") for place in range(MAX_SLIDERS)]
    is_plain = not columns_of["answers"] and accuracy[0] is not None
    if domain is None or (surrogate is None and not is_plain):
        raise ValueError(UNSAID)
    if not state.form_value(key, "label"):
        raise ValueError("Choose the column with the true class.")
    columns = Columns(label=state.form_value(key, "label"), id=state.form_value(key, "id") or "", **columns_of)
    notes = uploads.explain_table(
        key,
        columns,
        surrogate=surrogate or "softmax",
        domain=domain,
        class_names=split_names(state.form_value(key, "names", "")) or None,
        answers_are=state.form_value(key, "answers_are", "classes"),
        expert_accuracy=[percent / 100 for percent in accuracy if percent is not None] if is_plain else None,
    )
    for note in notes:
        state.note(f"{uploads.ready[key].name}: {note}.")
