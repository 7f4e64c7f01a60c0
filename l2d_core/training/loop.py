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
from l2d_core.training.setup import CaseNumbers, OnStep, TrainingSetup, prepare

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
    """Train the model on splits.train; gives one report per epoch, and leaves the best model on the device.

    The best weights are those of the epoch with the lowest loss on splits.validation, or those that came in where
    no epoch was finished. The model has them on every way out: all epochs done, no lower loss for config.patience
    epochs, stopped, interrupted, failed.

    model: (B, ...) -> (B, K+J). Of the config the dataset and the model are not read: they come in made.
    on_epoch gets each report; on_step the number of steps done, and of all. Where one of them returns False
    training stops; an epoch that on_step breaks off is not reported.
    checkpoint: a file, written after each epoch; where it exists training goes on after its last epoch, on the
    CPU to the same bits as if it had never been interrupted.
    numbers: a further number per case, for a loss that takes one (`Surrogate.number`).

    ValueError where the arguments do not fit together, or the checkpoint is damaged or of another run;
    TrainingDiverged, a ValueError, where a number is not finite; OSError where a checkpoint cannot be written.
    """
    model, device = unwrap(model), torch.device(device)
    with _own_torch_state(device):
        setup = prepare(model, surrogate, splits, config, device=device, on_step=on_step, numbers=numbers)
        history, best = _resume(setup, checkpoint)
        try:
            while not has_ended(history, config):
                report = _run_epoch(setup, len(history) + 1)
                if report is None:
                    break
                history.append(report)
                if _best_epoch(history) == report.epoch:
                    best = copy_weights(model)
                if checkpoint is not None:
                    _save(setup, checkpoint, history, best)
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


def _resume(setup: TrainingSetup, checkpoint: str | os.PathLike | None) -> tuple[list[EpochReport], Weights]:
    """The history and the best weights so far; model and optimiser are as after the last epoch."""
    if checkpoint is None or not Path(checkpoint).exists():
        return [], copy_weights(setup.model)
    saved = load_checkpoint(checkpoint, setup.settings)
    try:
        for weights in (saved.best_weights, saved.weights):
            setup.model.load_state_dict(weights)
        setup.optimizer.load_state_dict(saved.optimizer)
    except (RuntimeError, ValueError, KeyError) as problem:
        reason = " ".join(str(problem).split())
        raise ValueError(
            f"the checkpoint {checkpoint} is of another network, use another folder: {reason}"
        ) from problem
    return saved.history, saved.best_weights


def _save(setup: TrainingSetup, path: str | os.PathLike, history: list[EpochReport], best: Weights) -> None:
    is_best = _best_epoch(history) == len(history)
    save_checkpoint(
        path,
        Checkpoint(
            settings=setup.settings,
            history=history,
            weights=best if is_best else setup.model.state_dict(),  # the same tensors take room only once
            best_weights=best,
            optimizer=setup.optimizer.state_dict(),
        ),
    )


def _best_epoch(history: Sequence[EpochReport]) -> int:
    """The epoch with the lowest validation loss, the first of equals; 0 if there is none."""
    return min(history, key=lambda report: report.validation_loss).epoch if history else 0


def has_ended(history: Sequence[EpochReport], config: RunConfig) -> bool:
    """Whether a training with these epochs behind it is over: all are done, or patience is out."""
    is_out_of_patience = config.patience is not None and len(history) - _best_epoch(history) >= config.patience
    return len(history) >= config.epochs or is_out_of_patience


def _run_epoch(setup: TrainingSetup, epoch: int) -> EpochReport | None:
    """Train for an epoch and validate; None where on_step stops it."""
    config, start = setup.config, time.perf_counter()
    torch.manual_seed(_generator(setup, "layers", epoch).initial_seed())  # dropout draws from the global generator
    train_loss = _descend(setup, epoch)
    if train_loss is None:
        return None
    trained = time.perf_counter()
    validation_loss, metrics = _validate(setup, epoch)
    return EpochReport(
        epoch=epoch,
        train_loss=train_loss,
        validation_loss=validation_loss,
        **metrics,
        learning_rate=learning_rate_at(config, epoch * len(setup.sizes) - 1, len(setup.sizes)),
        images_per_second=len(setup.labels) / (trained - start),
        seconds=time.perf_counter() - start,
        reference=config.reference,
    )


def _descend(setup: TrainingSetup, epoch: int) -> float | None:
    """Take the steps of an epoch; gives the mean loss per case, or None where on_step stops."""
    order = torch.randperm(len(setup.labels), generator=_generator(setup, "batches", epoch))
    moves = draw_moves(setup.config.augment, len(order), generator=_generator(setup, "augmentation", epoch))
    answers = _answers(setup, setup.splits.train, "answers", epoch)
    correct = (answers == setup.splits.train.labels[:, None]).to(setup.device)
    steps = torch.zeros(len(setup.sizes), 2, device=setup.device)  # the loss and the gradient's norm of each step
    setup.model.train()
    batches = zip(order.to(setup.device).split(setup.sizes), moves.to(setup.device).split(setup.sizes), strict=True)
    for batch, (rows, batch_moves) in enumerate(batches):
        done = (epoch - 1) * len(setup.sizes) + batch
        rate = learning_rate_at(setup.config, done, len(setup.sizes))
        steps[batch] = _step(setup, rows, batch_moves, correct.index_select(0, rows), rate)
        if (batch + 1) % _steps_per_check(setup.device) == 0 or batch + 1 == len(setup.sizes):
            _require_finite(setup, epoch, order, steps[: batch + 1])
        if setup.on_step is not None and setup.on_step(done + 1, setup.total_steps) is False:
            return None
    return float(steps[:, 0].cpu().double() @ torch.tensor(setup.sizes, dtype=torch.float64)) / len(order)


