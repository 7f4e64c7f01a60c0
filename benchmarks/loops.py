"""Two loops that train the same network on the same cases, and how many images per second each takes.

The engine is `l2d_core.training.loop.train`, as a run uses it. The plain loop is what such code most often looks like:
float32, channels first, a DataLoader, an expert that is asked case by case in Python.
"""

import random
import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from l2d_core.config import RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.experts.simulated import expert_confusion, sample_answers
from l2d_core.models import make_model
from l2d_core.surrogates import SURROGATES
from l2d_core.training.loop import train

IMAGE_SHAPE = (3, 32, 32)
CLASS_NAMES = tuple(f"class {k}" for k in range(10))
NUM_OUTPUTS = len(CLASS_NAMES) + 1


def made_splits(config: RunConfig, num_train: int, num_other: int) -> Splits:
    """Noise in the shape of CIFAR-10's images, with random labels: it takes a loop as long as photographs do."""
    generator = torch.Generator().manual_seed(0)
    confusion = expert_confusion(config.expert, len(CLASS_NAMES))

    def part(name: str, num_cases: int) -> DeferralData:
        images = torch.randn(num_cases, *IMAGE_SHAPE, generator=generator)
        labels = torch.randint(len(CLASS_NAMES), (num_cases,), generator=generator)
        answers = sample_answers(confusion, labels, generator=generator)[:, None]
        return DeferralData(images, labels, answers, [f"{name}/{row}" for row in range(num_cases)], CLASS_NAMES)

    return Splits(part("train", num_train), part("validation", num_other), part("test", num_other))


def engine_speed(config: RunConfig, splits: Splits, device: torch.device, *, warm_up: int, steps: int) -> float:
    """Images per second over `steps` steps of the engine, after `warm_up` steps."""
    clock = _Clock(device, warm_up, warm_up + steps)
    model = make_model(config.model, NUM_OUTPUTS, IMAGE_SHAPE, seed=0, options=config.model_options)
    train(model, SURROGATES[config.surrogate], splits, config, device=device, on_step=lambda done, _: clock.tick(done))
    return steps * config.batch_size / clock.seconds


def plain_speed(config: RunConfig, splits: Splits, device: torch.device, *, warm_up: int, steps: int) -> float:
    """Images per second over `steps` steps of the plain loop, after `warm_up` steps."""
    clock = _Clock(device, warm_up, warm_up + steps)
    model = make_model(config.model, NUM_OUTPUTS, IMAGE_SHAPE, seed=0, options=config.model_options).to(device).train()
    optimizer = torch.optim.SGD(model.parameters(), config.learning_rate, config.momentum, nesterov=True)
    cases = TensorDataset(splits.train.inputs, splits.train.labels)
    loader = DataLoader(cases, batch_size=config.batch_size, shuffle=True, drop_last=True)
    done = 0
    while True:
        for images, labels in loader:
            _plain_step(model, optimizer, config, images.to(device), labels.to(device))
            done += 1
            if not clock.tick(done):
                return steps * config.batch_size / clock.seconds


def _plain_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, config: RunConfig, images: Tensor, labels: Tensor
) -> None:
    correct = torch.tensor([[_ask(int(label), config.expert.accuracy)] for label in labels], device=labels.device)
    loss = SURROGATES[config.surrogate].loss(model(images), labels, correct).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    loss.item()  # for a running mean, as such loops print it


def _ask(label: int, accuracy: tuple[float, ...]) -> bool:
    """Whether the expert is right on this case."""
    return random.random() < accuracy[label]


class _Clock:
    """The time between two steps, with all of the device's work done at both."""

    def __init__(self, device: torch.device, first: int, last: int) -> None:
        self._device, self._first, self._last = device, first, last
        self._start = time.perf_counter()
        self.seconds = 0.0

    def tick(self, done: int) -> bool:
        """Note that so many steps are done; whether to go on."""
        if done == self._first:
            self._start = self._now()
        if done == self._last:
            self.seconds = self._now() - self._start
        return done < self._last

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()
