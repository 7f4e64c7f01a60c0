"""The commands that create the contents of pretrained/, one function each, as in `commands`."""

import io
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.extras import SubcommandApp

from l2d_core.common.names import printable
from l2d_core.common.paths import DATA_ROOT
from l2d_core.config import RunConfig

if TYPE_CHECKING:
    from l2d_core.lesions.expert_training import ExpertEpoch
    from l2d_core.runs.folder import Run


pretrain = SubcommandApp()


@pretrain.command(name="features")
def pretrain_features(
    *,
    data_root: Path,
    dataset: Literal["cifar10", "ham10000", "galaxy_zoo", "hate_speech", "all"] = "all",
    out: Path = Path("pretrained/features"),
    weights: Path | None = None,
) -> None:
    """Make feature banks: outputs of a frozen network for images or tweets, projected onto principal components.

    Args:
        data_root: The folder that contains cifar10/, ham10000/, galaxy_zoo/ and hate_speech/, or one of these folders.
        dataset: The bank to make.
        out: The folder to write the .npz files to.
        weights: A .safetensors file with timm's weights, where neither their package nor the hub is available; for
            hate_speech, a folder with those of the sentence encoder.
    """
    from l2d_core.datasets.feature_bank import BANKS
    from l2d_core.models.backbones import efficientnet_lite0
    from l2d_core.pretraining.image_bank import make_bank
    from l2d_core.pretraining.text_bank import make_text_bank

    for name in BANKS if dataset == "all" else [dataset]:
        if name == "hate_speech":
            own = weights if dataset == name else None
            bank = make_text_bank(data_root, weights=own, on_progress=_progress_line(name, "tweets"))
        else:
            network = efficientnet_lite0(weights)
            bank = make_bank(name, data_root, network=network, on_progress=_progress_line(name))
        path = out / f"{name}.npz"
        bank.save(path)
        print(f"{path}: {bank.features.shape[0]:,} x {bank.features.shape[1]}, {path.stat().st_size:,} bytes")


@pretrain.command(name="runs")
def pretrain_runs(
    *,
    dataset: Literal["cifar10", "ham10000"] = "cifar10",
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    work: Path = Path("runs"),
    out: Path | None = None,
) -> None:
    """Train the shipped runs of a data set, one per surrogate, and copy them without checkpoints.

    Args:
        dataset: cifar10, the paper's first experiment, or ham10000, fine-tuned on images of 150 x 200.
        data_root: The folder of the data sets.
        device: auto, cpu, cuda, cuda:1, mps, ...
        work: The folder for the run folders. Runs that are done there are not trained again.
        out: The folder to copy them to; by default pretrained/runs or pretrained/ham10000.
    """
    from l2d_core.experiment import copy_in_eight_bits
    from l2d_core.runs.shipped import SHIPPED

    out = out or Path("pretrained") / {"cifar10": "runs", "ham10000": "ham10000"}[dataset]
    for name, config in SHIPPED[dataset].items():
        train_with_progress(config, data_root, device, work / name)
        copy_in_eight_bits(work / name, out / name, data_root=data_root, device=device)


@pretrain.command(name="expert")
def pretrain_expert(
    *,
    data_root: Path = DATA_ROOT,
    device: str = "auto",
    reference: bool = False,
    out: Path = Path("pretrained/ham10000/expert"),
) -> None:
    """Train the paper's expert for HAM10000, an MLP-Mixer that sees age, sex and site, and store its answers.

    Args:
        data_root: The folder that contains ham10000/.
        device: auto, cpu, cuda, cuda:1, mps, ...
        reference: The expert also sees dx_type, as in the authors' code, which leaks the answer.
        out: The folder to write the network, its answers and its measures to.
    """
    from l2d_core.common.environment import pick_device
    from l2d_core.lesions.expert_network import SETTINGS, class_table, save_expert, train_expert

    def show(report: "ExpertEpoch") -> None:
        print(
            f"epoch {report.epoch} of {SETTINGS.epochs}: loss {report.train_loss:.3f} nats, on validation "
            f"{report.validation_loss:.3f}; accuracy {100 * report.validation_accuracy:.1f} %; {report.seconds:.0f} s",
            flush=True,
        )

    trained = train_expert(data_root, SETTINGS, reference=reference, device=pick_device(device), on_epoch=show)
    save_expert(out, trained)
    test = trained.answers.parts == "test"
    shown = class_table(trained.answers.answers[test], trained.labels[test]).round(3).to_string(na_rep="no cases")
    print(f"{out}: on the test images\n{shown}")