def _step(setup: TrainingSetup, rows: Tensor, moves: Tensor, correct: Tensor, rate: float) -> Tensor:
    """One step of the optimiser; gives the loss and the norm of its gradient, (2,), where they are computed."""
    config = setup.config
    images = to_device(setup.inputs.index_select(0, rows), setup.device, channels_last=False)
    if config.augment != "none":
        images = apply_moves(images, moves)
    with autocast(setup.device, config.precision):
        logits = setup.forward(to_device(images, setup.device, config.channels_last))
    weights = None if setup.weights is None else setup.weights.index_select(0, rows)
    options = setup.loss_options(None if setup.numbers is None else setup.numbers.index_select(0, rows))
    losses = setup.surrogate.loss(logits.float(), setup.labels.index_select(0, rows), correct, **options)
    loss = _mean_loss(losses, config, weights)
    setup.optimizer.zero_grad(set_to_none=True)
    loss.backward()
    slopes = [parameter.grad for parameter in setup.model.parameters() if parameter.grad is not None]
    norm = torch.nn.utils.get_total_norm(slopes)
    for group in setup.optimizer.param_groups:
        group["lr"] = rate
    setup.optimizer.step()
    return torch.stack([loss.detach(), norm])


def _mean_loss(losses: Tensor, config: RunConfig, weights: Tensor | None = None) -> Tensor:
    """In nats; with the reference's settings in bits, as its authors took logarithms to the base 2."""
    mean = (losses if weights is None else weights * losses).mean()
    return mean / math.log(2) if config.reference else mean


def _validate(setup: TrainingSetup, epoch: int) -> tuple[float, dict[str, float | None]]:
    """The loss over all validation cases, and their metrics, in evaluation mode."""
    config, data = setup.config, setup.splits.validation
    logits = predict(
        setup.model,
        data.inputs,
        batch_size=config.batch_size,
        device=setup.device,
        precision=config.precision,
        channels_last=config.channels_last,
        batch_statistics=config.reference,
    )
    if not logits.isfinite().all():
        raise TrainingDiverged(f"validation logits are not finite after epoch {epoch}. {_advice(config)}")
    answers = _answers(setup, data, "validation answers", epoch) if config.reference else data.answers
    correct, case_loss = answers == data.labels[:, None], setup.surrogate.validation_loss or setup.surrogate.loss
    losses = case_loss(logits, data.labels, correct, **setup.loss_options(setup.validation_numbers))
    return float(_mean_loss(losses, config)), validation_metrics(logits, data, answers, setup.surrogate.name)


def _answers(setup: TrainingSetup, data: DeferralData, purpose: str, epoch: int) -> Tensor:
    """The experts' answers (N, J): the recorded ones, or new ones of this epoch.

    A case is in one batch of an epoch, so that to draw for an epoch is to draw for each batch.
    """
    if setup.confusion is None:
        return data.answers
    return sample_answers(setup.confusion, data.labels, generator=_generator(setup, purpose, epoch))[:, None]


def _generator(setup: TrainingSetup, purpose: str, epoch: int) -> torch.Generator:
    """One for each purpose and epoch, so that an epoch is the same whether or not training paused before it."""
    return torch_generator(setup.config.seed, f"{purpose} of epoch {epoch}")


def _steps_per_check(device: torch.device) -> int:
    """How many steps to take between checks that they are finite: on an accelerator each check waits for the steps."""
    return 1 if device.type == "cpu" else 50


def _require_finite(setup: TrainingSetup, epoch: int, order: Tensor, steps: Tensor) -> None:
    """Raise TrainingDiverged at the first step of this epoch whose loss or gradient is not finite."""
    finite = steps.isfinite()
    if finite.all():
        return
    batch = int((~finite).any(dim=1).nonzero()[0])
    what, value = ("gradient", steps[batch, 1]) if finite[batch, 0] else ("loss", steps[batch, 0])
    rows = order.split(setup.sizes)[batch][:NAMED_CASES].tolist()
    cases = ", ".join(str(setup.splits.train.ids[row]) for row in rows)
    raise TrainingDiverged(
        f"the {what} is {float(value)} at step {(epoch - 1) * len(setup.sizes) + batch + 1} (epoch {epoch}, batch "
        f"{batch + 1} of {len(setup.sizes)}, with the cases {cases}, ...). {_advice(setup.config)}"
    )


def _advice(config: RunConfig) -> str:
    return (
        f"Training has stopped, and the model has the best weights from before. Lower learning_rate, now "
        f"{config.learning_rate:g}, or warm up for longer; if it stops in the very first steps, look at the inputs"
    )
