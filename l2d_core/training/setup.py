"""The setup of a training: model, data and settings, checked and moved to the device before the first epoch."""

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float32, Int
from torch import Tensor, nn

from l2d_core.common.checks import require_known
from l2d_core.config import CLASS_WEIGHTS, RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.experts.simulated import expert_confusion
from l2d_core.models.prediction import autocast, batch_sizes, predict, to_device
from l2d_core.models.weights import copy_weights
from l2d_core.surrogates import Surrogate, check_option_values
from l2d_core.training.optimizers import make_optimizer

_POWERS = {"none": 0.0, "sqrt": -0.5, "balanced": -1.0}  # of a class's number of cases
OnStep = Callable[[int, int], bool | None]


@dataclass(frozen=True)
class CaseNumbers:
    """One number per training and validation case, for a loss that takes more than label and answers; float32, (N,)."""

    train: Tensor
    validation: Tensor


@dataclass(frozen=True)
class TrainingSetup:
    """A model and everything its epochs need; inputs and labels are those of the training split, on the device.

    forward: the model, compiled where the config says so. confusion: the matrix of an expert whose
    answers are redrawn, else None. weights: factor of each training case's loss, on the device, or None for 1.
    numbers: of the training cases, on the device, or None; validation_numbers: of the validation cases, on the CPU.
    sizes: of the batches of an epoch. settings: those a checkpoint must match. on_step: as in `train`.
    """

    model: nn.Module
    forward: Callable[[Tensor], Tensor]
    optimizer: torch.optim.Optimizer
    surrogate: Surrogate
    splits: Splits
    config: RunConfig
    device: torch.device
    confusion: Tensor | None
    inputs: Tensor
    labels: Tensor
    weights: Tensor | None
    numbers: Tensor | None
    validation_numbers: Tensor | None
    sizes: list[int]
    settings: dict[str, Any]
    on_step: OnStep | None

    @property
    def total_steps(self) -> int:
        """Steps of all epochs."""
        return self.config.epochs * len(self.sizes)

    def loss_options(self, number: Tensor | None) -> dict[str, Any]:
        """The keyword arguments of the loss; number (N,): what it takes for each case, or None."""
        return {**self.config.surrogate_options, **({} if number is None else {"number": number})}


def prepare(
    model: nn.Module,
    surrogate: Surrogate,
    splits: Splits,
    config: RunConfig,
    *,
    device: torch.device,
    on_step: OnStep | None = None,
    numbers: CaseNumbers | None = None,
) -> TrainingSetup:
    """Check that model, data and settings fit together, and move them to the device. ValueError names what does not."""
    train = splits.train
    _check_surrogate(surrogate, config)
    _check_splits(splits, config)
    _check_numbers(surrogate, splits, numbers)
    _check_outputs(model, train, device)
    if config.channels_last and train.inputs.ndim == 4:
        model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    inputs = _to_stay(train.inputs, device)
    sizes = batch_sizes(len(inputs), config.batch_size)
    return TrainingSetup(
        model=model,
        forward=_compiled(model, inputs[: sizes[0]], config) if config.compile else model,
        optimizer=make_optimizer(config, model.parameters()),
        surrogate=surrogate,
        splits=splits,
        config=config,
        device=device,
        confusion=expert_confusion(config.expert, len(train.class_names)) if config.redraws else None,
        inputs=inputs,
        labels=train.labels.to(device),
        weights=None if config.class_weights == "none" else case_weights(config.class_weights, train.labels).to(device),
        numbers=None if numbers is None else numbers.train.to(device),
        validation_numbers=None if numbers is None else numbers.validation,
        sizes=sizes,
        settings=_run_settings(config, splits, numbers),
        on_step=on_step,
    )


def case_weights(rule: str, labels: Int[Tensor, " N"]) -> Float32[Tensor, " N"]:
    """One weight per case: n^p, for the n cases of its class, and p of 0 ("none"), -1/2 ("sqrt") or -1 ("balanced").

    Scaled to a mean of 1 over the cases, so that the size of the gradient, and the learning rate, stay as they are.
    labels (N,) integer, at least 0. ValueError on another rule.
    """
    require_known("class_weights", rule, CLASS_WEIGHTS)
    weights = torch.bincount(labels)[labels].double() ** _POWERS[rule]
    return (weights / weights.mean()).float()


