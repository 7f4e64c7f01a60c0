"""An experiment of the live lab, from its settings to everything that the page draws; makes no call to Streamlit."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch

from app.fits.settings import Binning, LabSettings
from app.fits.tables import LabResult, Plane, Tables, Truth
from l2d_core.calibration.binned import without_above_one
from l2d_core.common.environment import has_fast_bfloat16
from l2d_core.common.paths import DATA_ROOT
from l2d_core.common.seeds import numpy_generator
from l2d_core.config import HeadConfig
from l2d_core.data import DeferralData, Scores
from l2d_core.datasets import LAB_DATASETS, LabDataset
from l2d_core.evaluation import summary
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.estimator_view import corp, risk_histogram
from l2d_core.evaluation.probabilities import estimators_of
from l2d_core.experts.simulated import expert_correct_probability, per_class
from l2d_core.lab import heads
from l2d_core.surrogates import SURROGATES

# Fits run in parallel processes; the tables of a page are too small for more than one thread.
torch.set_num_threads(1)
# A fit makes thousands of short calls: it must not wait the usual 5 ms for another thread before each of them.
sys.setswitchinterval(0.0005)


def run(
    settings: LabSettings,
    binning: Binning,
    surrogates: Sequence[str] = (),
    *,
    on_progress: Callable[[float], bool] = lambda _share: True,
) -> LabResult:
    """Load the data, train and score. OSError, ValueError: why it cannot be done.

    surrogates: some of those of the settings, () for all. on_progress: as in `lab.heads.fit`.
    """
    dataset = LAB_DATASETS[settings.dataset]
    splits = dataset.load(settings.seed, settings.noise)
    train = splits.train
    if settings.train_size is not None:
        train = train.sample(settings.train_size, generator=numpy_generator(settings.seed, "subset"))
    confusion = None if settings.people else per_class(settings.accuracy, wrong=settings.wrong)
    points = None if dataset.plane is None else dataset.plane()
    start = time.perf_counter()
    fit = heads.fit(
        train,
        splits.test,
        confusion,
        people=_people(dataset, settings.people),
        surrogates=surrogates or settings.surrogates,
        seeds=settings.seeds,
        config=in_fast_precision(settings.head),
        options={"softmax": {"alpha": settings.alpha}},
        random_labels=settings.random_labels,
        extra_inputs=None if points is None else torch.from_numpy(points),
        on_progress=on_progress,
    )
    seconds = time.perf_counter() - start
    truth = _truth(dataset, confusion, splits.test, settings.noise)
    return LabResult(
        num_train=len(train),
        num_test=len(splits.test),
        class_names=splits.test.class_names,
        scores=fit.scores,
        seconds=seconds,
        truth=truth,
        plane=None if points is None else _plane(dataset, confusion, splits.test, settings.noise, points, fit),
        curves={name: summary.coverage_curves(scores) for name, scores in fit.scores.items()},
        tables=tables_of(fit.scores, truth, binning),
    )


def in_fast_precision(head: HeadConfig) -> HeadConfig:
    """The head with bfloat16 as its precision where this machine is fast at it; scores differ by rounding only."""
    return replace(head, precision="bfloat16" if has_fast_bfloat16() else "float32")


def tables_of(scores: Mapping[str, Sequence[Scores]], truth: Truth, binning: Binning) -> Tables:
    """The tables of these scores."""
    how = {"bins": binning.bins, "strategy": binning.strategy}
    pairs = estimators_of(list(scores))
    tables = {name: summary.chart_tables(scores[loss], name, **how) for loss, name in pairs}
    return Tables(
        binning=binning,
        summary=summary.summarise(scores, **how, true_probability=truth.probability),
        reliability={name: one.reliability for name, one in tables.items()},
        drawn={name: without_above_one(one.reliability, one.above_one) for name, one in tables.items()},
        above_one={name: one.above_one for name, one in tables.items()},
        risk={name: one.risk for name, one in tables.items()},
        true_risk=risk_histogram(1 - truth.probability, below_zero=True) if truth.given_case else None,
        estimates={name: one.estimates for name, one in tables.items()},
        is_bounded={name: SURROGATES[loss].is_bounded[name] for loss, name in pairs},
    )


def with_corp(tables: Tables, scores: Mapping[str, Sequence[Scores]]) -> Tables:
    """The tables with those of the reliability diagrams without bins."""
    pairs = estimators_of(list(scores))
    return replace(tables, corp={name: corp(summary.pooled_view(scores[loss], name)) for loss, name in pairs})


def _people(dataset: LabDataset, name: str) -> heads.People | None:
    if not name or dataset.people is None:
        return None
    crowd = dataset.people
    return lambda ids, seed: crowd.answers(DATA_ROOT, ids, name, numpy_generator(seed, "people"))


def _truth(dataset: LabDataset, confusion: torch.Tensor | None, test: DeferralData, noise: float) -> Truth:
    if confusion is None:
        assert dataset.people is not None
        return Truth(dataset.people.right(DATA_ROOT, np.asarray(test.ids), test.labels.numpy()), given_case=True)
    if dataset.class_probability is None:
        return Truth(confusion.diagonal()[test.labels].numpy(), given_case=False)
    on_test = torch.from_numpy(dataset.class_probability(test.inputs.numpy(), noise))
    return Truth(expert_correct_probability(confusion, on_test).numpy(), given_case=True)


def _plane(
    dataset: LabDataset,
    confusion: torch.Tensor,
    test: DeferralData,
    noise: float,
    points: np.ndarray,
    fit: heads.LabFit,
) -> Plane:
    on_points = torch.from_numpy(dataset.class_probability(points, noise))
    bayes = expert_correct_probability(confusion, on_points) >= on_points.amax(dim=1)
    deferred = {
        name: np.mean([defer_by_argmax(seed) for seed in logits], axis=0) for name, logits in fit.extra_logits.items()
    }
    return Plane(points, bayes.numpy(), test.inputs.numpy(), test.labels.numpy(), deferred)
