"""Tables as people's programs write them: missing words, delimiters, rounded numbers, other files, no expert."""

import gzip
import io
import json
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

from l2d_core.cli.commands import main
from l2d_core.comparison.mapped_tables import Columns, guess_columns, import_table, read_predictions
from l2d_core.comparison.systems import System, align
from l2d_core.data import Scores
from l2d_core.datasets.ham10000 import read_metadata
from l2d_core.evaluation.deferral import defer_by_argmax
from l2d_core.evaluation.probabilities import expert_probability

COLUMNS = Columns("label", ("expert",), ("p_cat", "p_dog"), ("p_defer",), "id")
HEAD = "id,label,expert,p_cat,p_dog,p_defer\n"
PLAIN = Columns("label", (), ("cat", "dog"), (), "id")
ARGUMENTS = ["--domain", "probabilities", "--label", "label", "--id", "id"]


def read(text, columns=COLUMNS, **options):
    data = text if isinstance(text, bytes) else text.encode()
    options = {"surrogate": "softmax", "domain": "probabilities", "class_names": ("cat", "dog"), **options}
    return import_table(read_predictions(data, "mine.csv"), columns, **options)


def rows(*cells, numbers="0.5,0.3,0.2"):
    return HEAD + "".join(f"{cell},{numbers}\n" for cell in cells)


@pytest.mark.parametrize("word", ["", " ", "NA", "NaN", "null", "None", "#N/A", "-1", " -1 "])
def test_an_answer_that_is_missing_in_any_usual_word_was_not_asked(word):
    found = read(rows(f"a,cat,{word}", "b, dog , dog ")).scores
    assert found.answers[:, 0].tolist() == [-1, 1]
    assert found.labels.tolist() == [0, 1]


def test_a_class_may_have_a_name_that_is_also_a_word_for_missing():
    found = read(rows("a,none,none", "b,dog,"), class_names=("none", "dog")).scores
    assert found.labels.tolist() == [0, 1]
    assert found.answers[:, 0].tolist() == [0, -1]


def test_a_second_expert_may_be_asked_in_half_of_the_rows():
    text = "label,m1,m2,a,b,d1,d2\ncat,dog,,1,2,3,4\ndog,dog,cat,1,2,3,4\n"
    columns = Columns("label", ("m1", "m2"), ("a", "b"), ("d1", "d2"))
    assert read(text, columns, domain="logits").scores.answers.tolist() == [[1, -1], [1, 0]]


@pytest.mark.parametrize("cell", ["#DIV/0!", "70 %", "1.2.3", "True"])
def test_the_first_cell_that_is_no_number_is_named(cell):
    with pytest.raises(ValueError, match=rf"p_defer must hold numbers, got '{cell}' at row 1 \(b\)"):
        read(HEAD + f"a,cat,dog,0.5,0.3,0.2\nb,cat,dog,0.5,0.3,{cell}\nc,cat,dog,0.5,0.3,x\n")


def test_ids_are_text_as_they_are_written():
    assert read(rows("0001,cat,dog", "1E1,cat,dog", "1.0,cat,dog")).scores.ids.tolist() == ["0001", "1E1", "1.0"]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (("a", "", "c"), "id, an id, must be given in every row, got nothing at row 1"),
        (("a", "b", "a"), "must name each case once, got 'a' at row 0 and at row 2, and 1 repeated ids"),
    ],
)
def test_ids_that_are_blank_or_repeated_are_refused_by_row(ids, message):
    with pytest.raises(ValueError, match=message):
        read(rows(*(f"{one},cat,dog" for one in ids)))


def test_folders_and_endings_of_images_do_not_part_ids():
    files = [("ISIC_1.jpg", "ISIC_2.JPG"), ("ISIC_2", "ISIC_1"), ("test/ISIC_1.png", "test/ISIC_2.png")]
    systems = [System(str(k), read(rows(*(f"{one},cat,dog" for one in ids))).scores) for k, ids in enumerate(files)]
    aligned, notes = align(systems)
    assert all(one.test.ids.tolist() == ["ISIC_1", "ISIC_2"] for one in aligned)
    assert any("without folders and without the endings" in note for note in notes)


def test_equal_ids_are_never_paired_by_position():
    twice = Scores.from_arrays(
        np.zeros((2, 3)), np.zeros(2, int), np.zeros(2, int), surrogate="softmax", ids=["a", "a"]
    )
    with pytest.raises(ValueError, match="has the id 'a' twice"):
        align([System("one", twice), System("two", twice)])