def _run_settings(config: RunConfig, splits: Splits, numbers: CaseNumbers | None) -> dict[str, Any]:
    """What decides a run, as plain values: the config, and a digest of the cases, their labels and their answers."""
    digest = hashlib.sha256()
    for data in (splits.train, splits.validation):
        digest.update(repr((tuple(data.inputs.shape), data.class_names, data.expert_names)).encode())
        digest.update("\n".join(map(str, data.ids)).encode())
        digest.update(data.labels.numpy().tobytes() + data.answers.numpy().tobytes())
    if numbers is not None:
        digest.update(numbers.train.numpy().tobytes() + numbers.validation.numpy().tobytes())
    settings = asdict(config)
    for name, default in _ADDED_LATER.items():
        if settings[name] == default:
            del settings[name]
    return {**settings, "data": digest.hexdigest()}


# Settings added later, with the values that stand for how older checkpoints were made.
_ADDED_LATER = {"class_weights": "none", "random_labels": False}


def _to_stay(inputs: Tensor, device: torch.device) -> Tensor:
    """Inputs on the device for the whole training; those in half precision stay so, which takes half the memory."""
    return inputs.to(device) if inputs.dtype == torch.float16 else to_device(inputs, device, channels_last=False)


def _check_surrogate(surrogate: Surrogate, config: RunConfig) -> None:
    if surrogate.name != config.surrogate:
        raise ValueError(f"surrogate must be the config's, {config.surrogate!r}, got {surrogate.name!r}")
    for option in config.surrogate_options:
        if option not in surrogate.options:
            known = ", ".join(surrogate.options) or "none"
            raise ValueError(f"surrogate {surrogate.name!r} has no option {option!r}; it has {known}")
    check_option_values(surrogate, config.surrogate_options)


def _check_splits(splits: Splits, config: RunConfig) -> None:
    train, validation = splits.train, splits.validation
    for name in ("class_names", "expert_names"):
        if getattr(train, name) != getattr(validation, name):
            raise ValueError(
                f"train and validation must share {name}, got {getattr(train, name)} and {getattr(validation, name)}"
            )
    shape = tuple(train.inputs.shape[1:])
    if shape != tuple(validation.inputs.shape[1:]):
        raise ValueError(
            f"train and validation inputs must have one shape, got {shape} and {tuple(validation.inputs.shape[1:])}"
        )
    if len(train) < 2:
        raise ValueError("train must hold at least 2 cases, got 1")
    if config.augment != "none" and len(shape) != 3:
        raise ValueError(f"augment must be 'none' for inputs that are no images (C, H, W), got shape {shape}")
    if config.redraws and len(train.expert_names) != 1:
        raise ValueError(f"redraw_answers and reference are for 1 expert, got {len(train.expert_names)}")


def _check_numbers(surrogate: Surrogate, splits: Splits, numbers: CaseNumbers | None) -> None:
    if (numbers is not None) != bool(surrogate.number):
        wanted = surrogate.number or "none"
        raise ValueError(f"numbers must be what {surrogate.name!r} takes for each case: {wanted}")
    for part in ("train", "validation") if numbers is not None else ():
        own, data = getattr(numbers, part), getattr(splits, part)
        if own.shape != (len(data),) or own.dtype != torch.float32 or not own.isfinite().all():
            raise ValueError(
                f"numbers.{part} must be finite float32, one for each of the {len(data)} cases, "
                f"got {own.dtype} of shape {tuple(own.shape)}"
            )


def _check_outputs(model: nn.Module, data: DeferralData, device: torch.device) -> None:
    """Try the model on two cases, rather than find out in the middle of an epoch."""
    width = len(data.class_names) + len(data.expert_names)
    try:
        shape = tuple(predict(model, data.inputs[:2], batch_size=2, device=device).shape)
    except RuntimeError as problem:
        reason = str(problem).splitlines()[0]
        raise ValueError(
            f"the model does not take inputs of shape {tuple(data.inputs.shape[1:])}: {reason}"
        ) from problem
    if shape != (2, width):
        raise ValueError(
            f"the model must give {width} logits per case, for {len(data.class_names)} classes and "
            f"{len(data.expert_names)} experts; it gave {shape} for 2 cases"
        )


def _compiled(model: nn.Module, batch: Tensor, config: RunConfig) -> Callable[[Tensor], Tensor]:
    """The model compiled, and tried on one batch; where that fails, the model as it is, with a warning."""
    weights = copy_weights(model)
    model.train()
    try:
        compiled = torch.compile(model)
        with autocast(batch.device, config.precision):
            logits = compiled(to_device(batch, batch.device, config.channels_last))
        logits.float().sum().backward()
        return compiled
    except Exception as problem:  # each backend fails with errors of its own
        reason = str(problem).splitlines()[0] if str(problem) else ""
        warnings.warn(
            f"torch.compile failed, so training goes on without it, more slowly: {type(problem).__name__}: {reason}",
            stacklevel=4,
        )
        return model
    finally:
        model.zero_grad(set_to_none=True)
        model.load_state_dict(weights)
