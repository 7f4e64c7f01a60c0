"""Training: one loop for CPU and GPU, on data that are in memory, with the same result for the same seed."""

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from l2d_core.common.seeds import torch_generator
from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.evaluation.epoch_report import EpochReport, validation_metrics
from l2d_core.experts.simulated import sample_answers
from l2d_core.models.prediction import autocast, predict, to_device
from l2d_core.models.weights import copy_weights, unwrap
from l2d_core.surrogates import Surrogate
from l2d_core.training.augment import apply_moves, draw_moves
from l2d_core.training.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from l2d_core.training.optimizers import learning_rate_at
from l2d_core.training.setup import CaseNumbers, OnStep, TrainingJob, prepare

__all__ = ["EpochReport", "TrainingDiverged", "predict", "train"]

NAMED_CASES = 3

Weights = dict[str, Tensor]


class TrainingDiverged(ValueError):
    """A loss, a gradient or a logit was not finite; the message says where, and what may help."""


def train(
    model: nn.Module,
    surrogate: Surrogate,
    splits: Splits,
    config: RunConfig,
    *,
    device: str | torch.device,
    on_epoch: Callable[[EpochReport], bool | None] | None = None,
    on_step: OnStep | None = None,
    checkpoint: str | os.PathLike | None = None,
    numbers: CaseNumbers | None = None,
) -> list[EpochReport]:
    """Train the model on splits.train; gives a report an epoch, and leaves the best model on the device.

    The best weights are those of the epoch with the lowest loss on splits.validation, or those that came in where
    no epoch was finished. The model has them on every way out: all epochs done, no lower loss for config.patience
    epochs, stopped, interrupted, failed.

    model: (B, ...) -> (B, K+J). Of the config the dataset and the model are not read: they come in made.
    on_epoch gets each report; on_step the number of steps done, and of all. Where one of them returns False
    training stops; an epoch that on_step breaks off is not reported.
    checkpoint: a file, written after each epoch; where it exists training goes on after its last epoch, on the
    CPU to the same bits as if it had never been interrupted.
    numbers: what a loss is told of each case beside its label, for one that has a `Surrogate.number`.

    ValueError where the arguments do not fit together, or the checkpoint is damaged or of another run;
    TrainingDiverged, a ValueError, where a number is not finite; OSError where a checkpoint cannot be written.
    """
    model, device = unwrap(model), torch.device(device)
    with _own_torch_state(device):
        job = prepare(model, surrogate, splits, config, device, on_step, numbers)
        history, best = _resume(job, checkpoint)
        try:
            while not has_ended(history, config):
                report = _run_epoch(job, len(history) + 1)
                if report is None:
                    break
                history.append(report)
                if _best_epoch(history) == report.epoch:
                    best = copy_weights(model)
                if checkpoint is not None:
                    _save(job, checkpoint, history, best)
                if on_epoch is not None and on_epoch(report) is False:
                    break
        finally:
            model.load_state_dict(best)
    return history


@contextmanager
def _own_torch_state(device: torch.device) -> Iterator[None]:
    """Let cuDNN search for fast kernels, and layers draw random numbers, without a trace after training."""
    cuda = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
    searches = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        with torch.random.fork_rng(devices=cuda):
            yield
    finally:
        torch.backends.cudnn.benchmark = searches


def _resume(job: TrainingJob, checkpoint: str | os.PathLike | None) -> tuple[list[EpochReport], Weights]:
    """The history and the best weights so far; model and optimiser are as after the last epoch."""
    if checkpoint is None or not Path(checkpoint).exists():
        return [], copy_weights(job.model)
    saved = load_checkpoint(checkpoint, job.settings)
    try:
        for weights in (saved.best_weights, saved.weights):
            job.model.load_state_dict(weights)
        job.optimizer.load_state_dict(saved.optimizer)
    except (RuntimeError, ValueError, KeyError) as problem:
        reason = " ".join(str(problem).split())
        raise ValueError(
            f"the checkpoint {checkpoint} is of another network, use another folder: {reason}"
        ) from problem
    return saved.history, saved.best_weights