@pretrain.command(name="lesions")
def pretrain_lesions(*, data_root: Path = DATA_ROOT, out: Path = Path("pretrained")) -> None:
    """Make what the page "Skin lesions" needs beside the shipped one-vs-all network.

    The features to refit heads on, unless those of this network are there; the detector of unlike pictures, and what
    it catches of CIFAR-10 and Galaxy Zoo where they lie under data_root; the test cases' metadata and thumbnails.

    Args:
        data_root: The folder that contains ham10000/.
        out: The folder of what is shipped, with the run ham10000/ham10000-one_vs_all; features/ and ham10000/ are
            written to.
    """
    from l2d_core.lesions.bank import LesionBank, make_lesion_bank, weights_digest
    from l2d_core.lesions.detector import CATCHES
    from l2d_core.lesions.detector_training import make_detector
    from l2d_core.lesions.gallery import make_gallery
    from l2d_core.lesions.system import BANK, DETECTOR, RUNS, TUNED, load_network
    from l2d_core.runs.folder import WEIGHTS, read_config

    run, path = out / RUNS[TUNED], out / BANK
    network, split_seed = load_network(run), read_config(run).split_seed
    weights = weights_digest(run / WEIGHTS)
    bank = LesionBank.load(path) if path.is_file() else None
    if bank is None or bank.weights != weights:
        progress = _progress_line("features")
        bank = make_lesion_bank(data_root, network, weights, split_seed=split_seed, on_progress=progress)
        bank.save(path)
    print(f"{path}: {bank.features.shape[0]:,} x {bank.features.shape[1]}, {path.stat().st_size:,} bytes")
    detector, catches = make_detector(data_root, network, bank, on_progress=_progress_line("detector"))
    detector.save(out / DETECTOR)
    catches.to_csv(out / CATCHES, index=False)
    print(f"{out / DETECTOR}: beyond its limit are\n{catches.to_string(index=False)}")
    make_gallery(data_root, bank.ids[bank.parts == "test"]).save(out)


def train_with_progress(config: RunConfig, data_root: Path, device: str, out: Path) -> "Run":
    """Run an experiment and print its progress; on an interrupt, also what was saved."""
    from l2d_core.experiment import run_experiment
    from l2d_core.runs.folder import read_environment, split_notes
    from l2d_core.runs.lock import hold, is_held
    from l2d_core.runs.progress import training_progress

    what = printable(f"{config.surrogate}, {config.model} on {config.dataset}")  # not yet known to be names
    print(f"{out}: {what}, data from {data_root}", flush=True)
    on_step, on_epoch = training_progress(config, sys.stdout or io.StringIO())
    watched = {"on_epoch": on_epoch, "on_step": on_step}
    if is_held(out):
        raise OSError(f"another program is training in {out}: wait, or choose another folder")
    try:
        with hold(out):
            run = run_experiment(config, data_root=data_root, device=device, folder=out, **watched)
    except KeyboardInterrupt:
        if out.is_dir() and read_environment(out)["state"] == "stopped":
            print(f"\n{out} holds the best model so far and its scores; the same command resumes the training")
        raise
    print(f"{out}: {len(run.history)} epochs, {run.environment['wall_seconds']:,.0f} s")
    if notes := "; ".join(filter(None, split_notes(run.environment))):
        print(f"{out}: {notes}")
    return run


def _progress_line(name: str, what: str = "images"):
    """A function of (done, total) that updates one line with the speed, and ends it when all is done."""
    start = time.monotonic()

    def show(done: int, total: int) -> None:
        speed = done / max(time.monotonic() - start, 1e-9)
        end = "\n" if done == total else ""
        print(f"\r{name}: {done:,} of {total:,} {what}, {speed:.0f} {what}/s", end=end, flush=True)

    return show
