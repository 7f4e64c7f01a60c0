"""The live lab in the session: the keys that its links carry, and what is read or set beside its widgets."""

import random

import streamlit as st

from app.fits.settings import Binning
from app.kit import expert_panel
from app.lab import people_panel
from app.sharing.carried import Settings
from l2d_core.datasets import LAB_DATASETS

STRATEGIES = {"equal_width": "Equal width", "equal_mass": "Equal mass"}  # of bins
HEAD_TITLES = {"linear": "Linear", "mlp": "Small MLP (one hidden layer)"}
SEED = "seed"


def title_of(dataset: str) -> str:
    """The title of one of LAB_DATASETS."""
    return LAB_DATASETS[dataset].title


def settings_keys(dataset: str | None = None) -> Settings:
    """The keys of all settings of a data set, that of the session if None: how each value is written in a link."""
    name = st.session_state.get("data") if dataset is None else dataset
    if name not in LAB_DATASETS:
        name = next(iter(LAB_DATASETS))
    known = LAB_DATASETS[name]
    people = {} if known.people is None else people_panel.settings_keys(name)
    return {
        "data": title_of,
        **people,
        **expert_panel.settings_keys(name, known.class_names),
        f"{name}_noise": None,
        f"{name}_size": None,
        "random_labels": None,
        f"{name}_head": HEAD_TITLES.__getitem__,
        f"{name}_epochs": None,
        "alpha": None,
        "asymmetric": None,
        "seeds": None,
        SEED: None,
        "bins": None,
        "bin_kind": STRATEGIES.__getitem__,
    }


def binning() -> Binning:
    """The bins that were last chosen, or the first ones."""
    return Binning(st.session_state.get("bins", Binning.bins), st.session_state.get("bin_kind", Binning.strategy))


def begin_with_seed_0() -> None:
    """Start with seed 0 where none is set."""
    st.session_state.setdefault(SEED, 0)


def shuffle() -> None:
    """Take another seed."""
    st.session_state[SEED] = random.SystemRandom().randrange(10_000)
