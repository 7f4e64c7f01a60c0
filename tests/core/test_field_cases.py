"""Cases from the field on the data set of skin lesions (A); field_cases.py lists all rows."""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from field_cases import OF_THE_APP, ROWS, tried
from made_images import encode, picture
from made_lesions import IGNORE_SIZE, write_lesions
from made_runs import NETWORK
from tiny_training import CONFIG, run, tiny_splits

from l2d_core.comparison.mapped_tables import Columns, read_predictions, to_scores
from l2d_core.comparison.systems import System, align
from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000 import files
from l2d_core.datasets.ham10000.features import REFERENCE_WARNING, feature_names, fit_age_scale, metadata_features
from l2d_core.datasets.ham10000.split import describe_split, shared_lesions, split_rows
from l2d_core.evaluation.accuracy import balanced_accuracy
from l2d_core.images.opening import open_image, to_model_size
from l2d_core.models.prediction import predict
from l2d_core.models.weights import encode_weights, load_weights

pytestmark = pytest.mark.filterwarnings(f"{IGNORE_SIZE}", "ignore:image-level split")
HEAD = "lesion_id,image_id,dx,dx_type,age,sex,localization"
PICTURE = picture(45, 60)


def metadata(*rows, head=HEAD, **options):
    return ham10000.read_metadata("\n".join([head, *rows]).encode(), **options)


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.key}-{row.symptom}" for row in ROWS])
def test_every_row_is_tried_where_the_table_says(row):
    here = Path(__file__).parent
    for name in row.tried_in:
        text = ((here.parent / "app" if name in OF_THE_APP else here) / name).read_text(encoding="utf-8")
        assert f'@tried("{row.key}",' in text.replace("\n    ", ""), name


@tried("A1", pairs=2, triples=3, singles=1)
def test_no_lesion_is_on_both_sides(given):
    lesions = np.repeat([f"HAM_{number}" for number in range(20)], given)
    table = pd.DataFrame({"id": [f"ISIC_{row}" for row in range(len(lesions))], "group": lesions})
    table["label"] = np.repeat(np.arange(20) % 4, given)
    for seed in range(10):
        parts = split_rows(table, seed)
        sides = [set(table["group"].iloc[rows]) for rows in parts]
        assert len(set.union(*sides)) == sum(map(len, sides))
        assert sum(map(len, parts)) == len(table)
        assert re.search(rf"training {len(parts[0])} images of {len(sides[0])} lesions", describe_split(table, parts))


@tried("A1", by_image="by_image", lesions_unknown="unknown")
def test_a_split_by_image_says_that_its_scores_may_be_optimistic(given):
    table = pd.DataFrame({"id": [f"I{row}" for row in range(40)], "label": 0})
    table["group"] = table["id"] if given == "unknown" else np.repeat([f"L{row}" for row in range(20)], 2)
    with pytest.warns(UserWarning, match="image-level split, scores may be optimistic"):
        parts = split_rows(table, 0, "by_lesion" if given == "unknown" else given)
    assert shared_lesions(table, parts) > 0 or given == "unknown"


AGES = {
    "": "unknown",
    "0": "0",
    "0.0": "0",
    "unknown": "unknown",
    "-1": "unknown",
    "200": "unknown",
    "45 years": "45",
    "NaN": "unknown",
    "1e3": "unknown",
    "４５": "unknown",
    "55,0": "55",
}


@tried("A3", **{(age or "blank").replace(" ", "_"): age for age in AGES})
def test_an_age_is_read_or_unknown_and_never_invented(given):
    table = metadata(f'HAM_1,ISIC_1,nv,histo,"{given}",,', "HAM_2,ISIC_2,mel,histo,50,male,back")
    assert table["age"].tolist() == [AGES[given], "50"]
    assert (table["sex"][0], table["localization"][0]) == ("unknown", "unknown")
    features, names = metadata_features(table, fit_age_scale(table))
    assert np.isfinite(features).all()
    assert features[0, names.index("age=unknown")] == (AGES[given] == "unknown")
    odd = given in ("0", "0.0", "-1", "200", "45 years", "1e3", "４５")
    assert bool(table["notes"][0]) == odd


@tried("A3", without_age="image_id,dx,sex", without_all="image_id,dx")
def test_a_column_that_is_absent_is_unknown(given):
    table = metadata(",".join(["ISIC_1", "nv", "male"][: given.count(",") + 1]), head=given)
    assert table["age"].tolist() == ["unknown"]
    assert np.isfinite(metadata_features(table, fit_age_scale(table))[0]).all()


