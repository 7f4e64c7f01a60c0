"""Training of an expert network, a classifier of images and metadata, with the same parts as that of systems."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from l2d_core.common.seeds import torch_generator
from l2d_core.config import RunConfig
from l2d_core.models.mixer_expert import MixerExpert
from l2d_core.models.prediction import autocast, batch_sizes, predict, to_device
from l2d_core.models.weights import copy_weights
from l2d_core.training.augment import apply_moves, draw_moves
from l2d_core.training.optimizers import learning_rate_at, make_optimizer


@dataclass(frozen=True)
class ExpertCases:
    """images (N, 3, H, W) in any floating type, metadata (N, M) float32, labels (N,) int64, all on the CPU."""

    images: Tensor
    metadata: Tensor
    labels: Tensor

    def subset(self, rows: np.ndarray) -> "ExpertCases":
        """The cases at `rows`, in that order."""
        index = torch.as_tensor(rows)
        return ExpertCases(self.images[index], self.metadata[index], self.labels[index])


@dataclass(frozen=True)
class ExpertEpoch:
    """An epoch, counted from 1: mean losses in nats, and the accuracy on validation cases."""

    epoch: int
    train_loss: float
    validation_loss: float
    validation_accuracy: float
    seconds: float


OnEpoch = Callable[[ExpertEpoch], None]


def fit(
    network: MixerExpert,
    train: ExpertCases,
    validation: ExpertCases,
    config: RunConfig,
    *,
    device: torch.device,
    on_epoch: OnEpoch = lambda report: None,
) -> list[ExpertEpoch]:
    """Train by cross-entropy; the network ends on the device with the weights of the lowest validation loss.

    Of the config, epochs, batch_size, patience, optimizer, schedule, augment, precision and seed are used. The same
    seed gives the same bits on the CPU.
    """
    network.to(device)
    optimizer = make_optimizer(config, network.parameters())
    history: list[ExpertEpoch] = []
    best, best_epoch = copy_weights(network), 0
    while len(history) < min(config.epochs, best_epoch + (config.patience or config.epochs)):
        start, epoch = time.perf_counter(), len(history) + 1
        train_loss = _descend(network, optimizer, train, config, epoch, device)
        logits = predict_logits(network, validation, device=device)
        loss = float(functional.cross_entropy(logits, validation.labels))
        accuracy = float((logits.argmax(1) == validation.labels).float().mean())
        if loss < min((report.validation_loss for report in history), default=torch.inf):
            best, best_epoch = copy_weights(network), epoch
        history.append(ExpertEpoch(epoch, train_loss, loss, accuracy, time.perf_counter() - start))
        on_epoch(history[-1])
    network.load_state_dict(best)
    return history


def predict_logits(network: MixerExpert, cases: ExpertCases, *, device: torch.device, batch_size: int = 256) -> Tensor:
    """Logits (N, K) of the network in evaluation mode and float32, on the CPU; labels are not used."""
    rows = torch.arange(len(cases.images))
    return predict(_OfRows(network, cases), rows, batch_size=batch_size, device=device, channels_last=False)


class _OfRows(nn.Module):
    """The network as a function of row numbers, since `predict` takes models with one input."""

    def __init__(self, network: MixerExpert, cases: ExpertCases) -> None:
        super().__init__()
        self.network, self.cases = network, cases

    def forward(self, rows: Tensor) -> Tensor:
        return self.network(*_take(self.cases, rows.cpu(), rows.device))


def _take(cases: ExpertCases, rows: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    images = to_device(cases.images.index_select(0, rows), device, channels_last=False)
    return images, to_device(cases.metadata.index_select(0, rows), device, channels_last=False)


def _descend(
    network: MixerExpert,
    optimizer: torch.optim.Optimizer,
    cases: ExpertCases,
    config: RunConfig,
    epoch: int,
    device: torch.device,
) -> float:
    """Take the steps of one epoch; returns the mean loss per case. ValueError where a loss is not finite."""
    sizes = batch_sizes(len(cases.labels), config.batch_size)
    order = torch.randperm(len(cases.labels), generator=torch_generator(config.seed, f"expert batches {epoch}"))
    generator = torch_generator(config.seed, f"expert augmentation {epoch}")
    moves = draw_moves(config.augment, len(order), generator=generator)
    total = 0.0
    network.train()
    for batch, (rows, batch_moves) in enumerate(zip(order.split(sizes), moves.split(sizes), strict=True)):
        images, metadata = _take(cases, rows, device)
        if config.augment != "none":
            images = apply_moves(images, batch_moves.to(device))
        with autocast(device, config.precision):
            logits = network(images, metadata)
        loss = functional.cross_entropy(logits, cases.labels[rows].to(device))
        if not loss.isfinite():
            raise ValueError(f"the expert's loss is {float(loss)} in epoch {epoch}: lower learning_rate")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate_at(config, (epoch - 1) * len(sizes) + batch, len(sizes))
        optimizer.step()
        total += float(loss.detach()) * len(rows)
    return total / len(order)