def _save(job: TrainingJob, path: str | os.PathLike, history: list[EpochReport], best: Weights) -> None:
    is_best = _best_epoch(history) == len(history)
    save_checkpoint(
        path,
        Checkpoint(
            settings=job.settings,
            history=history,
            weights=best if is_best else job.model.state_dict(),  # the same tensors take room only once
            best_weights=best,
            optimizer=job.optimizer.state_dict(),
        ),
    )


def _best_epoch(history: Sequence[EpochReport]) -> int:
    """The epoch with the lowest validation loss, the first of equals; 0 if there is none."""
    return min(history, key=lambda report: report.validation_loss).epoch if history else 0


def has_ended(history: Sequence[EpochReport], config: RunConfig) -> bool:
    """Whether a training with these epochs behind it is over: all are done, or patience is out."""
    is_out_of_patience = config.patience is not None and len(history) - _best_epoch(history) >= config.patience
    return len(history) >= config.epochs or is_out_of_patience


def _run_epoch(job: TrainingJob, epoch: int) -> EpochReport | None:
    """Train for an epoch and validate; None where on_step stops it."""
    config, start = job.config, time.perf_counter()
    torch.manual_seed(_generator(job, "layers", epoch).initial_seed())  # dropout knows no generator of its own
    train_loss = _descend(job, epoch)
    if train_loss is None:
        return None
    trained = time.perf_counter()
    validation_loss, metrics = _validate(job, epoch)
    return EpochReport(
        epoch=epoch,
        train_loss=train_loss,
        validation_loss=validation_loss,
        **metrics,
        learning_rate=learning_rate_at(config, epoch * len(job.sizes) - 1, len(job.sizes)),
        images_per_second=len(job.labels) / (trained - start),
        seconds=time.perf_counter() - start,
        reference=config.reference,
    )


def _descend(job: TrainingJob, epoch: int) -> float | None:
    """Take the steps of an epoch; gives the mean loss of a case, or None where on_step stops."""
    order = torch.randperm(len(job.labels), generator=_generator(job, "batches", epoch))
    moves = draw_moves(job.config.augment, len(order), generator=_generator(job, "augmentation", epoch))
    correct = (_answers(job, job.splits.train, "answers", epoch) == job.splits.train.labels[:, None]).to(job.device)
    numbers = torch.zeros(len(job.sizes), 2, device=job.device)  # of each step the loss and the gradient's norm
    job.model.train()
    batches = zip(order.to(job.device).split(job.sizes), moves.to(job.device).split(job.sizes), strict=True)
    for batch, (rows, batch_moves) in enumerate(batches):
        done = (epoch - 1) * len(job.sizes) + batch
        rate = learning_rate_at(job.config, done, len(job.sizes))
        numbers[batch] = _step(job, rows, batch_moves, correct.index_select(0, rows), rate)
        if (batch + 1) % _steps_a_look(job.device) == 0 or batch + 1 == len(job.sizes):
            _require_finite(job, epoch, order, numbers[: batch + 1])
        if job.on_step is not None and job.on_step(done + 1, job.total_steps) is False:
            return None
    return float(numbers[:, 0].cpu().double() @ torch.tensor(job.sizes, dtype=torch.float64)) / len(order)


