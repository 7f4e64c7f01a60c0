"""The command line: quick help, errors in one line, exit codes, and a bank made from end to end."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from made_runs import CONFIG, add_made, write_run
from torch import nn

from l2d_core.cli import commands
from l2d_core.cli.commands import main
from l2d_core.common.paths import PROGRAM
from l2d_core.datasets.feature_bank import FeatureBank
from l2d_core.models import backbones
from l2d_core.pretraining import image_bank
from l2d_core.runs.folder import open_run, verify_run
from l2d_core.runs.lock import hold
from l2d_core.runs.log import add_line, read_log
from l2d_core.runs.shipped import SHIPPED
from l2d_core.runs.table import markdown_rows
from l2d_core.sweeps.results import Outcome, tell


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "l2d_core", *arguments], cwd=PROGRAM, capture_output=True, text=True, timeout=60
    )


def test_help_lists_the_commands():
    done = run("--help")
    assert done.returncode == 0
    for command in ("train", "evaluate", "doctor", "pretrain"):
        assert command in done.stdout


def test_help_is_quick_because_nothing_heavy_is_imported():
    check = (
        "import sys; from l2d_core.cli.commands import app; "
        "sys.exit(str(sorted({'torch', 'timm', 'sklearn', 'pandas', 'scipy'} & sys.modules.keys()) or ''))"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=PROGRAM, capture_output=True, text=True)
    assert done.stderr.strip() == ""


def test_the_help_of_a_command_names_its_options(capsys):
    with pytest.raises(SystemExit) as left:
        main(["pretrain", "features", "--help"])
    assert left.value.code == 0
    told = capsys.readouterr().out
    for option in ("--data-root", "--dataset", "galaxy_zoo", "--out", "pretrained/features"):
        assert option in told


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["pretrain"],
        ["pretrain", "features"],
        ["pretrain", "features", "--data-root", "x", "--dataset", "mnist"],
        ["train"],
        ["train", "--out", "x", "--epochs", "many"],
        ["train", "--out", "x", "--lerning-rate", "0.1"],
    ],
)
def test_a_wrong_command_line_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("dataset", ["cifar10", "ham10000"])
def test_a_folder_without_the_data_is_told_in_one_line_with_exit_code_2(tmp_path, capsys, monkeypatch, dataset):
    monkeypatch.setattr(backbones, "efficientnet_lite0", lambda weights: nn.Identity())
    out = tmp_path / "banks"
    arguments = ["pretrain", "features", "--data-root", str(tmp_path), "--dataset", dataset, "--out", str(out)]
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: there is no folder")
    assert str(tmp_path / dataset) in told
    assert told.count("\n") == 1
    assert not out.exists()


def test_a_traceback_never_reaches_the_terminal(tmp_path):
    weights = tmp_path / "none.safetensors"
    done = run("pretrain", "features", "--data-root", str(tmp_path), "--weights", str(weights))
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("problem", "code"), [(ValueError("wrong\nlines"), 2), (OSError("full"), 2), (KeyboardInterrupt(), 130)]
)
def test_exit_codes_tell_wrong_input_from_an_interrupt(monkeypatch, capsys, problem, code):
    def fail(**_):
        raise problem

    monkeypatch.setattr(commands.app, "cli", fail)
    assert main([]) == code
    assert capsys.readouterr().err.count("\n") == 1


def test_a_bug_is_not_passed_off_as_wrong_input(monkeypatch):
    def fail(**_):
        raise ZeroDivisionError

    monkeypatch.setattr(commands.app, "cli", fail)
    with pytest.raises(ZeroDivisionError):
        main([])


def test_a_bank_is_made_from_end_to_end_with_its_speed_told(tmp_path, capsys, monkeypatch):
    from PIL import Image

    from l2d_core.datasets import cifar10

    for part in cifar10.PARTS:
        for label, name in enumerate(cifar10.CLASS_NAMES):
            folder = tmp_path / "cifar10" / part / name
            folder.mkdir(parents=True)
            Image.new("RGB", (32, 32), (25 * label, 0, 255 - 25 * label)).save(folder / "0000.png")
    network = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    monkeypatch.setattr(backbones, "efficientnet_lite0", lambda weights: network)
    monkeypatch.setattr(image_bank, "NUM_COMPONENTS", 1)
    out = tmp_path / "banks"
    assert main(["pretrain", "features", "--data-root", str(tmp_path), "--dataset", "cifar10", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "cifar10: 20 of 20 images, " in told
    assert "images/s\n" in told
    assert f"{out / 'cifar10.npz'}: 20 x 1, " in told
    assert FeatureBank.load(out / "cifar10.npz").features.shape == (20, 1)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The arguments that train CONFIG on the data set "made"."""
    add_made(monkeypatch)
    (tmp_path / "settings.json").write_text(CONFIG.to_json(), encoding="utf-8")
    arguments = ["train", "--config", str(tmp_path / "settings.json"), "--device", "cpu"]
    return lambda folder, *options: main([*arguments, "--out", str(tmp_path / folder), *options])