TABLE = rows("a,cat,dog", 'b,dog,"cat"')


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace(",", ";").replace(".", ","),
        "sep=;\n" + TABLE.replace(",", ";").replace(".", ","),
        TABLE.encode("utf-16"),
        TABLE.encode("utf-8-sig"),
        TABLE.replace(",", "|"),
        TABLE.replace(",", "\t"),
        TABLE.replace("\n", "\r\n"),
        "# written by a program\n\n" + TABLE,
        TABLE.replace("b,", "# a remark, in the middle\nb,"),
        TABLE.replace(",", ", "),
        TABLE.replace(",", " , ").replace(' "cat"', "cat"),
        TABLE.replace("\n", ",,\n"),
    ],
)
def test_one_table_in_any_common_form_gives_the_same_scores(text):
    found, plain = read(text).scores, read(TABLE).scores
    np.testing.assert_array_equal(found.logits, plain.logits)
    for name in ("ids", "labels", "answers"):
        assert getattr(found, name).tolist() == getattr(plain, name).tolist()


def test_the_reader_of_metadata_reads_the_same_forms():
    for text in (
        "# a remark\nimage_id,dx\nISIC_1,nv\n",
        "image_id, dx\nISIC_1, nv\n# the end\n",
        "image_id|dx\nISIC_1|nv\n",
    ):
        assert read_metadata(text.encode())["dx"].tolist() == ["nv"]


def test_commas_inside_quoted_names_stay():
    text = 'id, label, expert, "p, cat", p_dog, p_defer\n"a, b", cat, dog, 0.5, 0.3, 0.2\n'
    found = read(text, Columns("label", ("expert",), ("p, cat", "p_dog"), ("p_defer",), "id")).scores
    assert found.ids.tolist() == ["a, b"]


def test_a_header_that_is_a_comment_names_the_columns():
    assert read("# id,label,expert,p_cat,p_dog,p_defer\na,0,1,0.5,0.3,0.2\n").scores.ids.tolist() == ["a"]


@pytest.mark.parametrize(
    ("numbers", "note"),
    [
        ("0.3333,0.3333,0.3333", "have 4 decimals: rows sum to 1 within 0.0001"),
        ("0.33,0.33,0.33", "have 2 decimals: rows sum to 1 within 0.01"),
        ("1.0000001,0.0,-1e-9", "2 probabilities lie outside 0..1 by rounding"),
    ],
)
def test_rounded_probabilities_are_taken_with_a_note(numbers, note):
    found = read(rows("a,cat,dog", numbers=numbers))
    assert len(found.notes) == 1
    assert note in found.notes[0]


@pytest.mark.parametrize("numbers", ["0.5,0.3,0.9", "0.3334,0.3334,0.3334,", "0.35,0.35,0.35", "0.5001,0.3001,0.2003"])
def test_sums_that_rounding_does_not_explain_are_refused(numbers):
    with pytest.raises(ValueError, match="must sum to 1 in each row"):
        read(rows("a,cat,dog", numbers=numbers.rstrip(",")))


def test_rounded_probabilities_called_logits_are_still_noticed():
    with pytest.raises(ValueError, match="look like probabilities"):
        read(rows("a,cat,dog", numbers="0.33,0.33,0.33"), domain="logits")


def test_classes_may_be_called_true_and_false():
    found = read(rows("a,True,FALSE", "b,false,true"), class_names=("False", "True")).scores
    assert found.labels.tolist() == [1, 0]
    assert found.answers[:, 0].tolist() == [0, 1]


@pytest.mark.parametrize("write", [lambda table: table.to_csv(index=False).encode(), pd.DataFrame.to_parquet])
def test_answers_that_say_whether_the_expert_was_right_are_explained_and_taken_as_such(write):
    numbers = {"p_cat": [0.5, 0.5], "p_dog": [0.3, 0.3], "p_defer": [0.2, 0.2]}
    data = write(pd.DataFrame({"id": ["a", "b"], "label": ["cat", "dog"], "expert": [True, False], **numbers}))
    with pytest.raises(ValueError, match="whether the expert was right, not which class it named"):
        read(data)
    found = read(data, answers_are="correct")
    assert found.scores.expert_correct[:, 0].tolist() == [True, False]
    assert "which class a wrong expert named is not known" in found.notes[0]
    with pytest.raises(ValueError, match=r"must say whether the expert was right, .* got 'maybe' at row 0"):
        read(rows("a,cat,maybe"), answers_are="correct")


def zipped(*names):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return stream.getvalue()


def npy():
    stream = io.BytesIO()
    np.save(stream, np.ones(3))
    return stream.getvalue()


