"""The start of a training: what it will be, what it will take, and the button."""

import time
from dataclasses import dataclass, replace

import streamlit as st

from app.fits.workers import WorkerLost, Workers
from app.jobs.board import JobBoard
from app.jobs.menu import DATASETS, NETWORKS, network_of
from app.train import state
from app.train.estimate import Estimate
from app.train.form import Wish
from l2d_core.config import RunConfig
from l2d_core.surrogates import SURROGATES

KINDS = {"human": "people's recorded answers", "learned": "a trained network"}
_ESTIMATE, _STARTED = "train_estimate", "train_started"
DOUBLE_CLICK_SECONDS = 2.0


@dataclass(frozen=True)
class _Known:
    """What was estimated, and of which settings; problem: why it could not be."""

    config: RunConfig
    estimate: Estimate | None
    places: int
    problem: str = ""


def draw(board: JobBoard, wish: Wish) -> None:
    """Draw the card of the new training."""
    with st.container(border=True, key="train-new"):
        if wish.problem:
            st.warning(wish.problem, icon=":material/rule:")
            return
        config = next(iter(wish.configs.values()))
        systems = " and ".join(SURROGATES[name].title for name in wish.configs)
        st.markdown(f"**{systems}** on **{DATASETS[wish.dataset].lab.title}**")
        st.caption(_describe(config))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Name", key="train_name", max_chars=60, placeholder="a name, if you like", width=230)
            count = len(wish.configs)
            # No callback: it would start what was drawn last, and a setting may have changed with this very click.
            is_started = st.button(
                "Train" if count == 1 else f"Train {count} systems",
                type="primary",
                icon=":material/model_training:",
                key="train_go",
            )
            wants_estimate = st.button(
                "Estimate time and memory",
                icon=":material/timer:",
                key="train_estimate_go",
                help="Times a few steps on images of noise; takes some seconds, and longer for large networks",
            )
        if is_started:
            _start(board, wish)
        _draw_estimate(wish, config, wants_estimate)


def _describe(config: RunConfig) -> str:
    network = network_of(config)
    title = NETWORKS[network].title if network else config.model
    cases = DATASETS[config.dataset].sizes[0]
    about = "about " if config.dataset in ("ham10000", "galaxy_zoo") else ""
    stop = (
        f", fewer where {config.patience} bring no better loss"
        if (config.patience or config.epochs) < config.epochs
        else ""
    )
    return f"{title}; {config.epochs:,} epochs of {about}{cases:,} cases{stop}; with {_expert(config)}."


def _expert(config: RunConfig) -> str:
    accuracy = config.expert.accuracy
    if not accuracy:
        return KINDS.get(config.expert.kind, config.expert.kind)
    span = " to ".join(f"{share:.0%}".replace("%", " %") for share in sorted({min(accuracy), max(accuracy)}))
    return f"a simulated expert that knows {span} of a class"


def _start(board: JobBoard, wish: Wish) -> None:
    typed = st.session_state.get("train_name", "").strip()
    what, (before, links, since) = (typed, wish), st.session_state.get(_STARTED, (None, [], 0.0))
    if what == before and time.monotonic() - since < DOUBLE_CLICK_SECONDS:
        state.watch(links)  # a second click, which may have come before the first one's end
        return
    links = []
    st.session_state[_STARTED] = (what, links, time.monotonic())
    try:
        for surrogate, config in wish.configs.items():
            links.append(board.start(_name(typed or DATASETS[wish.dataset].lab.title, surrogate, wish), config))
    except (OSError, ValueError) as problem:
        state.note(problem)
    st.session_state[_STARTED] = (what, links, time.monotonic())
    if links:
        state.watch(links)


def _name(base: str, surrogate: str, wish: Wish) -> str:
    is_typed = base != DATASETS[wish.dataset].lab.title
    return base if is_typed and len(wish.configs) == 1 else f"{base}, {SURROGATES[surrogate].title}"


def _draw_estimate(wish: Wish, config: RunConfig, is_wanted: bool) -> None:
    config = replace(config, surrogate=next(iter(SURROGATES)), seed=0, split_seed=0)  # what takes no time
    if is_wanted:
        st.session_state[_ESTIMATE] = _estimate(wish.dataset, config)
    known: _Known | None = st.session_state.get(_ESTIMATE)
    if known is None or known.config != config:
        return
    if known.estimate is None:
        st.warning(known.problem, icon=":material/timer_off:")
        return
    st.caption(_tell(known.estimate, known.places, len(wish.configs)), help=_HELP)


_HELP = (
    "Measured a moment ago with what else this machine is doing, without the time to start and to read the data. "
    "Memory is that of the process, with all data in it."
)


def _tell(estimate: Estimate, places: int, count: int) -> str:
    rounds = -(-count // places)
    parts = [
        f":material/timer: About **{duration(estimate.seconds)}** a system",
        f"{duration(rounds * estimate.seconds)} for all {count}, {places} at once" if rounds > 1 else "",
        f"{estimate.images_per_second:,.0f} images/s on {estimate.device.upper()}",
        f"**{estimate.bytes / 1e9:.1f} GB** of memory each",
    ]
    return ", ".join(filter(None, parts))


def duration(seconds: float) -> str:
    """A time in words, as exact as an estimate is."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _estimate(dataset: str, config: RunConfig) -> _Known:
    from l2d_core.sweeps.cluster import CPU_COUNT, plan_workers

    menu, bar = DATASETS[dataset], st.progress(0.0, "Starts a process and times a few steps")
    places, threads = plan_workers("auto", CPU_COUNT)
    workers = _estimator()

    def on_progress(share: float) -> bool:
        bar.progress(share, "Times a few steps")
        return True

    arguments = (config.to_json(), menu.image_shape, menu.sizes, menu.lab.class_names, menu.bytes_a_number, threads)
    try:
        return _Known(config, workers.run(*arguments, on_progress=on_progress), places)
    except WorkerLost:
        problem = "The trial was ended, perhaps for lack of memory: take smaller batches or a smaller network."
        return _Known(config, None, places, problem)
    except (ValueError, OSError, RuntimeError) as problem:
        return _Known(config, None, places, str(problem))
    finally:
        workers.close()  # the next one is a new process, with a peak of memory of its own
        bar.empty()


@st.cache_resource
def _estimator() -> Workers:
    """The process that times a few steps of a training; one at a time."""
    return Workers("app.train.estimate:measure", 1)