@tried("A4", lateral_torso="lateral torso", anterior_torso="anterior torso", palms="palms/soles", markup="<b>")
def test_an_unseen_site_is_said_to_be_unknown(given):
    table = metadata(f"H,I1,nv,histo,1,male,{given}", "H,I2,nv,histo,1,male,BACK ", "H,I3,nv,histo,1,male,")
    assert table["localization"].tolist() == ["unknown", "back", "unknown"]
    assert table["notes"].tolist() == [f"localization {given!r} was not seen in training: treated as unknown", "", ""]
    features, names = metadata_features(table, fit_age_scale(table))
    sites = [place for place, name in enumerate(names) if name.startswith("localization=")]
    assert (features[:, sites].sum(axis=1) == 1).all()


@tried("A6", rows_reversed=-1, rows_sorted_by_class=1)
def test_the_order_of_rows_changes_no_name(given, tmp_path):
    own, other = write_lesions(tmp_path / "own"), write_lesions(tmp_path / "other")
    path = other / "ham10000" / "HAM10000_metadata.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    (table[::-1] if given < 0 else table.sort_values("dx")).to_csv(path, index=False)
    named = [dict(zip(found["id"], found["label"], strict=True)) for found in map(ham10000.list_images, (own, other))]
    assert named[0] == named[1]
    assert tuple(sorted(ham10000.CLASS_NAMES)) == ham10000.CLASS_NAMES


@tried("A6", challenge_order=["mel", "nv", "bcc"], alphabetical=["bcc", "mel", "nv"])
def test_classes_go_by_name_and_another_order_is_refused(given):
    text = "id,label,said,{},ask\n1,{},mel,3,2,1,0\n".format(",".join(given), given[0])
    columns = Columns("label", ("said",), tuple(given), ("ask",), "id")
    scores = to_scores(read_predictions(text.encode()), columns, surrogate="softmax", domain="logits")
    assert scores.class_names[scores.labels[0]] == scores.class_names[scores.logits[0, :3].argmax()] == given[0]
    assert scores.class_names[scores.answers[0, 0]] == "mel"
    turned_round = to_scores(
        read_predictions(text.encode()),
        Columns("label", ("said",), tuple(given[::-1]), ("ask",), "id"),
        surrogate="softmax",
        domain="logits",
    )
    assert turned_round.class_names[turned_round.logits[0, :3].argmax()] == given[0]
    with pytest.raises(ValueError, match="the same classes in one order"):
        align([System("one", scores), System("other", turned_round)])


@tried("A6", in_order=("akiec", "bcc", "mel"), turned_round=("mel", "bcc", "akiec"))
def test_class_names_are_in_the_file_of_the_weights(given, tmp_path):
    network = replace(NETWORK, class_names=given)
    (tmp_path / "weights").write_bytes(encode_weights(network.build(), network))
    assert load_weights(tmp_path / "weights")[1].class_names == given


@tried("A7", AKIEC="AKIEC", AK="AK", plural="actinic_keratoses", nevi="melanocytic_Nevi", blank="nv ", Nevus="Nevus")
def test_another_spelling_is_the_same_class(given):
    table = metadata(f"H,I1,{given},histo,1,male,back")
    assert table["dx"].tolist() == ["akiec" if given.lower().startswith(("a",)) else "nv"]


@tried("A7", SCC="SCC", UNK="UNK", number="3")
def test_an_unknown_diagnosis_is_listed_with_its_count(given):
    with pytest.raises(ValueError, match=rf"got '{given}' \(2 rows\)"):
        metadata(f"H,I1,{given},histo,1,,", f"H,I2,{given},histo,1,,", "H,I3,nv,histo,1,,")


@tried("A9", same="nv", same_in_capitals="NV", another="mel")
def test_rows_of_one_image_are_one_or_an_error(given):
    rows = ("H,ISIC_1,nv,histo,1,,", f"H,ISIC_1,{given},histo,1,,")
    if given == "mel":
        with pytest.raises(ValueError, match=r"got ISIC_1 twice in .*, with dx 'nv' at line 2 and 'mel' at line 3"):
            metadata(*rows)
    else:
        assert metadata(*rows)["image_id"].tolist() == ["ISIC_1"]


@tried("A10", flips="crop_flip", colours="crop_flip_colour")
def test_only_training_images_are_moved(given):
    splits = tiny_splits()
    before = [part.inputs.clone() for part in (splits.train, splits.validation, splits.test)]
    model, _ = run(replace(CONFIG, augment=given, epochs=2), splits=splits)
    for part, inputs in zip((splits.train, splits.validation, splits.test), before, strict=True):
        assert (part.inputs == inputs).all()
    one, two = (predict(model, splits.test.inputs, batch_size=3, device="cpu") for _ in range(2))
    assert (one == two).all()