def _step(job: TrainingJob, rows: Tensor, moves: Tensor, correct: Tensor, rate: float) -> Tensor:
    """One step of the optimiser; gives the loss and the norm of its gradient, (2,), where they are computed."""
    config = job.config
    images = to_device(job.inputs.index_select(0, rows), job.device, channels_last=False)
    if config.augment != "none":
        images = apply_moves(images, moves)
    with autocast(job.device, config.precision):
        logits = job.forward(to_device(images, job.device, config.channels_last))
    weights = None if job.weights is None else job.weights.index_select(0, rows)
    told = None if job.numbers is None else job.numbers.index_select(0, rows)
    labels = job.labels.index_select(0, rows)
    loss = _mean_loss(job, logits.float(), labels, correct, weights, told, job.surrogate.loss)
    job.optimizer.zero_grad(set_to_none=True)
    loss.backward()
    slopes = [parameter.grad for parameter in job.model.parameters() if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(slopes)
    for group in job.optimizer.param_groups:
        group["lr"] = rate
    job.optimizer.step()
    return torch.stack([loss.detach(), norm])


def _mean_loss(
    job: TrainingJob,
    logits: Tensor,
    labels: Tensor,
    correct: Tensor,
    weights: Tensor | None,
    numbers: Tensor | None,
    case_loss: Callable[..., Tensor],
) -> Tensor:
    """In nats; with the reference's settings in bits, as its authors took logarithms to the base 2."""
    told = {} if numbers is None else {"number": numbers}
    loss = case_loss(logits, labels, correct, **told, **job.config.surrogate_options)
    loss = loss.mean() if weights is None else (weights * loss).mean()
    return loss / math.log(2) if job.config.reference else loss


def _validate(job: TrainingJob, epoch: int) -> tuple[float, dict[str, float | None]]:
    """The loss over all validation cases, and their metrics, in evaluation mode."""
    config, data = job.config, job.splits.validation
    logits = predict(
        job.model,
        data.inputs,
        batch_size=config.batch_size,
        device=job.device,
        precision=config.precision,
        channels_last=config.channels_last,
        batch_statistics=config.reference,
    )
    if not logits.isfinite().all():
        raise TrainingDiverged(f"validation logits are not finite after epoch {epoch}. {_advice(config)}")
    answers = _answers(job, data, "validation answers", epoch) if config.reference else data.answers
    correct, case_loss = answers == data.labels[:, None], job.surrogate.validation_loss or job.surrogate.loss
    loss = _mean_loss(job, logits, data.labels, correct, None, job.validation_numbers, case_loss)
    return float(loss), validation_metrics(logits, data, answers, job.surrogate.name)


def _answers(job: TrainingJob, data: DeferralData, purpose: str, epoch: int) -> Tensor:
    """The experts' answers (N, J): the recorded ones, or new ones of this epoch.

    A case is in one batch of an epoch, so that to draw for an epoch is to draw for each batch.
    """
    if job.confusion is None:
        return data.answers
    return sample_answers(job.confusion, data.labels, generator=_generator(job, purpose, epoch))[:, None]


def _generator(job: TrainingJob, purpose: str, epoch: int) -> torch.Generator:
    """Its own for each purpose and epoch, so that an epoch is the same whether or not training paused before it."""
    return torch_generator(job.config.seed, f"{purpose} of epoch {epoch}")


def _steps_a_look(device: torch.device) -> int:
    """After how many steps to look whether they were finite: on an accelerator one has to wait for them to be done."""
    return 1 if device.type == "cpu" else 50


def _require_finite(job: TrainingJob, epoch: int, order: Tensor, numbers: Tensor) -> None:
    """Raise TrainingDiverged at the first step of this epoch whose loss or gradient is not finite."""
    finite = numbers.isfinite()
    if finite.all():
        return
    batch = int((~finite).any(dim=1).nonzero()[0])
    what, value = ("gradient", numbers[batch, 1]) if finite[batch, 0] else ("loss", numbers[batch, 0])
    rows = order.split(job.sizes)[batch][:NAMED_CASES].tolist()
    cases = ", ".join(str(job.splits.train.ids[row]) for row in rows)
    raise TrainingDiverged(
        f"the {what} is {float(value)} at step {(epoch - 1) * len(job.sizes) + batch + 1} (epoch {epoch}, batch "
        f"{batch + 1} of {len(job.sizes)}, with the cases {cases}, ...). {_advice(job.config)}"
    )


def _advice(config: RunConfig) -> str:
    return (
        f"Training has stopped, and the model has the best weights from before. Lower learning_rate, now "
        f"{config.learning_rate:g}, or warm up for longer; if it stops in the very first steps, look at the inputs"
    )
