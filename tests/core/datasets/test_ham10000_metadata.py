"""The metadata of HAM10000: every published layout, what is odd in a row, and what an upload may try."""

import codecs
import time
from io import BytesIO, StringIO

import pytest

from l2d_core.datasets import delimited_text
from l2d_core.datasets.ham10000.metadata import COLUMNS, parse_metadata, read_metadata
from l2d_core.datasets.ham10000.values import (
    CLASS_NAMES,
    SITES,
    clean_age,
    clean_class,
    clean_image_id,
    clean_sex,
    clean_site,
    match_key,
)

HEADER = "lesion_id,image_id,dx,dx_type,age,sex,localization"
ROW = {
    "image_id": "ISIC_1",
    "lesion_id": "HAM_1",
    "dx": "nv",
    "dx_type": "histo",
    "age": "55",
    "sex": "female",
    "localization": "back",
    "notes": "",
}
ONE_HOT = "image,MEL,NV,BCC,AKIEC,BKL,DF,VASC\n"


def read(text, **options):
    return read_metadata(text.encode(), **options)


def first(text, **options):
    return read(text, **options).iloc[0].to_dict()


LAYOUTS = {
    "csv": f"{HEADER}\nHAM_1,ISIC_1,nv,histo,55.0,female,back\n",
    "dataverse tab": f"{HEADER}\n".replace(",", "\t") + '"HAM_1"\t"ISIC_1"\t"nv"\t"histo"\t55.0\t"female"\t"back"\n',
    "excel": "\ufeffLesion_ID;Image_ID;DX;dx_type;Age;Sex;Localization\r\nHAM_1;ISIC_1;NV;Histo;55,0;Female;BACK \r\n",
    "excel with its own first line": f"sep=;\r\n{HEADER}\r\n".replace(",", ";")
    + "HAM_1;ISIC_1;nv;histo;55;female;back",
    "bars": f"{HEADER}\nHAM_1,ISIC_1,nv,histo,55.0,female,back\n".replace(",", "|"),
    "archive": "isic_id,lesion_id,diagnosis,diagnosis_confirm_type,age_approx,sex,anatom_site_general,attribution\n"
    'ISIC_1,HAM_1,Nevus,histopathology,55,female,back,"Vienna, Austria"\n',
    "other order, blanks in the header": " Sex , Image ID ,DX,localization,AGE,dx_type,lesion_id,dataset,,\n"
    "female,ISIC_1.jpg, nv ,back,55,histo,HAM_1,vidir,,\n\n",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_row(layout):
    table = read(LAYOUTS[layout])
    assert list(table) == [*COLUMNS, "notes"]
    assert len(table) == 1
    assert table.iloc[0].to_dict() == ROW


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_marked_utf_16_is_read(mark):
    text = LAYOUTS["dataverse tab"]
    encoded = text.encode("utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be")
    assert read_metadata(mark + encoded).iloc[0].to_dict() == ROW


@pytest.mark.parametrize("name", ["HAM10000_metadata", "HAM10000_metadata.tab", "läsion ü.CSV"])
def test_the_name_of_the_file_says_nothing_about_its_layout(tmp_path, name):
    path = tmp_path / name
    path.write_text(LAYOUTS["dataverse tab"], encoding="utf-8")
    data = path.read_bytes()
    for source in (path, str(path), data, BytesIO(data), StringIO(data.decode())):
        assert read_metadata(source).iloc[0].to_dict() == ROW


def test_the_challenges_one_hot_rows_name_their_class():
    rows = [
        f"ISIC_{place},{','.join('1.0' if column == place else '0.0' for column in range(7))}" for place in range(7)
    ]
    found = read(ONE_HOT + "\n".join(rows))
    assert list(found["dx"]) == ["mel", "nv", "bcc", "akiec", "bkl", "df", "vasc"]
    assert set(found["age"]) | set(found["sex"]) | set(found["localization"]) == {"unknown"}


def test_one_hot_rows_in_excels_way_are_read():
    assert first("\ufeff" + ONE_HOT.replace(",", ";") + "ISIC_1;0,0;1,0;0,0;0,0;0,0;0,0;0,0")["dx"] == "nv"


@pytest.mark.parametrize(
    "values", ["0,0,0,0,0,0,0", "1,1,0,0,0,0,0", "0.7,0.3,0,0,0,0,0", "1,0.2,0,0,0,0,0", "2,0,0,0,0,0,0"]
)
def test_rows_that_are_not_one_hot_are_named(values):
    with pytest.raises(ValueError, match=r"one 1 among zeros .* at line 3"):
        read(ONE_HOT + f"ISIC_1,1,0,0,0,0,0,0\nISIC_2,{values}")


def test_the_later_challenges_other_classes_are_listed_not_dropped():
    text = "image,MEL,NV,BCC,AK,BKL,DF,VASC,SCC,UNK\nISIC_1,0,0,0,1,0,0,0,0,0\nISIC_2,0,0,0,0,0,0,0,1,0\n"
    with pytest.raises(ValueError, match=r"got 'scc' \(1 rows\) in"):
        read(text)
    assert list(read(text, labelled=False)["dx"]) == ["akiec", ""]


ALIASES = {
    "AKIEC": "akiec",
    "AK": "akiec",
    "actinic_keratoses": "akiec",
    "melanocytic_Nevi": "nv",
    "nv ": "nv",
    "Basal cell carcinoma": "bcc",
    "benign_keratosis-like_lesions": "bkl",
    "seborrheic keratosis": "bkl",
    "MELANOMA": "mel",
    "vascular_lesions": "vasc",
}


@pytest.mark.parametrize("text", ALIASES)
def test_other_names_of_a_class_are_read(text):
    assert clean_class(text) == ALIASES[text]


@pytest.mark.parametrize("text", ["SCC", "UNK", "", "unknown", "nan", "nvx", "squamous cell carcinoma"])
def test_what_is_none_of_the_seven_is_not_made_one(text):
    assert clean_class(text) is None


def test_the_seven_names_are_their_own():
    assert [clean_class(name) for name in CLASS_NAMES] == list(CLASS_NAMES) == sorted(CLASS_NAMES)


def test_unknown_diagnoses_are_listed_with_their_counts():
    rows = ["ISIC_1,SCC", "ISIC_2,nv", "ISIC_3,UNK", "ISIC_4,SCC", "ISIC_5,"]
    text = "image_id,dx\n" + "\n".join(rows)
    with pytest.raises(ValueError, match=r"akiec, .*, vasc; got 'SCC' \(2 rows\), 'UNK' \(1 rows\), '' \(1 rows\)"):
        read(text)
    table = read(text, labelled=False)
    assert list(table["dx"]) == ["", "nv", "", "", ""]
    assert table["notes"].iloc[0] == "dx 'SCC' is none of the seven classes: left out"


AGES = {
    "": ("unknown", ""),
    " NA": ("unknown", ""),
    "NaN": ("unknown", ""),
    "None": ("unknown", ""),
    "Unknown": ("unknown", ""),
    "45": ("45", ""),
    "45.0": ("45", ""),
    "55,5": ("55.5", ""),
    "120": ("120", ""),
    "0": ("0", "suspicious"),
    "0.0": ("0", "suspicious"),
    "45 years": ("45", "read as 45"),
    "45y": ("45", "read as 45"),
    "-1": ("unknown", "no number of years"),
    "121": ("unknown", "not in 0..120"),
    "200": ("unknown", "not in 0..120"),
    "45 months": ("unknown", "no number of years"),
    "1e2": ("unknown", "no number of years"),
    "inf": ("unknown", "no number of years"),
    "４５": ("unknown", "no number of years"),
    "9" * 150: ("unknown", "no number of years"),
}


@pytest.mark.parametrize("text", AGES)
def test_ages_follow_one_rule(text):
    value, note = clean_age(text)
    wanted, told = AGES[text]
    assert value == wanted
    assert told in note
    assert bool(told) == bool(note)


@pytest.mark.parametrize("text", ["lateral torso", "head/neck", "palms/soles", "<b>"])
def test_a_site_that_the_data_set_lacks_is_unknown_and_noted(text):
    assert clean_site(text) == ("unknown", f"localization {text!r} was not seen in training: treated as unknown")


def test_sites_and_sexes_are_read_in_any_case_and_nothing_is_invented():
    assert [clean_site(f" {site.upper()} ") for site in SITES] == [(site, "") for site in SITES]
    assert clean_site("Lower_Extremity") == ("lower extremity", "")
    for blank in ("", "unknown", "NA", " None ", "-"):
        assert clean_site(blank) == clean_sex(blank) == ("unknown", "")
    assert [clean_sex(text)[0] for text in ("Female", "M", "f", "MALE ")] == ["female", "male", "female", "male"]
    assert clean_sex("x") == ("unknown", "sex 'x' was not seen in training: treated as unknown")


def test_absent_columns_are_unknown_and_named():
    parsed = parse_metadata(b"image_id,dx\nISIC_1,nv\n")
    assert parsed.absent == ("lesion_id", "dx_type", "age", "sex", "localization")
    unknown = {"lesion_id": "", "dx_type": "unknown", "age": "unknown", "sex": "unknown", "localization": "unknown"}
    assert parsed.table.iloc[0].to_dict() == ROW | unknown


def test_no_value_is_missing_whatever_is_blank():
    table = read(f"{HEADER}\n,ISIC_1,nv,,,,\nNA,ISIC_2,mel,NA,NaN,None,null\n")
    assert not table.isna().to_numpy().any()
    assert list(table["lesion_id"]) == ["", ""]
    assert list(table["age"]) == ["unknown", "unknown"]


def test_an_id_that_reads_na_stays_an_id():
    assert list(read("image_id,dx\nNA,nv\nNone,mel\n")["image_id"]) == ["NA", "None"]


@pytest.mark.parametrize(
    "stem", ["ISIC_1", "isic_1", "ISIC_1 (1)", "ISIC_1(2)", "ISIC_1 - Copy", "ISIC_1 copy 2", " ISIC_1 "]
)
def test_copies_of_a_file_have_one_key(stem):
    assert match_key(stem) == "isic_1"


def test_other_stems_have_other_keys():
    assert len({match_key(stem) for stem in ("ISIC_1", "ISIC_10", "ISIC_01", "ISIC_1_segmentation", "copy")}) == 5
    assert match_key("ISIC_1.JPG") == "isic_1"
    assert clean_image_id("Lésion_1.jpeg ") == "Lésion_1"


def test_a_long_stem_is_keyed_at_once():
    start = time.process_time()
    for stem in (" " * 50_000 + "x", "(1" * 25_000, " copy" * 50 + "x"):
        match_key(stem)
    assert time.process_time() - start < 1


def test_rows_that_say_the_same_again_are_counted_and_left_out():
    parsed = parse_metadata(b"image_id,dx,age\nISIC_1,nv,45\nisic_1.jpg,NV,45.0\nISIC_2,mel,\nISIC_1,nv,45\n")
    assert list(parsed.table["image_id"]) == ["ISIC_1", "ISIC_2"]
    assert parsed.repeated == 2


@pytest.mark.parametrize(("row", "column"), [("ISIC_1,mel,45", "dx 'nv'"), ("ISIC_1,nv,50", "age '45'")])
def test_rows_of_one_image_that_differ_are_named(row, column):
    with pytest.raises(ValueError, match=rf"got ISIC_1 twice in the table, with {column} at line 2 and .* at line 4"):
        read(f"image_id,dx,age\nISIC_1,nv,45\nISIC_2,nv,45\n{row}\n")


def test_a_missing_column_is_named_with_its_other_names():
    with pytest.raises(ValueError, match=r"lacks the column image_id \(image, isic_id, .*\); it has picture, dx"):
        read("picture,dx\nISIC_1,nv\n")
    with pytest.raises(ValueError, match=r"lacks the column dx \(diagnosis, .*\); it has image_id, age"):
        read("image_id,age\nISIC_1,45\n")
    assert read("image_id,age\nISIC_1,45\n", labelled=False)["dx"].iloc[0] == ""


HOSTILE = {
    "empty": (b"", "must have a line of column names, it is empty"),
    "only blanks": (b"\n \n", "it is empty"),
    "only a header": (b"image_id,dx\n", "at least one row below"),
    "NUL": (b"image_id,dx\nISIC_1,nv\nISIC\0_2,nv\n", "line 3 holds a NUL"),
    "unmarked UTF-16": ("image_id,dx\nISIC_1,nv\n".encode("utf-16-le"), "line 1 holds a NUL"),
    "cut UTF-16": ("image_id,dx\nISIC_1,nv".encode("utf-16")[:-1], "must be text in UTF-8"),
    "bad UTF-8": (b"image_id,dx\nISIC_1,nv\nISIC_2,\xff\xfe\n", "line 3 is not"),
    "latin-1": ("image_id,dx\nLäsion_1,nv\n".encode("latin-1"), "line 2 is not: save it as 'CSV UTF-8'"),
    "an image": (b"\xff\xd8\xff\xe0\x00\x10JFIF", "is a JPEG image: a table is needed here"),
    "HTML": (b"<!DOCTYPE html>\n<html></html>", "is HTML: the download gave a web page; get the file itself"),
    "short row": (b"image_id,dx,age\nISIC_1,nv,1\nISIC_2,nv\n", "3 fields in each row, got 2 at line 3"),
    "long row": (b"image_id,dx\nISIC_1,nv,1\n", "2 fields in each row, got 3 at line 2"),
    "decimal commas unquoted": (b"image_id,age,dx\nISIC_1,45,0,nv\n", "3 fields in each row, got 4 at line 2"),
    "open quote": (b'image_id,dx\nISIC_1,"nv\nISIC_2,nv\n', "cannot be read at line 3"),
    "no id": (b"image_id,dx\nISIC_1,nv\n,nv\n", "image_id in each row, got none at line 3"),
    "long id": (b"image_id,dx\n" + b"x" * 300 + b",nv\n", "at most 200 characters in image_id, got 300 at line 2"),
    "huge field": (b"image_id,dx\n" + b"x" * 200_000 + b",nv\n", "cannot be read at line 2"),
    "a column twice": (b"image_id,dx,DX\nISIC_1,nv,mel\n", "each column once, got dx twice"),
    "columns": (b"image_id,dx" + b",x" * 1_000_000 + b"\n", "at most 500 columns, got 1,000,002"),
    "fields": (b"image_id,dx\n" + b"x," * 1_000_000 + b"x\n", "2 fields in each row, got 1,000,001 at line 2"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_tables_are_refused_with_the_file_and_line(kind, tmp_path):
    data, message = HOSTILE[kind]
    path = tmp_path / "upload.csv"
    path.write_bytes(data)
    for source in (path, BytesIO(data)):
        name = "upload.csv" if source is path else "the table"
        with pytest.raises(ValueError, match=message) as caught:
            read_metadata(source)
        assert name in str(caught.value)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("limit", "value", "message"), [("MAX_BYTES", 20, "at most 20 bytes"), ("MAX_ROWS", 2, "at line 4")]
)
def test_tables_beyond_the_limits_are_refused(monkeypatch, limit, value, message):
    monkeypatch.setattr(delimited_text, limit, value)
    with pytest.raises(ValueError, match=message):
        read_metadata(BytesIO(b"image_id,dx\nISIC_1,nv\nISIC_2,nv\nISIC_3,nv\n"))


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read_metadata(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="must be a file"):
        read_metadata(tmp_path)


def test_numbers_and_formulas_in_ids_are_text():
    table = read("image_id,dx\n0012,nv\n=1+1,mel\n")
    assert list(table["image_id"]) == ["0012", "=1+1"]
