"""Cases from the field that no test of a folder has; field_cases.py lists all rows, and where each is tried."""

import ast
import hashlib
import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from field_cases import MARKED, ROWS, tried
from made_images import encode, picture, turned
from made_lesions import IGNORE_SIZE, write_lesions
from made_runs import NETWORK
from safetensors import safe_open
from small_scores import random_scores, scores_from_lists
from tiny_training import same_bits, tiny_data

from l2d_core.calibration.binned import calibration_error, reliability_table
from l2d_core.cli.commands import main
from l2d_core.comparison.author_logs import read_logged
from l2d_core.comparison.mapped_tables import Columns, read_predictions, to_scores
from l2d_core.comparison.systems import System, align, confidence_note
from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000 import files
from l2d_core.datasets.image_files import read_image
from l2d_core.evaluation.accuracy import averages, class_table
from l2d_core.evaluation.curves import budget_curve, coverage_curve
from l2d_core.evaluation.margins import margin_of_scores
from l2d_core.evaluation.probabilities import classifier_pairs, expert_pairs
from l2d_core.evaluation.recalibration import fit_recalibration
from l2d_core.images.opening import open_image
from l2d_core.models.weights import encode_weights, load_weights

pytestmark = pytest.mark.filterwarnings(IGNORE_SIZE, "ignore:image-level split")
TESTS = Path(__file__).parents[1]
LIBRARY = TESTS.parent / "l2d_core"
PICTURE = picture(45, 60)


@pytest.mark.parametrize(("key", "symptom", "places"), ROWS, ids=[f"{key}-{symptom}" for key, symptom, _ in ROWS])
def test_every_symptom_is_tried_where_the_table_says(key, symptom, places):  # noqa: ARG001
    for place in places.splitlines():
        file, colon, test = place.strip().partition(": ")
        wanted = (
            {f"core/{file}": f"def test_{test}("}
            if colon
            else {MARKED[name]: f'@tried("{key}",' for name in file.split()}
        )
        for path, text in wanted.items():
            assert text in (TESTS / path).read_text(encoding="utf-8").replace("(\n    ", "("), place


PART_1 = "HAM10000_images_part_1.zip"


@tried("A14", cut=-1024, byte_changed=0, longer=10, other_name=-1024)
def test_a_zip_that_is_not_whole_is_said_before_it_is_unpacked(given, tmp_path, monkeypatch, request):
    home = write_lesions(tmp_path) / "ham10000"
    (home / "images" / "ISIC_0000000.jpg").unlink()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("ISIC_0000000.jpg", encode(PICTURE, "JPEG") + bytes(2000))
    whole = stream.getvalue()
    published = (len(whole), hashlib.md5(whole).hexdigest())
    monkeypatch.setitem(files.PUBLISHED_ZIPS, PART_1.lower(), published)
    changed = whole[:given] if given < 0 else whole[:100] + bytes([whole[100] ^ 1]) + whole[101:] + bytes(given)
    name = "mirror.zip" if "other_name" in request.node.callspec.id.replace(" ", "_") else PART_1
    wanted = "incomplete download" if given < 0 else "is not the published file"
    (home / name).write_bytes(changed)
    with pytest.warns(UserWarning, match=f"lacks 1 of the 70 listed images.*{name} .*{wanted}"):
        ham10000.list_images(tmp_path)
    assert wanted in str(ham10000.examine(tmp_path))
    (home / name).write_bytes(whole)
    assert f"{name} is not unpacked (1 images in it)" in str(ham10000.examine(tmp_path))


@tried("B4", png="PNG", webp="WEBP", tiff="TIFF")
def test_what_is_transparent_is_white_for_training_and_for_uploads(given, tmp_path):
    pixels = np.dstack([np.full((40, 40, 3), (200, 120, 100), np.uint8), np.zeros((40, 40), np.uint8)])
    data = encode(pixels, given, **({"lossless": True, "exact": True} if given == "WEBP" else {}))
    assert (open_image(data, "a.png").pixels == 255).all()
    (tmp_path / "a.png").write_bytes(data)
    white = tmp_path / "white.png"
    white.write_bytes(encode(np.full((40, 40, 3), 255, np.uint8)))
    assert (read_image(tmp_path / "a.png", (32, 32)) == read_image(white, (32, 32))).all()