def test_a_training_is_told_epoch_by_epoch_and_ends_in_a_table(made, tmp_path, capsys):
    assert made("run", "--epochs", "2", "--surrogate", "softmax") == 0
    told = capsys.readouterr().out
    assert "softmax, small_resnet on made" in told
    assert "epoch 2 of 2: loss " in told
    assert "images/s, 0:00 left\n" in told
    assert f"| test; ECE in 15 bins of equal width | {tmp_path / 'run'}: odds | {tmp_path / 'run'}: proxy |" in told
    run = verify_run(tmp_path / "run")
    assert (run.config.epochs, run.config.surrogate, run.config.learning_rate) == (2, "softmax", CONFIG.learning_rate)


def test_an_interrupt_keeps_the_best_so_far_and_the_same_command_goes_on(made, tmp_path, capsys, monkeypatch):
    from l2d_core.runs import progress

    def interrupted(config, stream):
        on_step, on_epoch = progress_before(config, stream)

        def stop(done, total):
            on_step(done, total)
            if done == 4:  # in the second of three epochs of three steps
                raise KeyboardInterrupt

        return stop, on_epoch

    progress_before = progress.training_progress
    monkeypatch.setattr(progress, "training_progress", interrupted)
    assert made("run") == 130
    told = capsys.readouterr()
    assert "holds the best model so far and its scores; the same command resumes the training" in told.out
    assert told.err == "interrupted\n"
    assert len(open_run(tmp_path / "run").history) == 1
    monkeypatch.setattr(progress, "training_progress", progress_before)
    assert made("run") == 0
    assert "epoch 1 of 3" not in capsys.readouterr().out
    assert open_run(tmp_path / "run").is_done


