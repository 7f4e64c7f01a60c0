"""The cases from the field: what people reported of other tools, a row each, and where it is tried here.

(a) the data set of skin lesions, (b) uploads, (c) the arithmetic of calibration and deferral, (d) training, (e) pages.
"""

from dataclasses import dataclass

import pytest

LESIONS, UPLOADS = "test_field_cases.py", "test_field_cases_uploads.py"
NUMBERS, TRAINING, PAGES = "test_field_cases_numbers.py", "test_field_cases_training.py", "test_field_cases_pages.py"
SYSTEMS = "test_field_cases_systems.py"
OF_THE_APP = (PAGES, SYSTEMS)


@dataclass(frozen=True)
class Row:
    """A row: its key, the symptom in a few words, and the files of tests that try it."""

    key: str
    symptom: str
    tried_in: tuple[str, ...]


ROWS = [
    Row("A1", "one lesion on both sides", (LESIONS, SYSTEMS)),
    Row("A3", "blank ages and sites are filled in silently", (LESIONS, PAGES)),
    Row("A4", "an unseen site becomes a vector of zeros", (LESIONS, PAGES)),
    Row("A6", "the right class under a wrong name", (LESIONS,)),
    Row("A7", "other spellings of the seven diagnoses", (LESIONS,)),
    Row("A9", "rows of one image twice", (LESIONS,)),
    Row("A10", "copies of an image are in training and test", (LESIONS,)),
    Row("A11", "how a diagnosis was confirmed leaks the answer", (LESIONS, PAGES)),
    Row("A12", "balanced accuracy with a class that has no cases", (LESIONS, NUMBERS, SYSTEMS)),
    Row("A13", "DermaMNIST is a leaky split", (LESIONS,)),
    Row("A14", "a download cut short is a bare BadZipFile", (LESIONS,)),
    Row("A15", "image folders twice in different case", (LESIONS,)),
    Row("A16", "blank or tiny pictures get confident labels", (LESIONS, PAGES)),
    Row("A17", "hidden crops change what the model sees", (LESIONS, PAGES)),
    Row("B1", "CMYK has four channels or inverted colours", (UPLOADS, PAGES)),
    Row("B2", "one, two or four channels break the network", (UPLOADS,)),
    Row("B4", "transparent pixels turn black or show what they hid", (UPLOADS,)),
    Row("B6", "HEIC from a phone is a stack trace", (UPLOADS,)),
    Row("B8", "an empty file or a web page called .jpg", (UPLOADS,)),
    Row("B10", "the filter looks at the name alone", (UPLOADS,)),
    Row("B11", "a thousand files hang, failed ones are not told", (UPLOADS, PAGES)),
    Row("B12", "the limit of the server is another than the one shown", (PAGES,)),
    Row("B14", "names beyond ASCII are lost", (UPLOADS, PAGES)),
    Row("B15", "a click processes all files anew, equal names collide", (PAGES,)),
    Row("B16", "several pictures in a file, 16 bits and floats", (UPLOADS,)),
    Row("B17", "Excel's CSV lacks its columns", (UPLOADS,)),
    Row("B18", "ids and file names differ by case, copy or ending", (UPLOADS, PAGES)),
    Row("B19", "uploaded bytes stay in memory", (PAGES,)),
    Row("C2", "an empty bin is 0 / 0", (NUMBERS,)),
    Row("C3", "bins of equal mass collapse to an error of 0", (NUMBERS,)),
    Row("C4", "a class is missing from the set", (NUMBERS, SYSTEMS)),
    Row("C6", "the logistic loss overflows or changes its input", (NUMBERS,)),
    Row("C7", "a probability of 1 that is wrong, rows that do not sum to 1", (NUMBERS,)),
    Row("C9", "calibration errors that disagree", (NUMBERS, SYSTEMS)),
    Row("C10", "a temperature at or below zero", (NUMBERS, SYSTEMS)),
    Row("C11", "logits taken for probabilities", (NUMBERS, SYSTEMS)),
    Row("C12", "one class only in what a correction is fitted to", (NUMBERS, SYSTEMS)),
    Row("D1", "checkpoints that need a full unpickling", (TRAINING,)),
    Row("D2", "a checkpoint of a GPU on a CPU", (TRAINING,)),
    Row("D4", "the best weights are those of the last epoch", (TRAINING,)),
    Row("D5", "resuming restores the weights alone", (TRAINING,)),
    Row("D6", "loaders that cannot be pickled hang", (TRAINING,)),
    Row("D7", "the same seed, another result", (TRAINING,)),
    Row("D8", "half precision makes a logarithm of 0", (TRAINING,)),
    Row("D9", "float64 where a device has none", (TRAINING,)),
    Row("D10", "a compiled model's names have a prefix", (TRAINING,)),
    Row("D11", "people's labels in another order", (TRAINING,)),
    Row("D12", "the best threshold is to never defer", (TRAINING,)),
    Row("E1", "a traceback of the file watcher at the start", (PAGES,)),
    Row("E2", "a reload loses the run", (PAGES,)),
    Row("E3", "stop stops the page and not the job", (PAGES,)),
    Row("E4", "one visitor's model is another's", (PAGES,)),
    Row("E5", "every click trains anew", (PAGES,)),
]
SYMPTOMS = {row.key: row.symptom for row in ROWS}


def tried(key: str, **inputs: object) -> pytest.MarkDecorator:
    """Parametrises a test of a row: `given` is the row's own input, and neighbours of it, each by a name."""
    names = [name.replace("_", " ") for name in inputs]
    return pytest.mark.parametrize("given", inputs.values(), ids=[f"{key}-{SYMPTOMS[key]}-{name}" for name in names])
