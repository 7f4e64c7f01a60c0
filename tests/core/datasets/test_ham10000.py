"""HAM10000 in folders of every shape: images and tables joined by id, what is left over, and how it is told."""

import os
import warnings
import zipfile

import numpy as np
import pytest

from l2d_core.cli.commands import main
from l2d_core.common.paths import DATA_ROOT
from l2d_core.datasets import ham10000
from l2d_core.datasets.ham10000.files import find_files, find_folder

HEADER = "lesion_id,image_id,dx,dx_type,age,sex,localization"
ROWS = [
    "HAM_1,ISIC_1,nv,histo,45.0,male,back",
    "HAM_1,ISIC_2,nv,histo,45.0,male,back",
    "HAM_2,ISIC_3,mel,histo,,unknown,unknown",
    "HAM_3,ISIC_4,akiec,histo,0.0,female,face",
]
PART_1, PART_2 = "HAM10000_images_part_1", "HAM10000_images_part_2"

pytestmark = pytest.mark.filterwarnings("ignore:.*published ones")


def put(folder, *names, content=b"x"):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(content)
    return folder


def write_table(folder, rows=ROWS, name="HAM10000_metadata.csv", header=HEADER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def home(tmp_path):
    """Two volumes of two images each, and the table."""
    home = tmp_path / "ham10000"
    put(home / PART_1, "ISIC_1.jpg", "ISIC_2.jpg")
    put(home / PART_2, "ISIC_3.jpg", "ISIC_4.jpg")
    write_table(home)
    return home


def names(table):
    return [f"{path.parent.name}/{path.name}" for path in table["path"]]


def test_the_two_volumes_are_one_data_set_without_parts(home):
    table = ham10000.list_images(home.parent)
    assert names(table) == [
        f"{PART_1}/ISIC_1.jpg",
        f"{PART_1}/ISIC_2.jpg",
        f"{PART_2}/ISIC_3.jpg",
        f"{PART_2}/ISIC_4.jpg",
    ]
    assert list(table["part"]) == [""] * 4
    assert list(table["group"]) == ["HAM_1", "HAM_1", "HAM_2", "HAM_3"]
    assert [ham10000.CLASS_NAMES[label] for label in table["label"]] == ["nv", "nv", "mel", "akiec"]
    assert list(table["age"]) == ["45", "45", "unknown", "0"]
    assert list(table["localization"]) == ["back", "back", "unknown", "face"]
    assert list(table["notes"]) == ["", "", "", "age 0 is taken as it is, but suspicious"]


@pytest.mark.parametrize("where", ["HAM10000", "ham10000", "."])
@pytest.mark.parametrize("inner", ["images", "all/600x450", "."])
def test_one_folder_of_images_is_found_wherever_it_lies(tmp_path, where, inner):
    home = tmp_path / where
    put(home / inner, *(f"ISIC_{number}.PNG" for number in range(1, 5)))
    write_table(home, name="table")
    assert list(ham10000.list_images(tmp_path)["id"]) == ["ISIC_1", "ISIC_2", "ISIC_3", "ISIC_4"]


def test_doubled_folders_in_another_case_give_each_image_once(home):
    put(home / PART_1.lower(), "ISIC_1.jpg", "ISIC_2.jpg")
    put(home / "ham10000_images_part_2", "ISIC_3.jpg", "ISIC_4.jpg")
    table = ham10000.list_images(home.parent)
    assert len(table) == 4
    assert set(table["path"].map(lambda path: path.parent.name)) == {PART_1, PART_2}
    report = ham10000.examine(home.parent)
    assert report.num_copies == 4
    assert report.folders == {home / PART_1: 2, home / PART_2: 2}
    assert "doubled: 4 files are further copies of an image, each image counts once" in str(report)


def test_files_match_by_normalised_stem_and_the_rest_is_listed_both_ways(home):
    for path in home.glob("*/*.jpg"):
        path.unlink()
    put(home / PART_1, "ISIC_1 (1).JPG", "isic_2.jpeg", "ISIC_3.Png", "ISIC_9.jpg")
    report = ham10000.examine(home.parent)
    assert (report.num_images, report.absent, report.unlisted) == (3, ("ISIC_4",), ("ISIC_9.jpg",))
    assert "left over: 1 listed without an image: ISIC_4" in str(report)
    assert "left over: 1 images that no table lists: ISIC_9.jpg" in str(report)
    with (
        pytest.warns(
            UserWarning, match=r"lacks 1 of the 4 listed images, the first is ISIC_4; the others are used\. .*doi"
        ),
        pytest.warns(UserWarning, match=r"holds 1 images that no table lists, the first is ISIC_9\.jpg"),
    ):
        assert len(ham10000.list_images(home.parent)) == 3


def test_a_plain_name_comes_before_its_copy_whatever_the_order_on_disk(home):
    put(home / PART_1, "ISIC_1 (1).jpg", "ISIC_1 copy.jpg")
    assert names(ham10000.list_images(home.parent))[0] == f"{PART_1}/ISIC_1.jpg"
    files = find_files(home)
    assert [path.name for path in files.images["isic_1"]] == ["ISIC_1.jpg", "ISIC_1 (1).jpg", "ISIC_1 copy.jpg"]


def test_hidden_files_and_macos_extras_are_no_images(home):
    put(home / PART_1, "._ISIC_1.jpg", ".ISIC_8.jpg", "Thumbs.db", ".DS_Store")
    put(home / "__MACOSX" / PART_1, "ISIC_7.jpg")
    report = ham10000.examine(home.parent)
    assert (report.num_images, report.unlisted, report.num_copies, len(report.set_aside)) == (4, (), 0, 0)


def test_folders_of_which_no_image_is_listed_are_set_aside_and_said(home):
    put(home / "masks", "ISIC_1_segmentation.png", "ISIC_2_segmentation.png")
    assert len(ham10000.list_images(home.parent)) == 4
    with pytest.warns(UserWarning, match="2 images in .*masks are not listed"):
        ham10000.list_images(home.parent)
    assert ham10000.examine(home.parent).set_aside == {home / "masks": 2}


def test_links_make_neither_loops_nor_doubles(home, tmp_path):
    elsewhere = put(tmp_path / "elsewhere", "ISIC_5.jpg")
    (home / "loop").symlink_to(home, target_is_directory=True)
    (home / "up").symlink_to(tmp_path, target_is_directory=True)
    (home / PART_1 / "deep").symlink_to(elsewhere, target_is_directory=True)
    (home / PART_1 / "ISIC_6.jpg").symlink_to(tmp_path / "nowhere.jpg")
    report = ham10000.examine(home.parent)
    assert (report.num_images, report.num_copies, report.num_links) == (4, 0, 3)
    assert "3 links to folders were not followed" in str(report)
    (home / "more").symlink_to(elsewhere, target_is_directory=True)
    assert ham10000.examine(home.parent).set_aside == {home / "more": 1}


def test_less_than_the_published_images_is_never_taken_without_a_word(home):
    with pytest.warns(UserWarning, match="holds 4 images of HAM10000's 10,015 published ones"):
        ham10000.list_images(home.parent)
    report = ham10000.examine(home.parent)
    assert not report.is_complete
    assert "NOT the whole data set of 10,015 images" in str(report)


def test_a_table_is_found_by_its_content(home):
    (home / "HAM10000_metadata.csv").rename(home / "notes.txt")
    write_table(home, ["1,2,3"], "hmnist_28_28_RGB.csv", "pixel0000,pixel0001,label")
    put(home, "README", "LICENSE.txt", content=b"Hello,\nworld")
    put(home, "broken.csv", content=b"\xff\xfe\x00")
    assert len(ham10000.list_images(home.parent)) == 4
    assert [path.name for path in find_files(home).tables] == ["notes.txt"]


def test_the_challenges_two_tables_are_joined(home):
    (home / "HAM10000_metadata.csv").unlink()
    classes = "image,MEL,NV,BCC,AKIEC,BKL,DF,VASC"
    truth = ["ISIC_1,0,1,0,0,0,0,0", "ISIC_2,0,1,0,0,0,0,0", "ISIC_3,1,0,0,0,0,0,0", "ISIC_4,0,0,0,1,0,0,0"]
    write_table(home, truth, "ISIC2018_Task3_Training_GroundTruth.csv", classes)
    assert list(ham10000.list_images(home.parent)["group"]) == ["ISIC_1", "ISIC_2", "ISIC_3", "ISIC_4"]
    lesions = ["ISIC_4,HAM_3,confocal", "ISIC_2,HAM_1,histopathology", "ISIC_1,HAM_1,histopathology"]
    write_table(home, lesions, "Groupings.csv", "image,lesion_id,diagnosis_confirm_type")
    table = ham10000.list_images(home.parent)
    assert list(table["group"]) == ["HAM_1", "HAM_1", "ISIC_3", "HAM_3"]
    assert list(table["dx_type"]) == ["histo", "histo", "unknown", "confocal"]
    report = ham10000.examine(home.parent)
    assert (report.num_lesions, report.num_without_lesion) == (2, 1)
    assert any("Groupings.csv: lesion_id, dx_type of 3 of these images" in line for line in report.tables)


def test_the_table_that_lists_most_of_the_images_counts(home):
    write_table(home, ["HAM_9,ISIC_900,df,histo,5,male,ear"] * 3, "A_test_set.csv")
    write_table(home, ROWS[:1], "a_part.tab")
    report = ham10000.examine(home.parent)
    assert report.num_images == 4
    assert [line.split("/")[-1] for line in report.tables] == [
        "HAM10000_metadata.csv: 4 images",
        "a_part.tab: 1 of these images, nothing new",
        "A_test_set.csv: not used, it lists none of these images",
    ]


def test_tables_that_disagree_on_a_diagnosis_are_refused(home):
    write_table(home, ["ISIC_3,nv"], "other.csv", "image_id,dx")
    with pytest.raises(
        ValueError, match=r"dx of ISIC_3 must be the same in all tables, got 'mel' in .* 'nv' in .*other"
    ):
        ham10000.list_images(home.parent)


def test_columns_that_another_table_brings_come_with_their_notes(home):
    write_table(home, ["ISIC_1,nv", "ISIC_2,nv", "ISIC_3,mel", "ISIC_4,akiec"], header="image_id,dx")
    write_table(home, ["ISIC_2,L1,200,lateral torso"], "z.csv", "image,lesion_id,age_approx,anatom_site_general")
    table = ham10000.list_images(home.parent)
    assert list(table["age"]) == ["unknown"] * 4
    assert "200" in table["notes"].iloc[1]
    assert "lateral torso" in table["notes"].iloc[1]
    assert table["notes"].iloc[0] == ""


def test_the_order_of_the_rows_changes_no_label_and_no_lesion(home):
    forward = ham10000.list_images(home.parent).set_index("id")
    write_table(home, list(reversed(ROWS)))
    assert forward.sort_index().equals(ham10000.list_images(home.parent).set_index("id").sort_index())


def test_the_report_names_what_is_odd(home):
    write_table(home, [*ROWS[:3], ROWS[3].replace("HAM_3", "HAM_1"), ROWS[0]])
    report = ham10000.examine(home.parent)
    assert (report.num_repeated, report.mixed_lesions) == (1, ("HAM_1",))
    assert report.unknown == {"age": 1, "sex": 1, "localization": 1, "dx_type": 0}
    assert report.notes == {"age 0 is taken as it is, but suspicious": 1}
    told = str(report)
    for part in (
        "classes: akiec 1, bcc 0, bkl 0, df 0, mel 1, nv 2, vasc 0",
        "doubled: 1 rows say the same again",
        "unknown: age of 1, sex of 1, localization of 1 images",
        "odd: 1 lesions with images of several classes: HAM_1",
        "odd: 1 images: age 0 is taken as it is, but suspicious",
    ):
        assert part in told


def test_images_that_no_lesion_is_known_of_are_split_by_image_and_it_is_said(home):
    write_table(home, ["ISIC_1,nv", "ISIC_2,nv", "ISIC_3,mel", "ISIC_4,akiec"], header="image_id,dx")
    told = str(ham10000.examine(home.parent))
    assert "image-level split, scores may be optimistic: the lesion of 4 of 4 images is not known" in told


def zip_of(path, count):
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(count):
            archive.writestr(f"ISIC_{number}.jpg", os.urandom(700))
        archive.writestr("__MACOSX/._ISIC_0.jpg", b"")
    return path


def test_a_zip_instead_of_images_is_to_be_unpacked(tmp_path):
    home = tmp_path / "ham10000"
    write_table(home)
    zip_of(home / "lesions.zip", 3)
    with pytest.raises(
        FileNotFoundError, match=r"no images in .*lesions\.zip is not unpacked \(3 images in it\): unpack"
    ):
        ham10000.list_images(tmp_path)


def test_a_truncated_zip_is_an_incomplete_download(home):
    path = zip_of(home / "more.zip", 5)
    path.write_bytes(path.read_bytes()[:-1024])
    put(home, f"{PART_1}.zip.crdownload")
    (home / PART_2 / "ISIC_4.jpg").unlink()
    with pytest.warns(UserWarning, match=r"lacks 1 of the 4 .*more\.zip is no whole zip .*incomplete download"):
        ham10000.list_images(home.parent)
    assert f"{PART_1}.zip.crdownload is an unfinished download" in str(ham10000.examine(home.parent))


@pytest.mark.parametrize("name", ["dermamnist.npz", "dermamnist_224.npz"])
def test_dermamnist_is_not_read_and_called_leaky(home, name):
    np.savez(home / name, train_images=np.zeros(1))
    told = str(ham10000.examine(home.parent))
    assert "leaky split, toy use" in told
    assert "HAM10000's is CC BY-NC 4.0" in told


def test_where_there_is_nothing_the_message_says_how_to_get_it(tmp_path, capsys):
    put(tmp_path / "cifar10" / "train" / "cat", "0001.jpg")
    assert find_folder(tmp_path) is None
    assert find_folder(tmp_path / "nowhere") is None
    with pytest.raises(FileNotFoundError, match=r"no folder .*images.*doi 10\.7910/DVN/DBW86T; CC BY-NC 4\.0"):
        ham10000.list_images(tmp_path)
    assert main(["data", "ham10000", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    for part in ("Harvard Dataverse", "doi 10.7910/DVN/DBW86T", "CC BY-NC 4.0", "HAM10000_images_part_1.zip"):
        assert part in told


def test_the_command_prints_the_report(home, capsys):
    assert main(["data", "ham10000", str(home.parent)]) == 0
    assert capsys.readouterr().out == f"{ham10000.examine(home.parent)}\n"


@pytest.mark.data
@pytest.mark.skipif(not (DATA_ROOT / "ham10000").is_dir(), reason="L2D_DATA_ROOT holds no ham10000")
def test_the_published_data_set_has_its_known_counts():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = ham10000.list_images(DATA_ROOT)
    assert (len(table), table["id"].nunique(), table["group"].nunique()) == (10_015, 10_015, 7_470)
    report = ham10000.examine(DATA_ROOT)
    assert report.is_complete
    assert report.unknown == {"age": 57, "sex": 57, "localization": 234, "dx_type": 0}
    assert report.notes == {"age 0 is taken as it is, but suspicious": 39}
    assert (report.num_copies, report.num_repeated, report.mixed_lesions) == (0, 0, ())
    assert report.class_counts == {
        "akiec": 327,
        "bcc": 514,
        "bkl": 1099,
        "df": 115,
        "mel": 1113,
        "nv": 6705,
        "vasc": 142,
    }