OTHERS = {
    "JSON lines": (b'{"a": 1, "b": 2}\n{"a": 2}\n', r"JSON lines: convert it: pandas.read_json\(.*lines=True"),
    "records": (b'[{"a": 1},\n {"a": 2}]', "a list of records in JSON: convert it"),
    "W&B": (json.dumps({"columns": ["a"], "data": [[1]]}).encode(), "Weights & Biases writes it: convert it"),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook: save it as 'CSV UTF-8'"),
    "xls": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99),
        "old Office document, such as .xls: save it as 'CSV UTF-8'",
    ),
    "pt": (
        zipped("archive/data.pkl", "archive/version"),
        r"PyTorch \(.pt\): it could run a program and is never opened",
    ),
    "pickle": (b"\x80\x04\x95\x00", "a Python pickle: it could run a program"),
    "zip": (zipped("predictions.csv"), "a zip .*: unpack it"),
    "gz": (gzip.compress(b"a,b\n1,2\n"), "gzip: unpack it and choose the file"),
    "npy": (npy(), "a NumPy array: one array is no table"),
    "npz": (zipped("a.npy"), r"arrays of NumPy \(.npz\)"),
    "LFS pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n",
        "Git LFS pointer: fetch .*git lfs pull",
    ),
    "weights": (b"\x0a\0\0\0\0\0\0\0" + b'{"a":{}}  ' + bytes(9), "a file of weights"),
    "picture": (b"\x89PNG\r\n\x1a\n", "a PNG image: a table is needed here"),
    "web page": (b"<!doctype html><p>Sign in</p>", "HTML: the download gave a web page"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_another_kind_of_file_is_named_with_what_to_do(kind, tmp_path, capsys):
    data, message = OTHERS[kind]
    with pytest.raises(ValueError, match=message):
        read_predictions(data, "mine.csv")
    (tmp_path / "mine").write_bytes(data)
    command = ["import", str(tmp_path / "mine"), "--out", str(tmp_path / "out.npz"), *ARGUMENTS]
    assert main([*command, "--scores", "cat", "dog"]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("name", ["text", "LFS pointer"])
def test_what_is_called_npz_and_is_none_is_never_said_to_need_a_pickle(name, tmp_path):
    data = {"text": b"0.1 0.2\n0.3 0.4\n", "LFS pointer": OTHERS["LFS pointer"][0]}[name]
    (tmp_path / "mine.npz").write_bytes(data)
    with pytest.raises(ValueError, match=f"it is (a Git )?{name}") as caught:
        Scores.load(tmp_path / "mine.npz")
    assert "pickle" not in str(caught.value)


def test_a_plain_classifier_has_no_expert_and_one_may_be_simulated(tmp_path, capsys):
    text = "id,label,cat,dog\n" + "".join(f"{k},{'cat' if k % 2 else 'dog'},0.6,0.4\n" for k in range(200))
    assert guess_columns(read_predictions(text.encode())) == PLAIN
    with pytest.raises(ValueError, match="there is no expert in this table"):
        read(text, PLAIN)
    found = read(text, PLAIN, expert_accuracy=[0.9, 0.1])
    np.testing.assert_allclose(expert_probability(found.scores)[:, 0], 0.6 * 0.9 + 0.4 * 0.1)
    assert not defer_by_argmax(found.scores.logits).any()  # 0.58 < 0.6
    (tmp_path / "mine.csv").write_text(text)
    command = ["import", str(tmp_path / "mine.csv"), "--out", str(tmp_path / "out.npz"), *ARGUMENTS]
    assert main([*command, "--scores", "cat", "dog"]) == 2
    assert "--expert-accuracy" in capsys.readouterr().err
    assert main([*command, "--scores", "cat", "dog", "--expert-accuracy", "0.8"]) == 0
    assert "note: the expert is simulated" in capsys.readouterr().out
    made = Scores.load(tmp_path / "out.npz")
    assert defer_by_argmax(made.logits).all()
    assert 0.7 < made.expert_correct.mean() < 0.9


def test_the_index_of_parquet_is_kept_and_may_be_the_id(tmp_path):
    table = pd.DataFrame({"label": [0], "expert": [1], "p_cat": [0.5], "p_dog": [0.3], "p_defer": [0.2]})
    table.set_index(pd.Index(["q1"], name="id")).to_parquet(tmp_path / "mine.parquet")
    command = ["import", str(tmp_path / "mine.parquet"), "--out", str(tmp_path / "out.npz"), "--surrogate", "softmax"]
    command += [*ARGUMENTS, "--answers", "expert", "--scores", "p_cat", "p_dog", "--defer", "p_defer"]
    assert main(command) == 0
    assert Scores.load(tmp_path / "out.npz").ids.tolist() == ["q1"]


def test_scores_of_this_program_need_no_import(tmp_path, capsys):
    read(TABLE).scores.save(tmp_path / "mine.npz")
    command = ["import", str(tmp_path / "mine.npz"), "--out", str(tmp_path / "out.npz"), *ARGUMENTS]
    assert main([*command, "--scores", "a", "b"]) == 2
    assert "already holds scores (2 cases): Compare opens it" in capsys.readouterr().err


def test_control_characters_reach_a_terminal_escaped(tmp_path, capsys):
    (tmp_path / "mine.csv").write_text("id,label,\x1b[31mcat,dog\nx\x07,0,1,y\n")
    command = ["import", str(tmp_path / "mine.csv"), "--out", str(tmp_path / "out.npz"), *ARGUMENTS]
    for scores in (["a", "b"], ["\x1b[31mcat", "dog"]):
        assert main([*command, "--scores", *scores]) == 2
        said = capsys.readouterr().err
        assert "\\x" in said
        assert "\x1b" not in said
        assert "\x07" not in said
