"""What a GPU makes of it, in under 8 minutes: the same numbers as on the CPU? how fast? and the paper's first runs.

    python benchmarks/gpu.py --data-root DIR --out DIR [--minutes 8]
    python benchmarks/gpu.py --smoke --out DIR

First the CUDA path is compared with the CPU's: losses, one step of training, predictions. Then WRN-28-4 is timed
beside a plain loop. In what time is left it is trained on the paper's first experiment (CIFAR-10, the expert of the
authors' logged runs), with softmax and with one-vs-all, as the authors ran it: until no lower validation loss came for
20 epochs, or the time is up, with the best so far kept. The runs are where
`python -m l2d_core reproduce figure1 --scale paper --seeds 3 --out DIR` looks for them, and goes on with them.
The tables are in DIR/gpu.md; exits 1 where a target of the project is missed.

--smoke does all of it on the CPU, on made images and with a small network, to see that the script works.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

try:
    import torch
    from loops import IMAGE_SHAPE, NUM_OUTPUTS, engine_speed, made_splits, plain_speed
    from report import Targets, machine, markdown_table

    from l2d_core.common.environment import device_name
    from l2d_core.config import RunConfig
    from l2d_core.data import Splits
    from l2d_core.experiment import run_experiment
    from l2d_core.models import make_model
    from l2d_core.models.prediction import predict
    from l2d_core.reproductions.experiment import LOGGED
    from l2d_core.reproductions.request import WIDE_RESNET, Request
    from l2d_core.reproductions.trained import SURROGATES_COMPARED, network_configs, runs_folder
    from l2d_core.runs.cases import DATASETS, load_splits
    from l2d_core.runs.table import markdown_table as run_table
    from l2d_core.surrogates import SURROGATES
    from l2d_core.training.loop import train
except ImportError as problem:
    sys.exit(f"{problem}. Install the project first: pip install -r requirements.txt")

RESERVE_SECONDS = 25  # for scoring and saving
MIN_GAIN, MIN_SPEED = 6.0, 12_000
MAX_LOSS_DIFFERENCE = 1e-4
MAX_STEP_DIFFERENCE = 0.02  # of the size of the step: convolutions on a GPU are rounded to TensorFloat-32
MIN_AGREEMENT = 0.99


@dataclass(frozen=True)
class Plan:
    """What is measured, and on which device."""

    device: torch.device
    config: RunConfig
    steps: int
    plain_steps: int
    minutes: float
    is_smoke: bool


def full_plan(minutes: float) -> Plan:
    """On the GPU, with the paper's settings."""
    return Plan(torch.device("cuda"), WIDE_RESNET, steps=60, plain_steps=12, minutes=minutes, is_smoke=False)


def smoke_plan() -> Plan:
    """The same on the CPU in a few seconds; what it measures means nothing."""
    config = RunConfig(
        model="wide_resnet",
        model_options={"depth": 10, "width": 1},
        batch_size=64,
        learning_rate=0.1,
        schedule="cosine_warmup",
        augment="none",
        epochs=1,
    )
    return Plan(torch.device("cpu"), config, steps=3, plain_steps=2, minutes=0.5, is_smoke=True)


def loss_differences(plan: Plan) -> dict[str, float]:
    """The largest difference of a case's loss between CPU and device, for each surrogate."""
    generator = torch.Generator().manual_seed(0)
    logits = 5 * torch.randn(4096, NUM_OUTPUTS, generator=generator)
    labels = torch.randint(NUM_OUTPUTS - 1, (4096,), generator=generator)
    correct = torch.rand(4096, 1, generator=generator) < 0.5
    here = [logits, labels, correct]
    there = [tensor.to(plan.device) for tensor in here]
    return {name: float((one.loss(*here) - one.loss(*there).cpu()).abs().max()) for name, one in SURROGATES.items()}


def step_difference(plan: Plan, splits: Splits) -> float:
    """How far a step of training on the device ends from the same step on the CPU, as a share of the step's length."""
    size = plan.config.batch_size
    few = replace(splits, train=splits.train.subset(range(size)), validation=splits.validation.subset(range(8)))
    config = replace(plan.config, precision="float32", epochs=1)
    weights = [_weights_after(config, few, device) for device in (torch.device("cpu"), plan.device)]
    before = _flat(make_model(config.model, NUM_OUTPUTS, IMAGE_SHAPE, seed=0, options=config.model_options))
    return float((weights[0] - weights[1]).norm() / (weights[0] - before).norm())


def _weights_after(config: RunConfig, splits: Splits, device: torch.device) -> torch.Tensor:
    model = make_model(config.model, NUM_OUTPUTS, IMAGE_SHAPE, seed=0, options=config.model_options)
    train(model, SURROGATES[config.surrogate], splits, config, device=device)
    return _flat(model)


def _flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().cpu().double().flatten() for parameter in model.parameters()])


def agreement(run_folder: Path, splits: Splits, plan: Plan) -> float:
    """In which share of the test cases the trained network decides the same on the CPU as on the device."""
    from l2d_core.runs.folder import open_run

    model = open_run(run_folder).load_model()
    inputs = splits.test.inputs[:1000]
    here, there = (
        predict(model, inputs, batch_size=250, device=device).argmax(dim=1)
        for device in (torch.device("cpu"), plan.device)
    )
    return float((here == there).double().mean())


