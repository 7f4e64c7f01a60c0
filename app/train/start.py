"""The start of a training: what it will be, what it will take, and the button."""

import time
from dataclasses import dataclass, replace

import streamlit as st

from app.fits.workers import WorkerLost, Workers
from app.jobs.board import JobBoard
from app.jobs.folder import without_path
from app.jobs.menu import DATASETS, NETWORKS, network_of
from app.train import state
from app.train.estimate import Estimate
from app.train.form import Plan
from l2d_core.common.paths import RUNS_ROOT
from l2d_core.config import RunConfig
from l2d_core.surrogates import SURROGATES

KINDS = {"human": "recorded answers of people", "learned": "a trained network as the expert"}
DOUBLE_CLICK_SECONDS = 2.0
SWITCHED_OFF = (
    "Training is switched off on this server. Its trained systems are on the page Compare; to train your own, run this "
    "program on your computer."
)


@dataclass(frozen=True)
class _Estimated:
    """An estimate and the settings it is for; problem: why there is none."""

    config: RunConfig
    estimate: Estimate | None
    places: int
    problem: str = ""


def draw(board: JobBoard, plan: Plan) -> None:
    """Draw the card of the new training."""
    with st.container(border=True, key="train-new"):
        if plan.problem:
            st.warning(plan.problem, icon=":material/rule:")
            return
        config = next(iter(plan.configs.values()))
        systems = " and ".join(SURROGATES[name].title for name in plan.configs)
        st.markdown(f"**{systems}** on **{DATASETS[plan.dataset].lab.title}**")
        st.caption(_describe(config))
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.text_input("Name", key=state.key("name"), max_chars=60, placeholder="optional", width=230)
            count = len(plan.configs)
            # No callback: it would start what was drawn last, and a setting may have changed with this very click.
            is_started = st.button(
                "Train" if count == 1 else f"Train {count} systems",
                type="primary",
                icon=":material/model_training:",
                key=state.key("go"),
            )
            wants_estimate = st.button(
                "Estimate time and memory",
                icon=":material/timer:",
                key=state.key("estimate_go"),
                help="Times a few steps on random images. This takes a few seconds, or longer for large networks",
            )
        if is_started:
            _start(board, plan)
        _draw_estimate(plan, config, wants_estimate)


def _describe(config: RunConfig) -> str:
    network = network_of(config)
    title = NETWORKS[network].title if network else config.model
    cases = DATASETS[config.dataset].sizes[0]
    about = "about " if config.dataset in ("ham10000", "galaxy_zoo") else ""
    stop = (
        f", or fewer if the validation loss does not improve for {config.patience} epochs"
        if (config.patience or config.epochs) < config.epochs
        else ""
    )
    return f"{title}; {config.epochs:,} epochs of {about}{cases:,} cases{stop}; with {_expert(config)}."


def _expert(config: RunConfig) -> str:
    accuracy = config.expert.accuracy
    if not accuracy:
        return KINDS.get(config.expert.kind, config.expert.kind)
    span = " to ".join(f"{share:.0%}".replace("%", " %") for share in sorted({min(accuracy), max(accuracy)}))
    return f"a simulated expert with an accuracy of {span} per class"


def _start(board: JobBoard, plan: Plan) -> None:
    typed = state.setting("name", "").strip()
    what, (before, links, since) = (typed, plan), state.last_start()
    if what == before and time.monotonic() - since < DOUBLE_CLICK_SECONDS:
        state.watch(links)  # a second click, which may have come before the first one's end
        return
    links = []
    state.note_start(what, links)
    try:
        for surrogate, config in plan.configs.items():
            name = _name(typed or DATASETS[plan.dataset].lab.title, surrogate, plan)
            links.append(board.start(name, config, session=state.session()))
    except (OSError, ValueError) as problem:
        state.note(problem)
    state.note_start(what, links)
    if links:
        state.watch(links)


def _name(base: str, surrogate: str, plan: Plan) -> str:
    is_typed = base != DATASETS[plan.dataset].lab.title
    return base if is_typed and len(plan.configs) == 1 else f"{base}, {SURROGATES[surrogate].title}"


def _draw_estimate(plan: Plan, config: RunConfig, is_wanted: bool) -> None:
    config = replace(config, surrogate=next(iter(SURROGATES)), seed=0, split_seed=0)  # what takes no time
    if is_wanted:
        state.keep_estimate(_estimate(plan.dataset, config))
    known: _Estimated | None = state.estimate()
    if known is None or known.config != config:
        return
    if known.estimate is None:
        st.warning(known.problem, icon=":material/timer_off:")
        return
    st.caption(_in_words(known.estimate, known.places, len(plan.configs)), help=_HELP)


_HELP = (
    "Measured just now, with everything else that runs on this machine, without the time for starting and reading "
    "data. Memory is that of the whole process, with all data."
)


def _in_words(estimate: Estimate, places: int, count: int) -> str:
    rounds = -(-count // places)
    parts = [
        f":material/timer: About **{duration(estimate.seconds)}** per system",
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


def _estimate(dataset: str, config: RunConfig) -> _Estimated:
    from l2d_core.sweeps.cluster import CPU_COUNT, plan_workers

    menu, bar = DATASETS[dataset], st.progress(0.0, "Starting a process and timing a few steps")
    places, threads = plan_workers("auto", CPU_COUNT)
    workers = _estimator()

    def on_progress(share: float) -> bool:
        bar.progress(share, "Timing a few steps")
        return True

    arguments = (config.to_json(), menu.image_shape, menu.sizes, menu.lab.class_names, menu.bytes_a_number, threads)
    try:
        return _Estimated(config, workers.run(*arguments, on_progress=on_progress), places)
    except WorkerLost:
        problem = "The trial was killed, perhaps for lack of memory. Try smaller batches or a smaller network."
        return _Estimated(config, None, places, problem)
    except (ValueError, OSError, RuntimeError) as problem:
        return _Estimated(config, None, places, without_path(RUNS_ROOT.resolve(), problem))
    finally:
        workers.close()  # the next one is a new process, with a peak of memory of its own
        bar.empty()


@st.cache_resource
def _estimator() -> Workers:
    """The process that times a few steps of a training; one at a time."""
    return Workers("app.train.estimate:measure", 1)