def test_an_interrupt_before_anything_is_there_is_told_plainly(made, tmp_path, capsys, monkeypatch):
    from l2d_core import experiment

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "load_splits", interrupt)
    assert made("run") == 130
    assert "has the best model" not in capsys.readouterr().out
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epochs", "0"], "epochs must be at least 1, got 0"),
        (["--model-options", "depth"], "--model-options must be NAME=VALUE, got 'depth'"),
        (["--surrogate", "hinge"], "surrogate must be one of 'softmax', "),
        (["--device", "tpu"], "device must be auto, or one that is here: "),
        (
            ["--dataset", "cifar10", "--accuracy", "0.7", "--data-root", "nowhere"],
            "there is no CIFAR-10 in nowhere. Three ways to get it: ",
        ),
        (["--config", "nowhere.json"], "nowhere.json"),
        (["--epochs", "1" + "0" * 60], "epochs must be at most"),
        (["--model", "wide_resnet", "--model-options", "depth=10", "width=100000000000"], "width of model"),
        (["--model", "wide_resnet", "--model-options", "depth=10", "width=9999"], " GB of memory"),
        (["--model", "wide_resnet", "--model-options", "depth=100000000000000000006"], "depth of model"),
        (["--expert", "right_on", "--classes", "1" + "0" * 30], "expert.classes must lie in 0..1e+09, got 1000"),
    ],
)
def test_a_training_that_cannot_start_is_told_in_one_line_with_exit_code_2(made, tmp_path, capsys, options, message):
    assert made("run", *options) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_settings_of_a_stranger_do_not_command_the_terminal(tmp_path, capsys):
    for name, value in (("surrogate", "\x1b]0;title\x07"), ("dataset_options", {"\x1b[2J": []})):
        (tmp_path / "config.json").write_text(json.dumps({name: value}))
        assert main(["train", "--config", str(tmp_path / "config.json"), "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr()
    assert "\x1b" not in told.out + told.err
    assert r"\x1b[2J must be" in told.err


def test_what_a_log_and_a_table_repeat_does_not_command_the_terminal(tmp_path, capsys):
    folder = write_run(tmp_path / "run")
    add_line(folder, "bad \x1b[2J name,  two\nlines")
    tell(sys.stdout)("a", {"a": Outcome("failed", "bad \x1b[2J name")})
    print(markdown_rows([["bad \x1b[2J name"]]))
    told = read_log(folder), *capsys.readouterr().out.splitlines()[:2]
    assert [r" \x1b[2J name" in text for text in told] == [True] * 3
    assert told[0].endswith("name,  two lines\n")


def test_a_sweep_goes_on_where_there_is_no_output():
    tell(None)("a", {"a": Outcome("done")})


@pytest.mark.parametrize("out", [".", ""])
def test_a_training_goes_into_the_folder_that_one_is_in(made, tmp_path, monkeypatch, out):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert made("run", "--epochs", "1", "--out", out) == 0
    assert verify_run(tmp_path / "here").is_done
    assert not list(tmp_path.glob("*.lock"))


@pytest.mark.parametrize(
    ("command", "out"), [("train", "."), ("train", "/"), ("train", "file"), ("train", "file/run"), ("sweep", "file")]
)
def test_a_folder_that_cannot_be_written_to_is_named_in_one_line(tmp_path, monkeypatch, capsys, command, out):
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    assert main([command, "--dataset", "digits", "--augment", "none", "--device", "cpu", "--out", out]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert out in told
    assert "PosixPath" not in told
    assert told.count("\n") == 1
    assert (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize("seeds", ["0", "-1", "1" + "0" * 18])
@pytest.mark.parametrize("command", [["reproduce", "figure1"], ["sweep", "--out", "nowhere"]])
def test_an_absurd_number_of_seeds_is_refused_at_once(command, seeds, capsys):
    assert main([*command, "--seeds", seeds]) == 2
    told = capsys.readouterr().err
    assert "seeds must be" in told
    assert told.count("\n") == 1


def test_a_quick_reproduction_says_that_settings_of_networks_have_no_effect(capsys):
    assert main(["reproduce", "temperature", "--seeds", "2", "--epochs", "3", "--workers", "2"]) == 0
    assert "so --epochs, --workers has no effect" in capsys.readouterr().err


def test_runs_are_evaluated_side_by_side_on_both_splits(tmp_path, capsys):
    folders = [str(write_run(tmp_path / name)) for name in ("one", "two")]
    assert main(["evaluate", *folders]) == 0
    told = capsys.readouterr().out
    for split in ("test", "validation"):
        assert f"| {split}; ECE in 15 bins of equal width | {folders[0]}: sigmoid | {folders[1]}: sigmoid |\n" in told
    assert told.count("| System accuracy | ") == 2


@pytest.mark.parametrize("folders", [[], ["nowhere"], ["."]])
def test_what_is_no_run_is_told_in_one_line_with_exit_code_2(folders, capsys):
    assert main(["evaluate", *folders]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert told.count("\n") == 1


def test_the_doctor_says_what_there_is(tmp_path, capsys):
    assert main(["doctor", "--data-root", str(tmp_path), "--device", "cpu"]) == 0
    told = capsys.readouterr().out
    for name in ("python", "torch", "device", "bfloat16", "threads", "CIFAR-10", "HAM10000", "free disk"):
        assert f"\n{name} " in f"\n{told}"


def test_the_shipped_runs_are_trained_and_copied_without_checkpoints(tmp_path, monkeypatch, capsys):
    add_made(monkeypatch)
    names = ["cifar10-asymmetric_softmax", "cifar10-one_vs_all", "cifar10-softmax"]
    made = {name: replace(CONFIG, epochs=1, surrogate=name.removeprefix("cifar10-")) for name in names}
    assert made.keys() == SHIPPED["cifar10"].keys()
    monkeypatch.setitem(SHIPPED, "cifar10", made)
    arguments = ["--work", str(tmp_path / "work"), "--out", str(tmp_path / "out"), "--device", "cpu"]
    assert main(["pretrain", "runs", *arguments]) == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    for name in names:
        assert verify_run(tmp_path / "out" / name).config.surrogate == name.removeprefix("cifar10-")
        assert not (tmp_path / "out" / name / "checkpoint").exists()
    assert capsys.readouterr().out.count("1 epochs, ") == 3


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("y,m,m2,a,b,d,e\na,b,a,9,0,-9,-9\nb,b,a,0,9,-9,-9\n")
    return path


def import_table(table, out, *more, surrogate="softmax"):
    columns = ["--label", "y", "--answers", "m", "--scores", "a", "b", "--defer", "d"]
    return main(
        ["import", str(table), "--out", str(out), "--surrogate", surrogate, "--domain", "logits", *columns, *more]
    )


def test_a_table_is_not_replaced_by_what_is_made_of_it(table, capsys):
    before = table.read_bytes()
    assert import_table(table, table.parent / "." / table.name) == 2
    assert "--out must not be the table itself" in capsys.readouterr().err
    assert table.read_bytes() == before


def test_what_its_loss_is_not_made_for_is_not_imported(table, tmp_path):
    two = ["--answers", "m", "m2", "--defer", "d", "e"]
    assert import_table(table, tmp_path / "two.npz", *two, surrogate="asymmetric_softmax") == 2
    assert not (tmp_path / "two.npz").exists()


@pytest.mark.parametrize("out", ["folder", "nowhere/file.npz", ""])
def test_where_nothing_can_be_written_the_file_is_named_and_no_part_is_left(table, tmp_path, capsys, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    assert import_table(table, out) == 2
    error = capsys.readouterr().err
    assert ".part" not in error
    assert repr(out or ".") in error
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("alpha", ["nan", "abc", "true"])
def test_an_option_of_a_loss_that_is_no_number_is_said_to_be_none(alpha, tmp_path, capsys):
    options = ["--surrogate", "softmax", "--surrogate-options", f"alpha={alpha}", "--augment", "none"]
    assert main(["train", "--dataset", "digits", *options, "--out", str(tmp_path / "run")]) == 2
    assert "alpha of surrogate 'softmax' must be a finite number" in capsys.readouterr().err


def test_two_programs_do_not_train_in_one_folder(tmp_path, capsys):
    with hold(tmp_path / "run"):
        assert main(["train", "--dataset", "digits", "--augment", "none", "--out", str(tmp_path / "run")]) == 2
    assert "another program is training in" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_reader_that_has_enough_is_no_error():
    code = "import sys; from l2d_core.cli.commands import main; sys.exit(main(['doctor']))"
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=PROGRAM, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert "error" not in process.stderr.read()
    assert process.wait(60) in (0, 141)