def measure_speed(plan: Plan) -> tuple[float, float]:
    """Images per second of the plain loop and of the engine, in batches of 256 as on the CPU."""
    config = replace(plan.config, batch_size=min(256, plan.config.batch_size))
    splits = made_splits(config, config.batch_size * (plan.steps + 4), 8)
    plain = plain_speed(config, splits, plan.device, warm_up=2, steps=plan.plain_steps)
    return plain, engine_speed(config, splits, plan.device, warm_up=4 if not plan.is_smoke else 1, steps=plan.steps)


def main() -> None:
    """Do all of it, print the tables as they come, and write them to gpu.md."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path, default=Path("data"), help="the folder that holds CIFAR-10")
    parser.add_argument("--out", type=Path, required=True, help="the folder for the runs and gpu.md")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--smoke", action="store_true")
    arguments = parser.parse_args()
    end = time.monotonic() + 60 * arguments.minutes
    if not arguments.smoke and not torch.cuda.is_available():
        sys.exit("there is no CUDA device; --smoke runs the script on the CPU")
    plan = smoke_plan() if arguments.smoke else full_plan(arguments.minutes)
    report = Report(arguments.out / "gpu.md")
    report.add(f"{machine('torch')}; device: {device_name(plan.device)}" + "; SMOKE" * plan.is_smoke)
    targets = Targets()
    if plan.is_smoke:
        DATASETS["cifar10"] = lambda _root, _seed: made_splits(plan.config, 256, 64)
    splits = load_splits(plan.config, arguments.data_root)
    _compare(plan, splits, report, targets)
    _time(plan, report, targets)
    _train(plan, splits, arguments, end - RESERVE_SECONDS, report, targets)
    report.add("\n".join(targets.lines))
    sys.exit(1 if targets.missed else 0)


class Report:
    """Prints what it is given, and keeps it in a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._parts = path, []

    def add(self, part: str) -> None:
        """One more table or line."""
        print(f"\n{part}", flush=True)
        self._parts.append(part)
        self._path.write_text("\n\n".join(self._parts) + "\n", encoding="utf-8")


def _compare(plan: Plan, splits: Splits, report: Report, targets: Targets) -> None:
    losses, step = loss_differences(plan), step_difference(plan, splits)
    rows = [[f"loss of a case, {name}, nats", f"{value:.1e}"] for name, value in losses.items()]
    rows.append(["weights after a step in float32, of the step's length", f"{step:.1e}"])
    report.add(markdown_table(["largest difference between CPU and device", ""], rows))
    worst = max(losses.values())
    targets.check(
        all(value <= MAX_LOSS_DIFFERENCE for value in losses.values()),
        f"losses differ by {worst:.1e}, at most {MAX_LOSS_DIFFERENCE}",
    )
    targets.check(step <= MAX_STEP_DIFFERENCE, f"a step differs by {step:.1e}, at most {MAX_STEP_DIFFERENCE}")


def _time(plan: Plan, report: Report, targets: Targets) -> None:
    plain, engine = measure_speed(plan)
    rows = [["plain loop", f"{plain:,.0f}"], ["engine", f"{engine:,.0f}"], ["**gain**", f"{engine / plain:.1f}"]]
    report.add(markdown_table([plan.config.model, "images/s"], rows))
    if not plan.is_smoke:
        targets.check(engine >= MIN_GAIN * plain, f"{engine / plain:.1f} times the plain loop, {MIN_GAIN} wanted")
        targets.check(engine >= MIN_SPEED, f"{engine:,.0f} images/s, {MIN_SPEED:,} wanted")


def _train(
    plan: Plan, splits: Splits, arguments: argparse.Namespace, end: float, report: Report, targets: Targets
) -> None:
    """The surrogates one after the other, each in its part of the time that is left then."""
    request = Request(seeds=(0, 1, 2), scale="paper", folder=arguments.out)
    configs = network_configs(request, LOGGED)
    runs = []
    for place, name in enumerate(SURROGATES_COMPARED):
        config = replace(plan.config, surrogate=name) if plan.is_smoke else configs[name, 0]
        start = time.monotonic()
        stop = start + max(0.0, end - start) / (len(SURROGATES_COMPARED) - place)
        run = run_experiment(
            config,
            data_root=arguments.data_root,
            device=str(plan.device),
            folder=runs_folder(request) / f"{LOGGED.name}-{name}-seed=0",
            on_epoch=lambda _report, stop=stop: plan.is_smoke or time.monotonic() < stop,
        )
        print(f"{run.folder}: {len(run.history)} epochs in {time.monotonic() - start:.0f} s", flush=True)
        runs.append(run)
    said = ", ".join(f"{run.config.surrogate} {len(run.history)} epochs ({run.environment['state']})" for run in runs)
    report.add(f"Trained: {said}\n\n{run_table(runs, 'test')}")
    for run in runs:
        same = agreement(run.folder, splits, plan)
        targets.check(same >= MIN_AGREEMENT, f"{run.folder.name}: {same:.1%} decided as on the CPU")


if __name__ == "__main__":
    main()