@tried("B4", orientation=6, mirrored=2)
def test_what_is_turned_upright_in_an_upload_is_so_in_training(given, tmp_path):
    (tmp_path / "turned.jpg").write_bytes(encode(PICTURE, "JPEG", exif=turned(given), quality=95))
    (tmp_path / "upright.png").write_bytes(encode(open_image((tmp_path / "turned.jpg").read_bytes(), "a").pixels))
    trained = [read_image(tmp_path / name, (32, 32)) for name in ("turned.jpg", "upright.png")]
    assert (trained[0] == trained[1]).all()


@tried("D2", checkpoint="checkpoints.py")
def test_tensors_come_to_the_cpu_wherever_they_were(given):
    calls = [node for path in LIBRARY.rglob("*.py") for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    calls = [node for node in calls if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.load"]
    assert calls
    for call in calls:
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert options["map_location"] == "'cpu'"
        assert options["weights_only"] == "True"
    assert given in {path.name for path in LIBRARY.rglob("*.py") if "torch.load(" in path.read_text(encoding="utf-8")}


@tried("D6", library="l2d_core", app="app")
def test_no_loader_has_workers_that_would_have_to_be_pickled(given):
    for path in (LIBRARY.parent / given).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "DataLoader(" not in text, path
        assert "num_workers=" not in text, path


@tried("D10", prefixed="_orig_mod.", plain="")
def test_a_file_of_a_compiled_models_weights_loads(given, tmp_path):
    model, path = NETWORK.build(seed=3), tmp_path / "model.safetensors"
    content = encode_weights(model, NETWORK)
    path.write_bytes(content)
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    tensors = {given + name: tensor for name, tensor in safetensors.torch.load(content).items()}
    path.write_bytes(safetensors.torch.save(tensors, metadata))
    assert same_bits(load_weights(path)[0], model)
    name = given + next(iter(model.state_dict()))
    path.write_bytes(safetensors.torch.save({**tensors, "other." + name: tensors[name].clone()}, metadata))
    with pytest.raises(ValueError, match="its tensors are not those of its network"):
        load_weights(path)


@tried("D12", never_right=1, always_right=0)
def test_where_asking_never_or_always_helps_the_curve_ends_there(given):
    data = tiny_data(60)
    logits = np.random.default_rng(0).normal(size=(60, 4))
    answers = (data.labels + given) % 3
    scores = scores_from_lists(logits.tolist(), data.labels.tolist(), answers.tolist())
    curve = coverage_curve(scores, margin_of_scores(scores))
    ends = dict(zip(curve["coverage"], curve["system_accuracy"], strict=True))
    assert ends[float(given)] == curve["system_accuracy"].max() > ends[1.0 - given]
    budgets = budget_curve(scores, margin_of_scores(scores), [0, 0.5, 1], forced=True)["system_accuracy"]
    assert budgets.is_monotonic_decreasing if given else budgets.is_monotonic_increasing


COLUMNS = Columns("label", ("said",), ("a", "b"), ("ask",), "id")


def table(*rows):
    return read_predictions("\n".join(["id,label,said,a,b,ask", *rows]).encode())


@tried("C4", two_of_seven=(1, 2), one_of_seven=(6,), first_only=(0,))
def test_the_number_of_classes_is_the_models_not_the_labels(given):
    generator = np.random.default_rng(0)
    labels = generator.choice(given, 50)
    scores = scores_from_lists(generator.normal(size=(50, 8)).tolist(), labels.tolist(), labels.tolist())
    assert scores.num_classes == 7
    found = class_table(scores, np.zeros(50, dtype=bool))
    assert found["n"].tolist() == np.bincount(labels, minlength=7).tolist()
    assert found[found["n"] == 0]["machine_alone"].isna().all()
    assert np.isfinite(calibration_error(*classifier_pairs(scores)))


@tried(
    "A12",
    as_written=([0, 0, 1, 1], [0, 2, 1, 1], 0.75, 0.75, "mean of classes, without c"),
    uneven=([0, 0, 0, 1], [0, 0, 0, 0], 0.75, 0.5, "mean of classes, without c"),
    all_there=([0, 1, 1, 2], [0, 0, 1, 0], 0.5, 0.5, "mean of classes"),
)
def test_plain_and_balanced_accuracy_stand_together_with_what_is_left_out(given):
    labels, said, plain, balanced, name = given
    logits = np.eye(4)[said]
    scores = scores_from_lists(logits.tolist(), labels, [0, 0, 0, 0])
    scores = replace(scores, class_names=("a", "b", "c"))
    found = averages(class_table(scores, np.zeros(4, dtype=bool)))
    assert found["class"].tolist() == ["all cases", name]
    assert found["n"].tolist() == [4, 4]
    assert found["machine_alone"].tolist() == [plain, balanced]


@tried("C7", half="x,1,0,0.3,0.2,0", more="x,1,0,0.5,0.5,0.5", nearly="x,1,0,0.5,0.4989,0")
def test_rows_that_do_not_sum_to_1_are_refused_with_the_row(given):
    with pytest.raises(ValueError, match=r"must sum to 1 in each row, got .* at row 1 \(x\)"):
        to_scores(table("w,0,0,1,0,0", given), COLUMNS, surrogate="softmax", domain="probabilities")


@tried("C7", ten_thousand_rows=3, fifty_classes=50, a_thousand_classes=1000)
def test_a_softmax_in_float32_sums_to_1_closely_enough(given):
    logits = torch.randn(10_000 if given < 10 else 500, given, generator=torch.Generator().manual_seed(0)) * 5
    rows = torch.softmax(logits, dim=1)
    read = read_logged(json.dumps(rows.tolist()).encode(), json.dumps([1] * len(rows)).encode(), surrogate="softmax")
    assert np.isfinite(read.logits).all()


@tried("C9", expert=expert_pairs, machine=classifier_pairs)
def test_expert_and_machine_are_measured_by_one_definition(given):
    pairs = given(random_scores(100))
    rows = reliability_table(*pairs)
    filled = rows[rows["n"] > 0]
    assert calibration_error(*pairs) == pytest.approx((filled["n"] * filled["gap"].abs()).sum() / filled["n"].sum())


SHARES = ("x,1,0,0.5,0.3,0.2", "y,1,0,0.1,0.1,0.8", "z,0,0,1,0,0")
CLASSES = ("x,1,0,0.7,0.3,0.9", "y,1,0,0.25,0.75,-3")


@tried(
    "C10",
    all_scores=(SHARES, "softmax", "all scores"),
    of_one_row=(SHARES[:1], "softmax", "all scores"),
    one_vs_all=(SHARES, "one_vs_all", "all scores"),
    rounded=(("x,1,0,0.333,0.333,0.333", "y,1,0,0.5,0.3,0.2"), "softmax", "all scores"),
    classes_alone=(CLASSES, "softmax", "the scores of the classes"),
)
def test_probabilities_that_are_called_logits_are_refused(given):
    rows, surrogate, whose = given
    with pytest.raises(ValueError, match=rf"look like probabilities: {whose} lie in .* domain 'probabilities'"):
        to_scores(table(*rows), COLUMNS, surrogate=surrogate, domain="logits")


@tried(
    "C10",
    one_row_is_none=(*SHARES, "w,0,0,0.5,0.3,0.4"),
    one_is_negative=(*SHARES, "w,0,0,1.5,-0.3,-0.2"),
    sums_of_2=("x,0,0,0.5,0.7,0.8", "y,0,0,0.9,0.6,0.5"),
)
def test_logits_that_only_look_a_little_like_probabilities_are_taken(given):
    scores = to_scores(table(*given), COLUMNS, surrogate="softmax", domain="logits")
    assert scores.logits[0].tolist() == [float(number) for number in given[0].split(",")[3:]]


@tried("C10", softmax=SHARES)
def test_the_command_says_so_and_takes_them_as_what_they_are(given, tmp_path, capsys):
    arguments = command(tmp_path, *given)
    assert main([*arguments, "--surrogate", "softmax", "--domain", "logits"]) == 2
    assert "look like probabilities" in capsys.readouterr().err
    assert not (tmp_path / "out.npz").exists()
    assert main([*arguments, "--surrogate", "softmax", "--domain", "probabilities"]) == 0
    assert (tmp_path / "out.npz").exists()
    assert "note" not in capsys.readouterr().out


def command(folder, *rows):
    (folder / "in.csv").write_text("\n".join(["id,label,said,a,b,ask", *rows]))
    columns = ["--id", "id", "--label", "label", "--answers", "said", "--scores", "a", "b", "--defer", "ask"]
    return ["import", str(folder / "in.csv"), "--out", str(folder / "out.npz"), *columns]


EXPERT, MACHINE = "of the expert (ECE and reliability only tell how often it is right)", "of the machine"
HARD = {
    "one hot": (("x,1,0,1,0,0", "y,1,0,0,0,1", "z,0,0,0,1,0"), "softmax", f"{EXPERT} and {MACHINE}: "),
    "all ones": (("x,1,0,1,1,1", "y,1,0,1,1,1"), "one_vs_all", f"{EXPERT} and {MACHINE}: "),
    "asking alone": (("x,1,0,0.4,0.3,1", "y,1,0,0.1,0.3,0"), "one_vs_all", f"{EXPERT}: "),
    "classes alone": (("x,1,0,1,0,0.4", "y,1,0,0,1,0.3"), "one_vs_all", f"{MACHINE}: "),
}


@tried("C11", **HARD)
def test_of_hard_scores_it_is_said_that_there_is_no_confidence(given, tmp_path, capsys):
    rows, surrogate, whom = given
    scores = to_scores(table(*rows), COLUMNS, surrogate=surrogate, domain="probabilities")
    note = confidence_note(scores)
    assert note == f"no confidence available {whom}in all cases the probabilities are 0 or 1"
    assert align([System("mine", scores)])[1] == (f"mine: {note}.",)
    assert main([*command(tmp_path, *rows), "--surrogate", surrogate, "--domain", "probabilities"]) == 0
    assert f"note: {note}" in capsys.readouterr().out


@tried("C11", one_is_soft=[[1, 0, 0], [0.5, 0.3, 0.2]], logged_hard=[[1, 0, 0], [0, 0, 1]])
def test_only_where_all_are_hard_and_of_logged_outputs_too(given):
    logged = read_logged(json.dumps(given).encode(), b"[1, 0]", surrogate="softmax")
    notes = align([System("logged", logged)])[1]
    assert any("no confidence available" in note for note in notes) == (given[1][0] == 0)


@tried("C12", isotonic="isotonic", platt="platt", temperature="temperature")
def test_a_correction_that_has_seen_one_outcome_says_so(given):
    logits = np.random.default_rng(1).normal(size=(12, 3)).tolist()
    constant = ", so that all estimates become one constant" if given == "isotonic" else ""
    for said, word in ((0, "right"), (1, "wrong")):
        found = fit_recalibration(given, scores_from_lists(logits, [0] * 12, [said] * 12, surrogate="one_vs_all"))
        assert found.describe().endswith(f"; fitted on one outcome only: all 12 answers are {word}{constant}")
        assert len(np.unique(found.apply(np.array(logits)))) == 1 or not constant
    both = scores_from_lists(logits, [0] * 12, [0, 1] * 6, surrogate="one_vs_all")
    assert "one outcome" not in fit_recalibration(given, both).describe()
    assert fit_recalibration("none", scores_from_lists(logits, [0] * 12, [0] * 12)).describe() == "as it is"