@tried("A11", dx_type=("dx_type", "follow_up"), lesion=("lesion_id", "HAM_9"), image=("image_id", "ISIC_9"))
def test_what_tells_the_answer_is_no_input(given):
    table = metadata("HAM_1,ISIC_1,nv,histo,50,male,back")
    changed = table.assign(**{given[0]: given[1]})
    ages = fit_age_scale(table)
    np.testing.assert_array_equal(metadata_features(table, ages)[0], metadata_features(changed, ages)[0])
    assert {name.partition("=")[0] for name in feature_names()} == {"age", "sex", "localization"}
    assert "dx_type" in REFERENCE_WARNING
    assert any(name.startswith("dx_type=") for name in feature_names(reference=True))


@tried("A12", as_written=([0, 0, 1, 1], [0, 2, 1, 1], 0.75, ("c",)), one_class=([1, 1], [1, 0], 0.5, ("a", "c")))
def test_a_class_without_cases_is_left_out_and_named(given):
    labels, predicted, value, left_out = given
    found = balanced_accuracy(np.equal(labels, predicted), np.array(labels), ("a", "b", "c"))
    assert (found.value, found.left_out) == (value, left_out)


@tried("A13", small="dermamnist.npz", large="dermamnist_224.npz")
@pytest.mark.filterwarnings("ignore:.*published")
def test_dermamnist_is_called_a_leaky_split(given, tmp_path):
    np.savez(write_lesions(tmp_path) / "ham10000" / given, train_images=np.zeros(1))
    told = str(ham10000.examine(tmp_path))
    assert "leaky split, toy use" in told
    assert "HAM10000's is CC BY-NC 4.0" in told


PART_1 = "HAM10000_images_part_1.zip"


@tried("A14", cut=-1024, byte_changed=0, longer=10, other_name=-1024)
def test_a_zip_that_is_not_whole_is_said_before_it_is_unpacked(given, tmp_path, monkeypatch, request):
    import hashlib

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
    with pytest.raises(FileNotFoundError, match=f"lacks 1 of the 70 listed images.*{name} .*{wanted}"):
        ham10000.list_images(tmp_path)
    assert wanted in str(ham10000.examine(tmp_path))
    (home / name).write_bytes(whole)
    assert f"{name} is not unpacked (1 images in it)" in str(ham10000.examine(tmp_path))


@tried("A15", lower_case="IMAGES_2", copies="a/b/c")
def test_doubled_folders_give_each_image_once(given, tmp_path):
    home = write_lesions(tmp_path) / "ham10000"
    copies = home / given
    copies.mkdir(parents=True)
    for path in (home / "images").iterdir():
        (copies / path.name.upper()).write_bytes(path.read_bytes())
    assert len(ham10000.list_images(tmp_path)) == 70
    assert ham10000.examine(tmp_path).num_copies == 70


NOISE = np.random.default_rng(0).integers(0, 256, (450, 600, 3)).astype(np.uint8)


@tried(
    "A16",
    black=(np.zeros((450, 600, 3), np.uint8), "blank"),
    white=(np.full((450, 600, 3), 255, np.uint8), "blank"),
    tiny=(picture(8, 8), "tiny: 8 x 8"),
    long=(picture(20, 2000), "odd aspect: 2000 x 20"),
    high=(picture(2000, 20), "odd aspect: 20 x 2000"),
    noise=(NOISE, "noise"),
)
def test_odd_pictures_are_warned_of_and_still_open(given):
    pixels, message = given
    opened = open_image(encode(pixels), "a.png")
    assert any(message in warning for warning in opened.warnings)
    np.testing.assert_array_equal(opened.pixels, pixels)


@tried("A17", as_published=(450, 600), square=(600, 600), upright=(600, 450), long=(100, 900))
def test_the_whole_picture_is_seen_and_bars_are_visible(given):
    height, width = given
    pixels = picture(height, width)
    seen = to_model_size(pixels, 150, 200)
    scale = min(150 / height, 200 / width)
    rows, columns = round(height * scale), round(width * scale)
    top, left = (150 - rows) // 2, (200 - columns) // 2
    inner = seen[top : top + rows, left : left + columns]
    for corner in ((0, 0), (0, -1), (-1, 0), (-1, -1)):
        assert np.abs(inner[corner].astype(int) - pixels[corner].astype(int)).max() < 30
    outside = seen.copy()
    outside[top : top + rows, left : left + columns] = seen[0, 0] if (top or left) else 0
    assert (outside == outside[0, 0]).all()
