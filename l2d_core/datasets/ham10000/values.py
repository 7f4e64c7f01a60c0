"""Cleaning of single values of HAM10000's metadata, with a note on odd ones; nothing is invented."""

import re

from l2d_core.datasets.delimited_text import MISSING
from l2d_core.datasets.facts import HAM10000 as CLASS_NAMES

UNKNOWN = "unknown"
_MISSING = MISSING | {UNKNOWN}
SEXES = ("male", "female")
SITES = (
    "abdomen",
    "acral",
    "back",
    "chest",
    "ear",
    "face",
    "foot",
    "genital",
    "hand",
    "lower extremity",
    "neck",
    "scalp",
    "trunk",
    "upper extremity",
)
CONFIRMATIONS = ("histo", "follow_up", "consensus", "confocal")
MAX_AGE_YEARS = 120
OTHER_CLASS_NAMES = {
    "ak": "akiec",
    "actinic_keratosis": "akiec",
    "actinic_keratoses": "akiec",
    "solar_or_actinic_keratosis": "akiec",
    "actinic_keratoses_and_intraepithelial_carcinoma": "akiec",
    "intraepithelial_carcinoma": "akiec",
    "bowen's_disease": "akiec",
    "basal_cell_carcinoma": "bcc",
    "benign_keratosis": "bkl",
    "benign_keratosis_like_lesion": "bkl",
    "benign_keratosis_like_lesions": "bkl",
    "pigmented_benign_keratosis": "bkl",
    "seborrheic_keratosis": "bkl",
    "solar_lentigo": "bkl",
    "lichenoid_keratosis": "bkl",
    "lichen_planus_like_keratosis": "bkl",
    "dermatofibroma": "df",
    "melanoma": "mel",
    "nevus": "nv",
    "naevus": "nv",
    "nevi": "nv",
    "melanocytic_nevus": "nv",
    "melanocytic_nevi": "nv",
    "vascular_lesion": "vasc",
    "vascular_lesions": "vasc",
}
# The ISIC archive's own terms, in its columns diagnosis_1 (coarse) to diagnosis_5 (fine), without ", NOS". HAM10000
# counts squamous cell carcinomas in situ and actinic keratoses as akiec, and all of its vascular lesions as vasc.
ARCHIVE_CLASS_NAMES = {
    "melanoma_invasive": "mel",
    "melanoma_in_situ": "mel",
    "melanoma_metastasis": "mel",
    "malignant_melanocytic_proliferations_(melanoma)": "mel",
    "benign_melanocytic_proliferations": "nv",
    "squamous_cell_carcinoma": "akiec",
    "squamous_cell_carcinoma_in_situ": "akiec",
    "indeterminate_epidermal_proliferations": "akiec",
    "malignant_epidermal_proliferations": "akiec",
    "malignant_adnexal_epithelial_proliferations_follicular": "bcc",
    "benign_epidermal_proliferations": "bkl",
    "benign_soft_tissue_proliferations_fibro_histiocytic": "df",
    "benign_soft_tissue_proliferations_vascular": "vasc",
    "hemangioma": "vasc",
    "angiokeratoma": "vasc",
    "pyogenic_granuloma": "vasc",
}
OTHER_CONFIRMATIONS = {
    "histopathology": "histo",
    "serial_imaging_showing_no_change": "follow_up",
    "single_image_expert_consensus": "consensus",
    "confocal_microscopy_with_consensus_dermoscopy": "confocal",
}

Cleaned = tuple[str, str]  # the value, and a note, empty where nothing is odd


def clean_class(text: str) -> str | None:
    """The class of a diagnosis, in any case or by another common name; None where it is none of the seven."""
    key = _key(text)
    return key if key in CLASS_NAMES else OTHER_CLASS_NAMES.get(key)


def clean_archive_class(text: str) -> str | None:
    """The class of a term of the ISIC archive; None where it is none of the seven, or too coarse to say."""
    key = re.sub(r",?_nos$", "", _key(text))
    return clean_class(key) or ARCHIVE_CLASS_NAMES.get(key)


def clean_age(text: str) -> Cleaned:
    """Years as a plain number, or "unknown". From 0 to 120; a decimal comma and the unit "years" are accepted."""
    plain = text.strip().casefold()
    if plain in _MISSING:
        return UNKNOWN, ""
    number = re.fullmatch(r"([0-9]{1,6})(?:[.,]([0-9]{1,12}))?(\s*(?:years?(?: old)?|yrs?|y))?", plain)
    if number is None:
        return UNKNOWN, f"age {_quote(text)} is no number of years: treated as unknown"
    years = float(f"{number[1]}.{number[2] or 0}")
    if years > MAX_AGE_YEARS:
        return UNKNOWN, f"age {_quote(text)} is not in 0..{MAX_AGE_YEARS}: treated as unknown"
    if years == 0:
        return "0", "age 0 is taken as it is, but suspicious"
    return f"{years:g}", f"age {_quote(text)} read as {years:g}" if number[3] else ""


def clean_sex(text: str) -> Cleaned:
    """One of SEXES, or "unknown"; m and f are accepted."""
    key = {"m": "male", "f": "female"}.get(_key(text), _key(text))
    return _one_of("sex", text, key, SEXES)


def clean_site(text: str) -> Cleaned:
    """One of SITES in any case, or "unknown"; other sites are not mapped to these."""
    return _one_of("localization", text, _key(text).replace("_", " "), SITES)


def clean_confirmation(text: str) -> Cleaned:
    """How the diagnosis was confirmed: one of CONFIRMATIONS, or "unknown"."""
    key = _key(text)
    return _one_of("dx_type", text, OTHER_CONFIRMATIONS.get(key, key), CONFIRMATIONS)


def clean_lesion(text: str) -> str:
    """The lesion's id, or "" where none is given."""
    return "" if text.casefold() in _MISSING else text


def clean_image_id(text: str) -> str:
    """An image's id as written, without folders and without the ending of an image file."""
    name = re.split(r"[/\\]", text.strip())[-1]
    return re.sub(r"\.(jpe?g|png|tiff?|bmp|webp)$", "", name, flags=re.IGNORECASE)


def plain_key(stem: str) -> str:
    """An id or a file's stem without case, ending and odd blanks."""
    return " ".join(clean_image_id(stem).casefold().split())


def match_key(stem: str) -> str:
    """The key by which ids and file stems are matched: `plain_key` without the marks of a copy, "(1)" or "copy"."""
    return re.sub(r"(?: ?\([0-9]+\)| - copy| copy(?: [0-9]+)?)+$", "", plain_key(stem))


def _one_of(column: str, text: str, key: str, known: tuple[str, ...]) -> Cleaned:
    if key in known:
        return key, ""
    if key in _MISSING:
        return UNKNOWN, ""
    return UNKNOWN, f"{column} {_quote(text)} was not seen in training: treated as unknown"


def _key(text: str) -> str:
    return re.sub(r"[\s_-]+", "_", text.strip().casefold()) if text.strip() != "-" else "-"


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}…")
