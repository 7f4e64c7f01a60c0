"""A training of a few milliseconds an epoch, for tests; as a script, it trains in processes that can be killed."""

import os
import sys
from dataclasses import replace

import torch
from torch import nn

from l2d_core.config import ExpertConfig, RunConfig
from l2d_core.data import DeferralData, Splits
from l2d_core.experts.simulated import per_class, sample_answers
from l2d_core.models.head import Float32Linear
from l2d_core.surrogates import SURROGATES
from l2d_core.training.loop import train

NAMES = ("left", "middle", "right")
EXPERT = ExpertConfig(accuracy=(0.9, 0.5, 0.2))
CONFIG = RunConfig(
    dataset="made", model="tiny", expert=EXPERT, epochs=4, batch_size=16, learning_rate=0.05, precision="float32"
)


def tiny_data(num_cases=50, seed=0, size=8):
    """Noise, brighter in the third of the image that its class names; answers of EXPERT."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(3, (num_cases,), generator=generator)
    images = torch.randn(num_cases, 3, size, size, generator=generator)
    for row, label in enumerate(labels.tolist()):
        images[row, :, :, label * size // 3 : (label + 1) * size // 3] += 1
    answers = sample_answers(per_class(EXPERT.accuracy), labels, generator=generator)[:, None]
    ids = [f"case {row}" for row in range(num_cases)]
    return DeferralData(images, labels, answers, ids, NAMES)


def tiny_splits(num_train=50):
    return Splits(tiny_data(num_train), tiny_data(30, seed=1), tiny_data(5, seed=2))


def tiny_model(seed=0, dropout=0.0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1, bias=False),
            nn.BatchNorm2d(6),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d((1, 3)),
            nn.Flatten(),
            nn.Dropout(dropout),
            Float32Linear(18, 4),
        )


def run(config=CONFIG, *, model=None, splits=None, **arguments):
    """Train anew; gives the model and the history. Keyword arguments as in `train`."""
    model = tiny_model() if model is None else model
    splits = tiny_splits() if splits is None else splits
    history = train(model, SURROGATES[config.surrogate], splits, config, device="cpu", **arguments)
    return model, history


def stop_after(epoch):
    """An on_epoch that stops training after so many epochs."""
    return lambda report: report.epoch < epoch


def without_times(history):
    """The reports without what the clock says."""
    return [replace(report, images_per_second=0.0, seconds=0.0) for report in history]


def same_bits(model, other):
    """Whether two models have equal parameters and buffers."""
    mine, theirs = model.state_dict(), other.state_dict()
    return mine.keys() == theirs.keys() and all(torch.equal(mine[name], theirs[name]) for name in mine)


LONG = replace(CONFIG, epochs=50, patience=None, optimizer="adamw", learning_rate=0.01)


def serve(checkpoint):
    """For each line that comes in, train in a new process, say its number, and wait for its end."""
    import torch._dynamo

    torch.set_num_threads(1)
    for _ in sys.stdin:
        process = os.fork()
        if process == 0:
            run(LONG, model=tiny_model(dropout=0.3), checkpoint=checkpoint)
            os._exit(0)
        print(process, flush=True)
        print(os.waitpid(process, 0)[1], flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
